"""What Spark's workers do. Nothing here needs Spark: Arrow tables of pieces in, Arrow tables of pieces out.

A piece is a table, the path of one, some rows of one, or an error; :func:`packed` and :func:`opened` know its bytes.
Its ``place`` says with which others it is worked on, and ``side`` from which of two tables it comes.
"""

from __future__ import annotations

import gc
import io
import os
import secrets
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import polars as pl

from reveil.engines.disk import Heaped, key_by_key, laid_down, read_rows, worked
from reveil.engines.shards import added_up, check_held, checked, joined
from reveil.engines.spark.failures import packed_error, raise_packed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa

    from reveil.engines.disk import Source
    from reveil.engines.shards import How, Work
    from reveil.engines.spark.terms import WorkTerms

PIECES = "place int, side int, piece binary"  # the columns of a table in Spark's hands
_FAILED = -1  # the place of errors
_TABLE, _PATH, _ROWS, _ERROR = b"t", b"p", b"r", b"e"
_RANGE = struct.Struct("<qq")  # where the rows of a heap begin in a file, and where they end


class SparkRow(NamedTuple):
    """A row of a table in Spark's hands."""

    place: int
    side: int
    content: bytes


def packed(source: Source) -> bytes:
    """Return a table, or the path of one, as the bytes of a piece."""
    if isinstance(source, Path):
        return _PATH + os.fsencode(source)
    held = io.BytesIO()
    source.write_ipc_stream(held, compression="lz4")
    return _TABLE + held.getvalue()


def packed_heap(lying: Heaped, heap: int) -> bytes:
    """Return as the bytes of a piece where the rows of a heap lie; a few rows themselves."""
    if isinstance(lying.source, pl.DataFrame):
        return packed(lying.read(heap))
    return _ROWS + _RANGE.pack(*lying.range(heap)) + os.fsencode(lying.source)


def opened(content: bytes) -> Source:
    """Return what the bytes of a piece say; an error is raised."""
    kind, rest = content[:1], content[1:]
    if kind == _ERROR:
        raise_packed(rest)
    if kind == _ROWS:
        return read_rows(Path(os.fsdecode(rest[_RANGE.size :])), *_RANGE.unpack_from(rest))
    return Path(os.fsdecode(rest)) if kind == _PATH else pl.read_ipc_stream(rest)


def read(source: Source) -> pl.DataFrame:
    """Return a table, wherever it lies."""
    return pl.read_ipc(source) if isinstance(source, Path) else source


class Tail(Protocol):
    """What is done with the tables that come of some work."""

    def __call__(self, tables: Iterable[pl.DataFrame]) -> Iterator[SparkRow]:
        """Return the pieces that come of them."""
        ...


@dataclass(frozen=True)
class Laying:
    """Write tables to files in a folder that all reach; small ones are brought along."""

    folder: Path

    def __call__(self, tables: Iterable[pl.DataFrame]) -> Iterator[SparkRow]:
        """Return where each is."""
        for table in tables:
            if table.height:
                yield SparkRow(0, 0, packed(self.lay(table)))

    def lay(self, table: pl.DataFrame) -> Source:
        """Write a table. Work may be done twice at once, each time into a file of its own."""
        return laid_down(table, self.path())

    def path(self) -> Path:
        """Return the path of a new file."""
        return self.folder / f"{secrets.token_hex(8)}.arrow"


@dataclass(frozen=True)
class Counting:
    """Add up what work counts, over all tables of a worker."""

    work: Work
    most: int
    laying: Laying

    def __call__(self, tables: Iterable[pl.DataFrame]) -> Iterator[SparkRow]:
        """Return the sum."""
        total: pl.DataFrame | None = None
        for table in tables:
            found = self.work(table)
            total = added_up([found] if total is None else [total, found])
            check_held(total.height, self.most)
        if total is not None:
            yield from self.laying([total])


