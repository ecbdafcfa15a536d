"""The layer between algorithms and machines: a table in shards, and the few things that can be done with it.

An algorithm is written once, as *work*: functions of Arrow tables (polars frames, which are Arrow tables without
another package). An engine moves tables to the work and knows nothing of what it does. So that every engine, any number
of workers and any way of cutting a table give the same rows, work keeps to this:

- it can be pickled: a function at the top of a module, or an object of such a class (``functools.partial`` will do);
- its result depends on the rows that it is given, not on their order, on how they are cut into tables, or on how often
  it was called; dice are children of the seed that are keyed by a number in the rows;
- it may be done twice (a worker was killed): who writes a file writes it under another name and renames it;
- a table may be empty, and its columns are in no particular order;
- it raises errors of :mod:`reveil.core.errors`, which arrive as they are.

Rows have no order. Who needs one sorts by a column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

import polars as pl

from reveil.core.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

Work = Callable[[pl.DataFrame], pl.DataFrame]
How = Literal["left", "outer", "semi", "anti"]

COUNTED = "n"  # the column of counts
MOST_HELD = 50_000_000  # rows of counts, or of a result, that the caller's memory takes where it says nothing else


class Shards(Protocol):
    """The rows of a table, wherever they lie. Nothing changes what is there: every operation gives other shards."""

    @property
    def schema(self) -> pl.Schema:
        """The columns and their types."""

    def map(self, work: Work, returns: pl.Schema) -> Shards:
        """Turn every row into any number of rows; ``returns`` are the columns of the result. Put off until asked for.

        ``work`` gets tables of any size.
        """

    def count(self, work: Work, most: int = MOST_HELD) -> pl.DataFrame:
        """Add up what ``work`` counts: it turns a table into keys and their counts, in the column ``n``.

        Returns one row for each key, sorted by the keys. More than ``most`` of them are refused.
        """

    def join(self, other: Shards, on: str | Sequence[str], how: How = "left") -> Shards:
        """Put rows together that are equal in the columns ``on``, where none is null.

        ``left`` keeps rows without a match, with nulls; ``outer`` those of ``other``, too; ``semi`` and ``anti`` keep
        the rows that have a match, or none, and take no columns over. Other columns have different names.
        """

    def each(self, key: str | Sequence[str], work: Work, returns: pl.Schema) -> Shards:
        """Give ``work`` all the rows with the same ``key`` in one table, key by key, and collect its results.

        Keys are whole numbers or texts and never null. All the rows of a key have to fit one worker's memory, and a
        key costs a call: a key for each person is a mistake, one for each bucket of persons is not.
        """

    def kept(self) -> Shards:
        """Do what was put off, once, and lay the result down where shards lie."""

    def drop(self) -> None:
        """Free the room that these shards take, which are not used any more."""

    def tables(self) -> Iterator[pl.DataFrame]:
        """Bring the rows to the caller, table by table."""

    def collect(self, most: int = MOST_HELD) -> pl.DataFrame:
        """Bring all the rows to the caller; more than ``most`` are refused."""


class Engine(Protocol):
    """Lays tables out in shards. Used as a context: afterwards nothing of what it laid down is left anywhere."""

    name: ClassVar[str]  # as a manifest tells it
    shard_rows: int  # so many rows are worked on at once

    def scatter(self, tables: Iterable[pl.DataFrame], schema: pl.Schema) -> Shards:
        """Lay out tables; each is one shard. A table may be a list of things to read, which work then reads."""

    @property
    def scratch(self) -> Path:
        """A private folder that all workers reach, for files that work writes; it is removed at the end."""

    def __enter__(self) -> Engine: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class TooLargeError(InputError):
    """More rows, or more values, than one memory is to take."""


@dataclass(frozen=True)
class OnlyColumns:
    """Work: some of the columns. Where it is the first work on a file, an engine reads no others."""

    names: tuple[str, ...]

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Choose the columns of a shard."""
        return table.select(self.names)


def with_columns_only(shards: Shards, names: Iterable[str]) -> Shards:
    """Return shards with some of their columns."""
    only = tuple(names)
    return shards.map(OnlyColumns(only), pl.Schema({name: shards.schema[name] for name in only}))


def names_of(key: str | Sequence[str]) -> list[str]:
    """Return the names of one or several columns."""
    return [key] if isinstance(key, str) else list(key)


def with_column(schema: pl.Schema, name: str, dtype: pl.DataType) -> pl.Schema:
    """Return columns and one more."""
    more = pl.Schema(schema)
    more[name] = dtype
    return more


def checked(table: pl.DataFrame, returns: pl.Schema) -> pl.DataFrame:
    """Return the result of some work with its columns in order; other columns are a mistake of the program."""
    if dict(table.schema) != dict(returns):
        raise TypeError(f"work returned the columns {dict(table.schema)}, not {dict(returns)}")
    return table.select(returns.names())


def added_up(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Add up counts that have the same keys."""
    both = pl.concat(parts)
    keys = [name for name in both.columns if name != COUNTED]
    if not keys:
        return both.select(pl.col(COUNTED).sum())
    return both.group_by(keys).agg(pl.col(COUNTED).sum())


def sorted_counts(counts: pl.DataFrame) -> pl.DataFrame:
    """Return counts in the order of their keys, which come first."""
    keys = [name for name in counts.columns if name != COUNTED]
    return counts.select(*keys, COUNTED).sort(keys) if keys else counts


def check_held(rows: int, most: int) -> None:
    """Refuse more rows than the caller's memory is to take."""
    if rows > most:
        raise TooLargeError(
            f"{rows:,} rows would have to be held in memory at once, and the limit is {most:,}",
            hint="Columns with fewer different values need less: round or bin them, or give them a hierarchy.",
        )


def joined(left: pl.DataFrame, right: pl.DataFrame, on: Sequence[str], how: How) -> pl.DataFrame:
    """Join two tables as :meth:`Shards.join` says."""
    if how == "outer":
        return left.join(right, on=on, how="full", coalesce=True)
    return left.join(right, on=on, how=how)


def joined_schema(left: pl.Schema, right: pl.Schema, on: Sequence[str], how: How) -> pl.Schema:
    """Return the columns of a join; keys of two types, and two columns of one name, are a mistake of the program."""
    if any(left[name] != right[name] for name in on):
        raise TypeError(f"both sides of a join must have the same types in {list(on)}")
    if how in {"semi", "anti"}:
        return left
    more = {name: dtype for name, dtype in right.items() if name not in on}
    if set(more) & set(left):
        raise TypeError(f"both sides of a join have the columns {sorted(set(more) & set(left))}")
    return pl.Schema({**left, **more})
