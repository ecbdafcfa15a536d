"""Everything in one memory, as one shard: what small tables need."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import polars as pl

from reveil.engines.scratch import Scratch
from reveil.engines.shards import (
    MOST_HELD,
    added_up,
    check_held,
    checked,
    joined,
    joined_schema,
    names_of,
    sorted_counts,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

    from reveil.engines.shards import How, Shards, Work


class MemoryEngine:
    """Holds tables in memory."""

    name: ClassVar[str] = "memory"

    def __init__(self, shard_rows: int) -> None:
        self.shard_rows = shard_rows
        self._scratch: Scratch | None = None

    def scatter(self, tables: Iterable[pl.DataFrame], schema: pl.Schema) -> MemoryShards:
        """Put the tables into one."""
        held = [checked(table, schema) for table in tables]
        return MemoryShards(pl.concat(held) if held else schema.to_frame())

    @property
    def scratch(self) -> Path:
        """A private folder for files that work writes."""
        if self._scratch is None:
            self._scratch = Scratch()
        return self._scratch.folder

    def __enter__(self) -> MemoryEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._scratch is not None:
            self._scratch.remove()
            self._scratch = None


class MemoryShards:
    """One shard."""

    def __init__(self, table: pl.DataFrame) -> None:
        self.table = table

    @property
    def schema(self) -> pl.Schema:
        """The columns and their types."""
        return self.table.schema

    def map(self, work: Work, returns: pl.Schema) -> MemoryShards:
        """Do the work on all rows at once."""
        return MemoryShards(checked(work(self.table), returns))

    def count(self, work: Work, most: int = MOST_HELD) -> pl.DataFrame:
        """Add up what the work counts."""
        found = added_up([work(self.table)])
        check_held(found.height, most)
        return sorted_counts(found)

    def join(self, other: Shards, on: str | Sequence[str], how: How = "left") -> MemoryShards:
        """Join two tables."""
        keys, right = names_of(on), other.collect()
        returns = joined_schema(self.schema, right.schema, keys, how)
        return MemoryShards(checked(joined(self.table, right, keys, how), returns))

    def each(self, key: str | Sequence[str], work: Work, returns: pl.Schema) -> MemoryShards:
        """Do the work key by key."""
        parts = self.table.partition_by(names_of(key), maintain_order=False) if self.table.height else []
        found = [checked(work(part), returns) for part in parts]
        return MemoryShards(pl.concat(found) if found else returns.to_frame())

    def kept(self) -> MemoryShards:
        """Nothing was put off."""
        return self

    def drop(self) -> None:
        """Free the table."""
        self.table = self.table.clear()

    def tables(self) -> Iterator[pl.DataFrame]:
        """Return the table."""
        if self.table.height:
            yield self.table

    def collect(self, most: int = MOST_HELD) -> pl.DataFrame:
        """Return the table."""
        check_held(self.table.height, most)
        return self.table
