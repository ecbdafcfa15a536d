"""What a worker must have in common with the driver, so that the same bytes come of its work."""

from __future__ import annotations

import hashlib
import platform
import secrets
import socket
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from reveil.engines.spark.failures import INSTALL, EngineError

PACKAGES = ("reveil", "polars", "numpy", "numba", "scipy")
_NOTE = "terms"
_kept: set[str] = set()


@dataclass(frozen=True)
class WorkTerms:
    """Versions, the digest of Reveil's sources, and a file in the folder that all have to reach."""

    versions: dict[str, str]
    sources: str
    folder: Path
    token: str

    @classmethod
    def here(cls, folder: Path) -> WorkTerms:
        """Return what this machine has; ``folder`` is the private one of the engine."""
        token = secrets.token_hex(16)
        (folder / _NOTE).write_text(token)
        return cls(versions(), sources(), folder, token)

    def check(self) -> None:
        """Refuse to work here where something differs; looked at once in a process."""
        if self.token in _kept:
            return
        host = socket.gethostname()
        for name, wanted in self.versions.items():
            if (found := versions()[name]) != wanted:
                raise EngineError(f"the worker on {host} has {name} {found}, and this machine {wanted}", hint=INSTALL)
        if sources() != self.sources:
            raise EngineError(f"the worker on {host} has other sources of Reveil than this machine", hint=INSTALL)
        try:
            reached = (self.folder / _NOTE).read_text() == self.token
        except OSError:
            reached = False
        if not reached:
            raise EngineError(
                f"the worker on {host} does not reach the temporary folder {self.folder.parent}",
                hint="Let the variable TMPDIR name a folder that all machines share, under the same name.",
            )
        _kept.add(self.token)


@cache
def versions() -> dict[str, str]:
    """Return the versions on which the bytes of a release depend."""
    return {"Python": ".".join(platform.python_version_tuple()[:2]), **{name: version(name) for name in PACKAGES}}


@cache
def sources() -> str:
    """Return a digest of Reveil's sources as they are installed here."""
    total, place = hashlib.sha256(), Path(__file__).parents[2]
    for source in sorted(place.rglob("*.py")):
        total.update(f"{source.relative_to(place).as_posix()}\n".encode())
        total.update(hashlib.sha256(source.read_bytes()).digest())
    return total.hexdigest()
