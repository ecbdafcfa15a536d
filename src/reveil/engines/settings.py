"""What ``[engine]`` says: where large tables are worked on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from reveil.core import registry
from reveil.core.errors import ConfigError

if TYPE_CHECKING:
    from reveil.engines.shards import Engine

LOCAL: Final = "local"
SHARD_ROWS: Final = 500_000
FEWEST_ROWS: Final = 1_000
MOST_ROWS: Final = 50_000_000
LEAST_MEMORY: Final = 1 << 28
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([KMGT]?)B?", re.IGNORECASE)
_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


@dataclass(frozen=True, kw_only=True)
class EngineSettings:
    """Which engine works, how many rows at once, and what the publisher's own memory is to hold.

    ``kind`` is the name of a registered engine. A table of more than ``shard_rows`` rows is worked on in shards of
    about so many. ``memory`` bounds what one process holds of a table at once: which values its columns have, and
    counts of them; a table that has more is refused. Nothing depends on how much memory a machine has, so that the
    same config and table give the same bytes everywhere. ``master`` is whatever the engine calls the machine that it
    asks.
    """

    kind: str = LOCAL
    shard_rows: int = SHARD_ROWS
    memory: str | None = None
    master: str | None = None

    def __post_init__(self) -> None:
        rows = self.shard_rows
        if isinstance(rows, bool) or not isinstance(rows, int) or not FEWEST_ROWS <= rows <= MOST_ROWS:
            raise ConfigError(
                f"shard_rows must be a whole number from {FEWEST_ROWS:,} to {MOST_ROWS:,}, not {rows!r}",
                hint=f"shard_rows = {SHARD_ROWS} suits most tables; less memory needs fewer.",
            )
        for key in ("kind", "master"):
            value = getattr(self, key)
            if not (isinstance(value, str) or (key == "master" and value is None)):
                raise ConfigError(f"{key} must be a text, not {value!r}", hint='kind = "local"')
        if self.kind not in registry.names("engines"):
            raise ConfigError(f"unknown engine {self.kind!r}", hint=f"Known: {', '.join(registry.names('engines'))}.")
        if self.kind == LOCAL and self.master is not None:
            raise ConfigError('master belongs to kind = "spark"', hint='Take it out, or set kind = "spark".')
        if self.held_bytes < LEAST_MEMORY:
            raise ConfigError(f"memory = {self.memory!r} is too little", hint='At least "256MB".')

    @property
    def held_bytes(self) -> int:
        """How much one process may hold of a table at once."""
        if self.memory is None:
            return 8 << 30
        found = _SIZE.fullmatch(self.memory) if isinstance(self.memory, str) else None
        if found is None:
            raise ConfigError(f"memory must be a size, not {self.memory!r}", hint='memory = "8GB"')
        return int(float(found[1]) * 1024 ** _UNITS[found[2].upper()])

    def opened(self, rows: int) -> Engine:
        """Return the engine for a table of so many rows."""
        kind: type[EngineKind] = registry.find("engines", self.kind)
        return kind.opened(self, rows)


class EngineKind(Protocol):
    """What is registered under ``reveil.engines``: how the engines of a kind are had."""

    @classmethod
    def opened(cls, settings: EngineSettings, rows: int) -> Engine:
        """Return the engine for a table of so many rows, or raise with the remedy where it cannot be had.

        It depends on the settings and on the number of rows alone.
        """
