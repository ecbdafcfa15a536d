"""Tables on disk, as Arrow files in a private folder: no more of them is in memory than is worked on.

What shards are grouped or joined by decides in which heap a row is. Each shard is written once more, its rows heap by
heap; then a heap is read out of all these files, and worked on by itself.
"""

from __future__ import annotations

import os
import shutil
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np
import polars as pl

from reveil.engines.scratch import Scratch, no_room
from reveil.engines.shards import (
    MOST_HELD,
    OnlyColumns,
    added_up,
    check_held,
    checked,
    joined,
    joined_schema,
    names_of,
    sorted_counts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import TracebackType

    from reveil.core.arrays import IntArray
    from reveil.engines.shards import How, Shards, Work

R = TypeVar("R")
Source = Path | pl.DataFrame  # an Arrow file, or a table that is too small for one

_SMALL = 1 << 14  # bytes of a table that is not worth a file
_FEWEST_HEAPS, _MOST_HEAPS = 64, 1024


class DiskEngine:
    """Holds tables in Arrow files."""

    name: ClassVar[str] = "disk"

    def __init__(self, shard_rows: int, workers: int | None = None) -> None:
        self.shard_rows = shard_rows
        self.workers = max(1, workers or os.cpu_count() or 1)
        self._scratch: Scratch | None = None
        self._numbers = count()

    def scatter(self, tables: Iterable[pl.DataFrame], schema: pl.Schema) -> DiskShards:
        """Write each table to a file of its own."""
        folder = self.new_folder()
        sources = [laid_down(checked(table, schema), folder / f"{n}.arrow") for n, table in enumerate(tables)]
        return DiskShards(self, sources, schema, folder=folder)

    @property
    def scratch(self) -> Path:
        """A private folder for files that work writes."""
        if self._scratch is None:
            self._scratch = Scratch()
        return self._scratch.folder

    def new_folder(self) -> Path:
        """Return a new folder inside the private one."""
        folder = self.scratch / f"shards-{next(self._numbers)}"
        try:
            folder.mkdir()
        except OSError:
            raise no_room(self.scratch.parent) from None
        return folder

    def __enter__(self) -> DiskEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._scratch is not None:
            self._scratch.remove()
            self._scratch = None


class DiskShards:
    """Shards in files, and the work that was put off."""

    def __init__(
        self,
        engine: DiskEngine,
        sources: Sequence[Source],
        schema: pl.Schema,
        works: tuple[tuple[Work, pl.Schema], ...] = (),
        folder: Path | None = None,
    ) -> None:
        self.engine, self.sources, self.works, self.folder = engine, tuple(sources), works, folder
        self._schema = schema

    @property
    def schema(self) -> pl.Schema:
        """The columns and their types."""
        return self._schema

    def map(self, work: Work, returns: pl.Schema) -> DiskShards:
        """Put work off."""
        return DiskShards(self.engine, self.sources, returns, (*self.works, (work, returns)))

    def count(self, work: Work, most: int = MOST_HELD) -> pl.DataFrame:
        """Count shard by shard and add up as results come in, so that no more than two are held."""
        total: pl.DataFrame | None = None
        for found in self._at_once(lambda n: added_up([work(self._table(n))])):
            total = found if total is None else added_up([total, found])
            check_held(total.height, most)
        return sorted_counts(added_up([work(self._schema.to_frame())]) if total is None else total)

    def join(self, other: Shards, on: str | Sequence[str], how: How = "left") -> DiskShards:
        """Copy the rows of both sides into files by their keys, and join file by file."""
        keys = names_of(on)
        returns = joined_schema(self.schema, other.schema, keys, how)
        right = other if isinstance(other, DiskShards) else self.engine.scatter(other.tables(), other.schema)
        heaps = self._heaps(max(len(self.sources), len(right.sources)))
        left_parts, right_parts = self._dealt(keys, heaps), right._dealt(keys, heaps)
        folder = self.engine.new_folder()

        def work(n: int) -> Source:
            both = joined(left_parts.read(n), right_parts.read(n), keys, how)
            return laid_down(checked(both, returns), folder / f"{n}.arrow")

        wanted = sorted(left_parts.heaps | right_parts.heaps if how == "outer" else left_parts.heaps)
        found = [work(n) for n in wanted]
        left_parts.remove()
        right_parts.remove()
        return DiskShards(self.engine, found, returns, folder=folder)

    def each(self, key: str | Sequence[str], work: Work, returns: pl.Schema) -> DiskShards:
        """Copy the rows into files by their key, and do the work key by key."""
        keys = names_of(key)
        parts = self._dealt(keys, self._heaps(len(self.sources)))
        folder, numbers = self.engine.new_folder(), count()
        found: list[Source] = []
        for n in sorted(parts.heaps):
            pieces = key_by_key(parts.read(n), keys)
            while pieces:
                done = checked(work(pieces.pop()), returns)
                found.append(laid_down(done, folder / f"{next(numbers)}.arrow"))
        parts.remove()
        return DiskShards(self.engine, found, returns, folder=folder)

    def kept(self) -> DiskShards:
        """Do what was put off and write the results to files."""
        if not self.works:
            return self
        folder = self.engine.new_folder()
        found = list(self._at_once(lambda n: laid_down(self._table(n), folder / f"{n}.arrow")))
        return DiskShards(self.engine, found, self._schema, folder=folder)

    def drop(self) -> None:
        """Remove the files, which are those of these shards alone."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.sources = ()

    def tables(self) -> Iterator[pl.DataFrame]:
        """Read the files one after the other."""
        for n in range(len(self.sources)):
            table = self._table(n)
            if table.height:
                yield table

    def collect(self, most: int = MOST_HELD) -> pl.DataFrame:
        """Read all files."""
        held, rows = [self._schema.to_frame()], 0
        for table in self.tables():
            rows += table.height
            check_held(rows, most)
            held.append(table)
        return pl.concat(held)

    # Inside

    def _table(self, n: int) -> pl.DataFrame:
        """Return a shard with the work done that was put off."""
        return worked(self.sources[n], self.works)

    def _at_once(self, work: Callable[[int], R]) -> Iterator[R]:
        """Do work on all shards, a few at a time; return the results in the order of the shards."""
        many = len(self.sources)
        if min(self.engine.workers, many) < 2:
            yield from map(work, range(many))
            return
        with ThreadPoolExecutor(self.engine.workers) as pool:
            ahead = min(self.engine.workers, many)
            running = deque(pool.submit(work, n) for n in range(ahead))
            for n in range(ahead, many + ahead):
                done = running.popleft().result()
                if n < many:
                    running.append(pool.submit(work, n))
                yield done

    def _heaps(self, shards: int) -> int:
        """Return into how many heaps rows are dealt: more than shards, so that each fits where a shard does."""
        return min(max(_FEWEST_HEAPS, 4 * shards), _MOST_HEAPS)

    def _dealt(self, keys: Sequence[str], heaps: int) -> Dealt:
        """Copy the rows of each shard heap by heap, equal keys into the same one."""
        folder = self.engine.new_folder()

        def deal(n: int) -> Heaped:
            return Heaped.of(self._table(n), keys, heaps, folder / f"{n}.arrow")

        return Dealt(folder, self._schema, list(self._at_once(deal)))


def worked(source: Source, works: Iterable[tuple[Work, pl.Schema]]) -> pl.DataFrame:
    """Return a table with the work done that was put off."""
    first = next((work for work, _ in works), None)
    if isinstance(source, pl.DataFrame):
        table = source
    else:
        table = pl.read_ipc(source, columns=list(first.names) if isinstance(first, OnlyColumns) else None)
    for work, returns in works:
        table = checked(work(table), returns)
    return table


@dataclass(frozen=True)
class Heaped:
    """The rows of one shard, heap by heap: those of heap h end at ``ends[h]``, a row of a table or a byte of a file."""

    source: Source
    ends: IntArray

    @classmethod
    def of(cls, table: pl.DataFrame, keys: Sequence[str], heaps: int, path: Path) -> Heaped:
        """Write the rows of a table heap by heap, equal keys into the same one; a small table is kept as it is."""
        rows, ends = heaped(table, keys, heaps)
        lying = cls(rows, ends)
        if rows.estimated_size() < _SMALL:
            return lying
        behind = np.zeros(heaps, np.int64)
        try:
            # Each heap is a stream of its own, so that reading one brings nothing else into memory.
            with path.open("wb") as file:
                for heap in sorted(lying.heaps):
                    lying.read(heap).write_ipc_stream(file, compression="uncompressed")
                    behind[heap] = file.tell()
        except (OSError, pl.exceptions.PolarsError):
            raise no_room(path.parent.parent.parent) from None
        return cls(path, np.maximum.accumulate(behind))

    @cached_property
    def heaps(self) -> frozenset[int]:
        """The heaps that have rows."""
        return frozenset(np.flatnonzero(np.diff(self.ends, prepend=0)).tolist())

    def range(self, heap: int) -> tuple[int, int]:
        """Return where a heap begins and where it ends."""
        return (int(self.ends[heap - 1]) if heap else 0), int(self.ends[heap])

    def read(self, heap: int) -> pl.DataFrame:
        """Return the rows of a heap."""
        first, end = self.range(heap)
        return self.source[first:end] if isinstance(self.source, pl.DataFrame) else read_rows(self.source, first, end)


def read_rows(path: Path, first: int, end: int) -> pl.DataFrame:
    """Read the rows of a heap from their bytes in a file."""
    with path.open("rb") as file:
        file.seek(first)
        return pl.read_ipc_stream(file.read(end - first))


@dataclass(frozen=True)
class Dealt:
    """The rows of all shards in heaps."""

    folder: Path
    schema: pl.Schema
    shards: Sequence[Heaped]

    @property
    def heaps(self) -> set[int]:
        """The heaps that have rows."""
        return {heap for shard in self.shards for heap in shard.heaps}

    def read(self, heap: int) -> pl.DataFrame:
        """Read a heap."""
        held = [shard.read(heap) for shard in self.shards if heap in shard.heaps]
        return pl.concat([self.schema.to_frame(), *held], rechunk=True)

    def remove(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.folder, ignore_errors=True)


def heaped(table: pl.DataFrame, keys: Sequence[str], heaps: int) -> tuple[pl.DataFrame, IntArray]:
    """Return the rows of a table heap by heap, equal keys in the same one, and where each heap ends."""
    whole = len(keys) == 1 and table.schema[keys[0]].is_integer()
    number = pl.col(keys[0]) if whole else pl.struct(keys).hash(seed=0)
    heap = table.select((number % heaps).cast(pl.UInt16)).to_series().to_numpy()
    many = np.bincount(heap, minlength=heaps)
    ends = np.cumsum(many)
    if int(many.max()) < table.height:
        # Small numbers are put in order digit by digit.
        table = table[pl.Series(np.argsort(heap, kind="stable").astype(np.uint32))]
    return table, ends


def key_by_key(table: pl.DataFrame, keys: Sequence[str]) -> list[pl.DataFrame]:
    """Return the rows with each key in a table of their own."""
    if len(keys) == 1 and table.height and (table[keys[0]] == table[keys[0]][0]).all():
        return [table]
    return table.partition_by(keys, maintain_order=False)


def laid_down(table: pl.DataFrame, path: Path) -> Source:
    """Write a table to a file; a small one is kept as it is."""
    return table if table.estimated_size() < _SMALL else write(table, path)


def write(table: pl.DataFrame, path: Path) -> Path:
    """Write a table to an Arrow file."""
    try:
        table.write_ipc(path, compression="uncompressed")
    except (OSError, pl.exceptions.PolarsError):
        raise no_room(path.parent.parent.parent) from None
    return path
