"""Tables on disk, as Arrow files in a private folder: no more of them is in memory than is worked on.

What shards are grouped or joined by decides into which file a row is copied first;
then each file is worked on by itself.
"""

from __future__ import annotations

import os
import shutil
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar

import polars as pl

from reveil.engines.scratch import Scratch, no_room
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
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import TracebackType

    from reveil.engines.shards import How, Shards, Work

R = TypeVar("R")
Source = Path | pl.DataFrame  # an Arrow file, or a table that is too small for one

_SMALL = 1 << 14  # bytes of a table that is not worth a file
_FEWEST_FILES, _MOST_FILES = 64, 1024


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
        files = self._files(max(len(self.sources), len(right.sources)))
        left_parts, right_parts = self._dealt(keys, files), right._dealt(keys, files)
        folder = self.engine.new_folder()

        def work(n: int) -> Source:
            both = joined(_read(left_parts[n], self.schema), _read(right_parts[n], right.schema), keys, how)
            return laid_down(checked(both, returns), folder / f"{n}.arrow")

        wanted = sorted(left_parts.keys() | right_parts.keys() if how == "outer" else left_parts.keys())
        found = [work(n) for n in wanted]
        left_parts.remove()
        right_parts.remove()
        return DiskShards(self.engine, found, returns, folder=folder)

    def each(self, key: str | Sequence[str], work: Work, returns: pl.Schema) -> DiskShards:
        """Copy the rows into files by their key, and do the work key by key."""
        keys = names_of(key)
        parts = self._dealt(keys, self._files(len(self.sources)))
        folder, numbers = self.engine.new_folder(), count()
        found: list[Source] = []
        for n in sorted(parts.keys()):
            table = _read(parts[n], self.schema)
            parts.forget(n)
            pieces = table.partition_by(keys, maintain_order=False)
            del table
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
        source = self.sources[n]
        table = source if isinstance(source, pl.DataFrame) else pl.read_ipc(source)
        for work, returns in self.works:
            table = checked(work(table), returns)
        return table

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

    def _files(self, shards: int) -> int:
        """Return into how many files rows are dealt: more than shards, so that each fits where a shard does."""
        return min(max(_FEWEST_FILES, 4 * shards), _MOST_FILES)

    def _dealt(self, keys: Sequence[str], files: int) -> Dealt:
        """Copy the rows into files, equal keys into the same one."""
        parts = Dealt(self.engine.new_folder())
        whole = len(keys) == 1 and self._schema[keys[0]].is_integer()
        number = pl.col(keys[0]) % files if whole else pl.struct(keys).hash(seed=0) % files

        def deal(n: int) -> list[tuple[int, Path]]:
            table = self._table(n).with_columns(number.cast(pl.Int64).alias(_FILE))
            by_file = table.partition_by(_FILE, as_dict=True, maintain_order=False)
            return [(file, parts.add(file, n, rows.drop(_FILE))) for (file,), rows in by_file.items()]

        for found in self._at_once(deal):
            for file, path in found:
                parts[file].append(path)
        return parts


_FILE = "\x00file"


class Dealt:
    """Files into which the rows of shards were dealt: from each shard one in each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: dict[int, list[Path]] = {}

    def add(self, file: int, shard: int, rows: pl.DataFrame) -> Path:
        """Write the rows of one shard."""
        return write(rows, self.folder / f"{file}-{shard}.arrow")

    def __getitem__(self, file: int) -> list[Path]:
        return self._files.setdefault(file, [])

    def keys(self) -> set[int]:
        """Return the files that have rows."""
        return {file for file, paths in self._files.items() if paths}

    def forget(self, file: int) -> None:
        """Remove what is done with."""
        for path in self._files.pop(file, ()):
            path.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _read(paths: Sequence[Path], schema: pl.Schema) -> pl.DataFrame:
    held = [pl.read_ipc(path) for path in paths]
    return pl.concat(held, rechunk=True) if held else schema.to_frame()


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
