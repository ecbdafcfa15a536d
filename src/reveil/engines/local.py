"""This machine: its memory for small tables, its disk for large ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reveil.engines.disk import DiskEngine
from reveil.engines.memory import MemoryEngine

if TYPE_CHECKING:
    from reveil.engines.settings import EngineSettings
    from reveil.engines.shards import Engine


class Local:
    """Works on this machine."""

    @classmethod
    def opened(cls, settings: EngineSettings, rows: int) -> Engine:
        """Return memory up to ``shard_rows`` rows, and the disk above."""
        return DiskEngine(settings.shard_rows) if rows > settings.shard_rows else MemoryEngine(settings.shard_rows)
