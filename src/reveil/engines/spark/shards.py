"""Tables in shards, worked on by Spark: in files that all workers reach, and in its shuffles on their way."""

from __future__ import annotations

import shutil
from itertools import count
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from reveil.engines.disk import laid_down
from reveil.engines.scratch import Scratch, no_room
from reveil.engines.shards import (
    MOST_HELD,
    added_up,
    check_held,
    checked,
    joined_schema,
    names_of,
    sorted_counts,
)
from reveil.engines.spark.jobs import Jobs
from reveil.engines.spark.steps import Counting, Dealing, Each, Joining, Laying, Mapping, Meeting, read
from reveil.engines.spark.terms import WorkTerms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

    from pyspark.sql import DataFrame

    from reveil.engines.disk import Source
    from reveil.engines.shards import How, Shards, Work
    from reveil.engines.spark.steps import Tail

PATIENCE = 60.0  # seconds for a worker to take up work
_FEWEST_PLACES, _MOST_PLACES = 16, 4096


class SparkEngine:
    """Has the workers of a Spark application do the work.

    Tables lie in files in the private folder, which all workers have to reach under its name. Rows that must meet
    (:meth:`SparkShards.join`, :meth:`SparkShards.each`) go through Spark's shuffles.
    """

    name: ClassVar[str] = "spark"

    def __init__(self, shard_rows: int, master: str | None = None, patience: float = PATIENCE) -> None:
        self.shard_rows = shard_rows
        self.jobs = Jobs(master, patience)
        self._scratch: Scratch | None = None
        self._terms: WorkTerms | None = None
        self._numbers = count()

    def scatter(self, tables: Iterable[pl.DataFrame], schema: pl.Schema) -> SparkShards:
        """Write each table to a file of its own; small ones go along with the work."""
        folder = self.new_folder()
        sources = [laid_down(checked(table, schema), folder / f"{n}.arrow") for n, table in enumerate(tables)]
        return SparkShards(self, sources, schema, folder=folder)

    @property
    def scratch(self) -> Path:
        """A private folder for files that work writes."""
        if self._scratch is None:
            self._scratch = Scratch()
        return self._scratch.folder

    @property
    def terms(self) -> WorkTerms:
        """What workers must have in common with this process."""
        if self._terms is None:
            self._terms = WorkTerms.here(self.scratch)
        return self._terms

    def new_folder(self) -> Path:
        """Return a new folder inside the private one."""
        folder = self.scratch / f"shards-{next(self._numbers)}"
        try:
            folder.mkdir()
        except OSError:
            raise no_room(self.scratch.parent) from None
        return folder

    def __enter__(self) -> SparkEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.jobs.close()
        finally:
            if self._scratch is not None:
                self._scratch.remove()
                self._scratch = self._terms = None


class SparkShards:
    """Shards in files, and the work that was put off."""

    def __init__(
        self,
        engine: SparkEngine,
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

    def map(self, work: Work, returns: pl.Schema) -> SparkShards:
        """Put work off."""
        return SparkShards(self.engine, self.sources, returns, (*self.works, (work, returns)))

    def count(self, work: Work, most: int = MOST_HELD) -> pl.DataFrame:
        """Count task by task, and add up what the tasks found."""
        folder = self.engine.new_folder()
        total: pl.DataFrame | None = None
        for found in map(read, self._answers(Counting(work, most, Laying(folder)))):
            total = found if total is None else added_up([total, found])
            check_held(total.height, most)
        shutil.rmtree(folder, ignore_errors=True)
        return sorted_counts(added_up([work(self._schema.to_frame())]) if total is None else total)

    def join(self, other: Shards, on: str | Sequence[str], how: How = "left") -> SparkShards:
        """Send the rows of both sides to places by their keys, and join place by place."""
        keys = tuple(names_of(on))
        returns = joined_schema(self.schema, other.schema, keys, how)
        right = other if isinstance(other, SparkShards) else self.engine.scatter(other.tables(), other.schema)
        shards = max(len(self.sources), len(right.sources))
        dealt, laying = Laying(self.engine.new_folder()), Laying(self.engine.new_folder())
        dealing = [
            one_side._mapping(Dealing(keys, _places(shards), dealt, side))
            for side, one_side in enumerate((self, right))
        ]
        met = self._met(dealing, shards, Joining(keys, how, self.schema, right.schema, returns, laying))
        shutil.rmtree(dealt.folder, ignore_errors=True)
        return met

    def each(self, key: str | Sequence[str], work: Work, returns: pl.Schema) -> SparkShards:
        """Send rows to places by their key, and do the work key by key."""
        keys = tuple(names_of(key))
        shards = len(self.sources)
        dealt, laying = Laying(self.engine.new_folder()), Laying(self.engine.new_folder())
        dealing = self._mapping(Dealing(keys, _places(shards), dealt))
        met = self._met([dealing], shards, Each(keys, work, returns, laying))
        shutil.rmtree(dealt.folder, ignore_errors=True)
        return met

    def kept(self) -> SparkShards:
        """Do what was put off; the workers write the results to files."""
        if not self.works:
            return self
        folder = self.engine.new_folder()
        return SparkShards(self.engine, self._answers(Laying(folder)), self._schema, folder=folder)

    def drop(self) -> None:
        """Remove the files, which are those of these shards alone."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.sources = ()

    def tables(self) -> Iterator[pl.DataFrame]:
        """Have what was put off done by the workers, and read their files one after the other."""
        done = self.kept()
        for source in done.sources:
            table = read(source)
            if table.height:
                yield table
        if done is not self:
            done.drop()

    def collect(self, most: int = MOST_HELD) -> pl.DataFrame:
        """Read all files."""
        held, rows = [self._schema.to_frame()], 0
        for table in self.tables():
            rows += table.height
            check_held(rows, most)
            held.append(table)
        return pl.concat(held)

    # Inside

    def _mapping(self, tail: Tail) -> DataFrame | None:
        """Return what Spark is asked for: the work on all sources, and then ``tail``."""
        if not self.sources:
            return None
        return self.engine.jobs.mapped(Mapping(self.engine.terms, self.sources, self.works, tail))

    def _answers(self, tail: Tail) -> list[Source]:
        asked = self._mapping(tail)
        return [] if asked is None else self.engine.jobs.answers(asked)

    def _met(self, dealt: Sequence[DataFrame | None], shards: int, work: Each | Joining) -> SparkShards:
        """Have work done where rows meet; the workers write the results to files."""
        engine, sides = self.engine, [dealt_side for dealt_side in dealt if dealt_side is not None]
        step = Meeting(engine.terms, work)
        found = engine.jobs.answers(engine.jobs.met(sides, step, shards)) if sides else []
        return SparkShards(engine, found, work.returns, folder=work.laying.folder)


def _places(shards: int) -> int:
    """Return to how many places rows are sent: more than shards, so that each fits where a shard does."""
    return min(max(_FEWEST_PLACES, 4 * shards), _MOST_PLACES)
