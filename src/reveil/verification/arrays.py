"""The names of arrays, and numbers for values that do not depend on who counts: the judge's own words."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
AnyInts = npt.NDArray[np.integer]

_MARK = 62  # bits of the mark of a value
HALF = 31  # bits of each half of a mark, as the vault keeps it
_SEEDS = (b"value", b"name")
NULL_MARK = 1


def renumbered(given: AnyInts) -> tuple[Ints, Codes]:
    """Return the distinct numbers, ascending, and the place of each given one among them."""
    most = int(given.max(initial=-1)) + 1
    if most > 4 * len(given) + 1024 or given.min(initial=0) < 0:
        numbers, place = np.unique(given, return_inverse=True)
        return numbers.astype(np.int64), place.astype(np.int32)
    seen = np.zeros(most, np.bool_)
    seen[given] = True
    return np.flatnonzero(seen).astype(np.int64), (np.cumsum(seen, dtype=np.int32) - np.int32(1))[given]


def marks_of(texts: pl.Series) -> Ints:
    """Return a number for each text, the same in every release: 62 bits of its digest. A missing value has one, too."""
    distinct = texts.unique()
    known = pl.DataFrame(
        {"text": distinct, "mark": [mark_of(text) for text in distinct]}, schema_overrides={"mark": pl.Int64}
    )
    rows = texts.alias("text").to_frame()
    return rows.join(known, on="text", how="left", maintain_order="left", nulls_equal=True)["mark"].to_numpy()


def mark_of(text: str | None) -> int:
    """Return the number of one text."""
    if text is None:
        return NULL_MARK
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8, person=_SEEDS[0]).digest()) >> (64 - _MARK)


def number_of_name(name: str) -> int:
    """Return a number for the name of a column that stays the same over releases: 31 bits."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=4, person=_SEEDS[1]).digest()) >> 1


def halves(marks: Ints) -> tuple[Ints, Ints]:
    """Split marks into two numbers that a ledger can keep."""
    return marks >> HALF, marks & ((1 << HALF) - 1)


def whole(high: AnyInts, low: AnyInts) -> Ints:
    """Put the halves of marks together."""
    found: Ints = (high.astype(np.int64) << HALF) | low.astype(np.int64)
    return found


def set_marks(group: AnyInts, marks: Ints, n_groups: int) -> Ints:
    """Return a number for the set of values of each group, given its different values: the sum of their marks."""
    total = np.zeros(n_groups, np.int64)
    with np.errstate(over="ignore"):
        np.add.at(total, group, marks)
    found: Ints = total & ((1 << _MARK) - 1)
    return found


def only_marks(who: AnyInts, marks: Ints, size: int) -> Ints:
    """Return the mark of each of so many persons that one row is about, -1 for persons of no row and of several."""
    found = np.full(size, -1, np.int64)
    found[who] = marks
    found[np.bincount(who, minlength=size) != 1] = -1
    return found


def room_for(*who: AnyInts) -> int:
    """Return how many persons there are by their numbers, 0 where these lie too far apart for an array of them all."""
    most = max(int(some.max(initial=-1)) for some in who) + 1
    return most if most <= 8 * sum(map(len, who)) + 1024 else 0


def different_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the different rows of a table about people: who has one row has no other one that is equal."""
    who = rows["who"].to_numpy()
    room = room_for(who)
    if not room:
        return rows.unique()
    several = pl.Series(np.bincount(who, minlength=room)[who] > 1)
    return pl.concat([rows.filter(~several), rows.filter(several).unique()]) if several.any() else rows


def counted_pairs(group: AnyInts, value: AnyInts, size: int) -> tuple[Ints, Ints, Ints]:
    """Return the distinct pairs of a group and a value below ``size``, in order, and how often each occurs.

    Pairs are sorted as numbers: a table of all of them, or one hashed, is several times as large.
    """
    key = group.astype(np.int64)
    key *= size
    key += value
    key.sort()
    first = np.flatnonzero(np.append(True, key[1:] != key[:-1])[: len(key)])
    count = np.diff(np.append(first, len(key)))
    key = key[first]
    return key // size, key % size, count


def distinct_rows(columns: Sequence[AnyInts]) -> tuple[list[Ints], Ints]:
    """Return the distinct rows of some columns of numbers, in order, and how often each occurs."""
    names = [f"c{at}" for at in range(len(columns))]
    frame = pl.DataFrame(dict(zip(names, columns, strict=True)))
    counted = frame.group_by(names).agg(pl.len().cast(pl.Int64).alias("n")).sort(names)
    return [counted[name].to_numpy().astype(np.int64) for name in names], counted["n"].to_numpy()
