"""Who did what, and when: a line of JSON for every change, in the folder's ``reveil-studio.log``.

It has names of people who came in, of commands, configs and files; no value and no person of a table.
"""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from reveil.core.errors import printed

if TYPE_CHECKING:
    from pathlib import Path

    from reveil.core.json_values import JSON

NAME = "reveil-studio.log"
_LOOKED_AT = 1_000  # lines


@dataclass(frozen=True)
class AuditLog:
    """The log of a folder; lines are only ever added."""

    path: Path
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, who: str, what: str, **about: JSON) -> None:
        """Write a line, and see that it is on the disk."""
        line = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "who": who, "what": what, **about}
        text = printed(json.dumps(line, ensure_ascii=False)) + "\n"
        with self._lock:
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(handle, text.encode())
                os.fsync(handle)
            finally:
                os.close(handle)

    def last(self, what: str, **about: JSON) -> dict[str, JSON]:
        """Return the last line about something, among the latest; nothing where there is none."""
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()[-_LOOKED_AT:]
        except (OSError, ValueError):
            return {}
        for text in reversed(lines):
            try:
                line = json.loads(text)
            except ValueError:
                continue
            if line.get("what") == what and all(line.get(name) == value for name, value in about.items()):
                return dict(line)
        return {}