@dataclass(frozen=True)
class Dealing:
    """Send rows with equal keys to the same place: where they lie, in a file that has a table place by place."""

    keys: tuple[str, ...]
    places: int
    laying: Laying
    side: int = 0

    def __call__(self, tables: Iterable[pl.DataFrame]) -> Iterator[SparkRow]:
        """Return where the rows of each table for each place are."""
        for table in tables:
            lying = Heaped.of(table, self.keys, self.places, self.laying.path())
            for place in sorted(lying.heaps):
                yield SparkRow(place, self.side, packed_heap(lying, place))


@dataclass(frozen=True)
class Each:
    """Do work key by key, on all the rows that came to one place."""

    keys: tuple[str, ...]
    work: Work
    returns: pl.Schema
    laying: Laying

    def __call__(self, sides: Sequence[list[pl.DataFrame]]) -> Iterator[SparkRow]:
        """Return what comes of each key."""
        pieces = key_by_key(pl.concat(sides[0]), self.keys)
        while pieces:
            yield from self.laying([checked(self.work(pieces.pop()), self.returns)])


@dataclass(frozen=True)
class Joining:
    """Join the rows of both sides that came to one place."""

    keys: tuple[str, ...]
    how: How
    left: pl.Schema
    right: pl.Schema
    returns: pl.Schema
    laying: Laying

    def __call__(self, sides: Sequence[list[pl.DataFrame]]) -> Iterator[SparkRow]:
        """Return the joined rows."""
        left, right = (
            pl.concat([schema.to_frame(), *held]) for schema, held in zip((self.left, self.right), sides, strict=True)
        )
        yield from self.laying([checked(joined(left, right, self.keys, self.how), self.returns)])


@dataclass(frozen=True)
class Mapping:
    """Do work on the sources whose numbers come in."""

    terms: WorkTerms
    sources: tuple[Source, ...]
    works: tuple[tuple[Work, pl.Schema], ...]
    tail: Tail

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take numbers, give pieces."""
        numbers = (n for batch in batches for n in batch.column(0).to_pylist())
        for piece in self._answers(numbers):
            yield _batch([piece])
        for _ in numbers:  # a worker that leaves something unread is not used again
            pass

    def _answers(self, numbers: Iterable[int]) -> Iterator[SparkRow]:
        return _failing_softly(self.terms, lambda: self.tail(map(self._worked, numbers)))

    def _worked(self, number: int) -> pl.DataFrame:
        return worked(self.sources[number], self.works)


@dataclass(frozen=True)
class Meeting:
    """Do work on the pieces that were sent to one place."""

    terms: WorkTerms
    work: Each | Joining

    def __call__(self, table: pa.Table) -> pa.Table:
        """Take the pieces of a place, give others."""
        import pyarrow as pa

        found = [*_failing_softly(self.terms, lambda: self._answers(table))]
        return pa.Table.from_batches([_batch(found)])

    def _answers(self, table: pa.Table) -> Iterator[SparkRow]:
        sides: tuple[list[pl.DataFrame], list[pl.DataFrame]] = ([], [])
        for side, content in zip(table["side"].to_pylist(), table["piece"], strict=True):
            sides[side].append(read(opened(content.as_buffer().to_pybytes())))
        return self.work(sides)


def _failing_softly(terms: WorkTerms, answers: Callable[[], Iterator[SparkRow]]) -> Iterator[SparkRow]:
    """Return what is answered, and an error as one answer more."""
    try:
        terms.check()
        yield from answers()
    except Exception as error:  # noqa: BLE001  (Spark would log it and do the same again)
        yield SparkRow(_FAILED, 0, _ERROR + packed_error(error))
    _set_modules_aside()


def _set_modules_aside() -> None:
    """Keep what was imported out of the search for garbage, which PySpark makes after each task: it took half of it."""
    if len(sys.modules) > _imported[0]:
        _imported[0] = len(sys.modules)
        gc.freeze()


_imported = [0]


def _batch(pieces: Sequence[SparkRow]) -> pa.RecordBatch:
    import pyarrow as pa

    places, sides, contents = zip(*pieces, strict=True) if pieces else ((), (), ())
    columns = [pa.array(places, pa.int32()), pa.array(sides, pa.int32()), pa.array(contents, pa.binary())]
    return pa.record_batch(columns, names=["place", "side", "piece"])
