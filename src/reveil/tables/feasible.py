"""What the counts of a column allow, before anything is published: which l, which m, and for how many made-up rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reveil.tables.schema import Role, Type

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reveil.tables.profiling import ColumnProfile

FEW_COUNTERFEITS = 0.05  # made-up rows for each record that a proposal accepts
MANY_NUMBERS = 50  # more different numbers, and a neighbour that counts as another value protects little
BINS = 20  # ranges that are proposed for such numbers
_USUAL_M = 4


def people_of(columns: Iterable[ColumnProfile]) -> int:
    """Return how many persons a table is about, as far as its columns tell."""
    columns = list(columns)
    return next((c.distinct for c in columns if c.role is Role.PERSON), columns[0].rows)


def usual_k(people: int) -> int:
    """Return the k that is proposed for so many persons."""
    return next((k for least, k in ((1000, 10), (20, 5), (6, 3)) if people >= least), 2)


def top_share(column: ColumnProfile) -> float:
    """Return the share of the records that have the most common value; a missing value is one, too."""
    return max(column.common, column.most, column.nulls) / column.rows


def values_of(column: ColumnProfile) -> int:
    """Return how many different values a sensitive column has; missing is one of them."""
    return column.folds + (column.nulls > 0)


def reachable_l(column: ColumnProfile, k: int) -> int:
    """Return the l, 3 at most, for which groups of about k records have a chance to hold l values.

    With a share p of the most common value, a group of k has k (1 - p) other records on average. l values need l - 1 of
    them; for two values, half of one will do, since groups grow until they have it.
    """
    others = k * (1 - top_share(column))
    return next((asked for asked, least in ((3, 2), (2, 0.5)) if column.folds >= asked and others >= least), 1)


def many_numbers(column: ColumnProfile) -> bool:
    """Return whether a column has so many different numbers that 12.54 and 12.55 would protect one another."""
    return column.type is Type.NUMBER and column.distinct > MANY_NUMBERS and not column.marks


def in_ranges(column: ColumnProfile) -> ColumnProfile:
    """Return what is known of many numbers once they are published in about ``BINS`` ranges; others as they are.

    Ends are round, so that ranges hold more or less than their part: twice as much is allowed for, and the most common
    number has neighbours in its range.
    """
    if not many_numbers(column):
        return column
    part = -(-column.rows // BINS)
    common = min(max(column.common + part, 2 * part), column.rows)
    return replace(column, distinct=BINS, alike=0, common=common, most=0)


def made_up(column: ColumnProfile, m: int) -> float:
    """Return how many counterfeits a first release needs for each record, if every group has m different values.

    With the most common value at s of n records there are s groups at least, each with m rows: m s - n counterfeits,
    and as many are enough.
    """
    return max(0.0, m * top_share(column) - 1)


def values_needed(m: int, *, fixed: bool) -> int:
    """Return how many different values a column must have for m, whether or not values change."""
    return m if fixed else 3 * m - 1


def largest_m(column: ColumnProfile, *, fixed: bool, most: int = _USUAL_M) -> int:
    """Return the largest m up to ``most`` that the column has values for, with few counterfeits; 1 where none does."""
    for m in range(most, 1, -1):
        if values_of(column) >= values_needed(m, fixed=fixed) and made_up(column, m) <= FEW_COUNTERFEITS:
            return m
    return 1


def largest_share_l(column: ColumnProfile, most: int = 3) -> int:
    """Return the largest l up to ``most`` of which no value has more than 1/l of the records; 1 where none is."""
    return next((l for l in range(most, 1, -1) if values_of(column) >= l and top_share(column) * l <= 1), 1)
