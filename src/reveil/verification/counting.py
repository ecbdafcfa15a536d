"""The groups of a release and the sensitive values in them, counted from what was read back."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import VerificationError, excerpt
from reveil.tables.snapshot import canonical_text
from reveil.verification.arrays import Codes, Ints, counted_pairs, renumbered

if TYPE_CHECKING:
    from typing import TypeVar

    import numpy.typing as npt

    Item = TypeVar("Item", bound=np.generic)
    from collections.abc import Mapping

    from reveil.releases.manifest_parts import Counterfeits
    from reveil.releases.release import Release
    from reveil.tables.schema import Column
    from reveil.tables.snapshot import Snapshot

_DIGITS = 10  # of the largest number of a group
_SORTED = 1 << 20  # rows above which pairs are sorted rather than counted in a table
_CELLS = 8  # of a dense table per row, up to which counting in it is faster than sorting


@dataclass(frozen=True)
class PublishedGroups:
    """The groups of a release: their published ``numbers``, the group of each row, and how many rows and counterfeits.

    Without a column of groups, rows with equal generalised cells are a group.
    """

    numbers: Ints
    of_row: Codes = field(repr=False)
    rows: Ints
    fakes: Ints

    @property
    def real(self) -> Ints:
        """Rows per group that are records."""
        return self.rows - self.fakes


@dataclass(frozen=True)
class ValueRelations:
    """How the values of a sensitive column relate: their number, whether by order, and the trees over them.

    ``nodes`` has for each level below the root of a taxonomy the node over each value.
    """

    size: int
    ordered: bool = False
    nodes: Codes | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Tally:
    """How often each value occurs in each group: ``count[i]`` times ``value[i]`` in ``group[i]``, in this order.

    ``table`` is how often each value occurs in all the table.
    """

    group: Ints = field(repr=False)
    value: Ints = field(repr=False)
    count: Ints = field(repr=False)
    n_groups: int
    table: Ints = field(repr=False)
    scale: ValueRelations

    @classmethod
    def of(cls, group: Codes, value: Codes, n_groups: int, scale: ValueRelations, table: Ints | None = None) -> Tally:
        """Count values, each with its group; the whole table is all of them, unless another one is given."""
        total = np.bincount(value, minlength=scale.size).astype(np.int64) if table is None else table
        if len(group) <= _SORTED and n_groups * scale.size <= _CELLS * len(group) + 1024:
            dense = np.bincount(group.astype(np.int64) * scale.size + value, minlength=n_groups * scale.size)
            at = np.flatnonzero(dense)
            return cls(at // scale.size, at % scale.size, dense[at].astype(np.int64), n_groups, total, scale)
        groups, values, counts = counted_pairs(group, value, scale.size)
        return cls(groups, values, counts, n_groups, total, scale)

    @cached_property
    def starts(self) -> Ints:
        """Where the values of each group begin; every group has some."""
        return np.searchsorted(self.group, np.arange(self.n_groups)).astype(np.int64)

    @cached_property
    def different(self) -> Ints:
        """How many different values each group has."""
        return np.bincount(self.group, minlength=self.n_groups).astype(np.int64)

    @cached_property
    def total(self) -> Ints:
        """How many values each group has."""
        found: Ints = self.summed(self.count)
        return found

    @cached_property
    def most(self) -> Ints:
        """How often the most frequent value of each group occurs."""
        return np.maximum.reduceat(self.count, self.starts) if len(self.count) else self.count

    def summed(self, numbers: npt.NDArray[Item]) -> npt.NDArray[Item]:
        """Add up numbers, one for each value of each group, group by group."""
        return np.add.reduceat(numbers, self.starts) if len(numbers) else numbers

    def counts_of(self, group: int) -> Ints:
        """Return the counts of one group."""
        first = self.starts[group]
        return self.count[first : first + self.different[group]]


@dataclass(frozen=True)
class GroupCounts:
    """What a judge of groups looks at: how large each group is, and the values of each sensitive column."""

    sizes: Ints
    tallies: Mapping[str, Tally] = field(default_factory=dict)


def groups_of(release: Release) -> PublishedGroups:
    """Find the groups, and the counterfeits that the manifest counts in them.

    Numbers that no row has and more counterfeits than rows are left out: another check complains about them.
    """
    numbers, of_row = renumbered(release.classes if release.groups is None else release.groups)
    rows = np.bincount(of_row, minlength=len(numbers)).astype(np.int64)
    fakes = np.zeros(len(numbers), np.int64)
    if release.groups is not None and len(numbers):
        told = counterfeits_in(release.manifest.counterfeits)
        group = np.array(list(told), np.int64)
        place = np.minimum(np.searchsorted(numbers, group), len(numbers) - 1)
        known = numbers[place] == group
        fakes[place[known]] = np.array(list(told.values()), np.int64)[known]
    return PublishedGroups(numbers, of_row, rows, np.minimum(fakes, rows))


def counterfeits_in(told: Counterfeits) -> dict[int, int]:
    """Return the counterfeits per group that a manifest counts, as far as they can be read."""
    return {
        int(number): many
        for number, many in told.per_group.items()
        if number.isdecimal() and len(number) <= _DIGITS and str(int(number)) == number and 0 < many < 2**31
    }


def described(release: Release, groups: PublishedGroups, at: int) -> str:
    """Name a group by its number where it has one, else by its published cells."""
    number = int(groups.numbers[at])
    if release.groups is not None:
        return str(number)
    texts = {name: str(cells.text[int(cells.index[number])]) for name, cells in release.cells.items()}
    return ", ".join(f"{name}={excerpt(text)}" for name, text in texts.items())


def counts_of(
    release: Release, groups: PublishedGroups, snapshot: Snapshot, *, values: bool, foreign: bool
) -> GroupCounts:
    """Count the groups of a release; ``values``: the sensitive ones, too.

    ``foreign``: some rows may have values that the snapshot does not have.
    """
    if not values:
        return GroupCounts(groups.rows)
    number, published = release.group_values()
    place = groups.of_row if release.batch is None else np.searchsorted(groups.numbers, number).astype(np.int32)
    tallies = {}
    for name in snapshot.schema.sensitive:
        code, scale = coded(published[name], snapshot.frame[name], snapshot.schema[name], foreign=foreign)
        tallies[name] = Tally.of(place, code, len(groups.numbers), scale)
    return GroupCounts(groups.rows, tallies)


def coded(
    published: pl.Series, raw: pl.Series, column: Column, *, foreign: bool = False
) -> tuple[Codes, ValueRelations]:
    """Number published values so that the numbers say how the values relate; a missing value comes last.

    A value that the snapshot does not have is refused, unless some rows may be ``foreign``; declared orders and
    hierarchies have no other values for anybody.
    """
    name = column.name
    if published.dtype != raw.dtype and not (foreign and raw.dtype == pl.String):
        raise VerificationError(f"column {name!r} has another type than in the snapshot", column=name)
    distinct = published.unique()
    strange = not distinct.is_in(raw.unique().implode(), nulls_equal=True).all()
    if strange and not foreign:
        raise unknown_values(name)
    declared = column.taxonomy.leaves if column.taxonomy is not None else column.order
    if declared is not None:
        texts = canonical_text(published)
        if not texts.drop_nulls().is_in(list(declared)).all():
            raise unknown_values(name)
        codes = texts.cast(pl.Enum(list(declared))).to_physical().cast(pl.Int32).fill_null(len(declared))
        nodes = None
        if column.taxonomy is not None:
            # A missing value hangs directly under the root.
            levels = column.taxonomy.levels[1:]
            beside = np.full((len(levels), 1), len(column.taxonomy.labels), np.int32)
            nodes = np.hstack([levels, beside])
        return codes.to_numpy().astype(np.int32), ValueRelations(len(declared) + 1, column.order is not None, nodes)
    natural = published.dtype.is_numeric() or published.dtype.is_temporal()
    if natural and isinstance(column.bins, int):
        return _binned(published, raw, column.bins)
    known = (distinct if natural else canonical_text(distinct).unique()).drop_nulls().sort()
    place = pl.DataFrame({"value": known}).with_row_index("code").cast({"code": pl.Int32})
    rows = (published if natural else canonical_text(published)).alias("value").to_frame()
    codes = rows.join(place, on="value", how="left", maintain_order="left")["code"].fill_null(len(known))
    return codes.to_numpy().astype(np.int32), ValueRelations(len(known) + 1, natural)


def coded_values(values: pl.Series, many: Ints, column: Column) -> tuple[Codes, ValueRelations]:
    """Number the different values of a column of which so many records have each, as :func:`coded` does."""
    natural = values.dtype.is_numeric() or values.dtype.is_temporal()
    if natural and isinstance(column.bins, int) and column.taxonomy is None and column.order is None:
        counted = pl.DataFrame({"value": values, "n": many}).drop_nulls("value").sort("value")
        return _in_bins(values, counted["value"], counted["n"].to_numpy().astype(np.int64), column.bins)
    return coded(values, values, column)


def _binned(published: pl.Series, raw: pl.Series, bins: int) -> tuple[Codes, ValueRelations]:
    """Number values by bins of about equally many records of the snapshot; equal values share a bin.

    With b records below a value, of n that have one, its bin is the whole part of b * bins / n.
    """
    counted = raw.drop_nulls().alias("value").value_counts(name="n").sort("value")
    return _in_bins(published, counted["value"], counted["n"].to_numpy().astype(np.int64), bins)


def _in_bins(published: pl.Series, known: pl.Series, many: Ints, bins: int) -> tuple[Codes, ValueRelations]:
    """Number values by bins, given the different ones of the snapshot and how many records have each."""
    bin_ = (np.cumsum(many) - many) * bins // max(int(many.sum()), 1)
    used, place = np.unique(bin_, return_inverse=True)
    if not len(known):
        return np.zeros(len(published), np.int32), ValueRelations(1, ordered=True)
    # A value that the snapshot does not have is in the bin of the next larger one.
    at = known.search_sorted(published.fill_null(known[0])).to_numpy()
    codes = place[np.minimum(at, len(known) - 1)]
    codes = np.where(published.is_null().to_numpy(), len(used), codes)
    return codes.astype(np.int32), ValueRelations(len(used) + 1, ordered=True)


def unknown_values(name: str) -> VerificationError:
    """Return the refusal of a column with values that nobody has."""
    return VerificationError(f"column {name!r} has published values that the snapshot does not have", column=name)
