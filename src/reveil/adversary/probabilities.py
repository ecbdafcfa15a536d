"""A file of probabilities: for combinations of quasi values, the probability of each sensitive value.

Its columns are any of the quasi columns (exact values, or cells as releases have them: ``[20, 29]``, ``{a, b}``), the
sensitive column, and ``probability``. Without a quasi column it is about everybody. Of every combination all values are
listed, and their probabilities sum up to 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.sparse import csr_array

from reveil.adversary.candidates import find_candidates
from reveil.adversary.prior_table import coded_values, known_columns
from reveil.core.errors import shown
from reveil.releases.foreign import read_release
from reveil.releases.groups import ReleaseGroups, groups_of
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from reveil.adversary.background import KnownPeople
    from reveil.releases.release import Release
    from reveil.tables.formats.place import Place
    from reveil.tables.schema import Schema

FloatArray = npt.NDArray[np.float64]

PROBABILITY = "probability"
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Probabilities:
    """The probability of each value in each combination, read like the groups of a release."""

    table: FloatArray = field(repr=False)
    release: Release | None = field(repr=False)
    groups: ReleaseGroups | None = field(repr=False)
    place: Place
    column: str

    def chances_of(self, people: KnownPeople) -> FloatArray:
        """Return the chances of some people; where several combinations admit somebody, their average."""
        n = len(people.ids)
        if self.release is None or self.groups is None or not n:
            return np.tile(self.table[0], (n, 1))
        found = find_candidates(self.release, self.groups, people.attributes, n)
        nowhere = int(((found.groups.lengths == 0) & ~found.crowded).sum())
        if nowhere:
            raise self.place.error(
                f"{nowhere:,} of {n:,} people are in no combination of quasi values that the prior lists",
                column=self.column,
                hint="List every combination that occurs, or fewer quasi columns; ranges such as [20, 29] will do.",
            )
        shape = (n, len(self.table))
        members = csr_array((np.ones(len(found.groups.items)), found.groups.items, found.groups.offsets), shape=shape)
        sums = np.asarray(members @ self.table)
        sums[found.crowded] = self.table.sum(axis=0)
        total = sums.sum(axis=1, keepdims=True)
        return cast("FloatArray", np.where(total > 0, sums / np.maximum(total, 1e-300), 1 / sums.shape[1]))


def read_probabilities(
    frame: pl.DataFrame, place: Place, schema: Schema, column: str, values: pl.Series
) -> Probabilities | None:
    """Read and check such a table; None where it is about another sensitive column."""
    quasi = known_columns(frame.columns, schema)
    told = [name for name in schema.sensitive if name in frame.columns]
    strange = [name for name in frame.columns if name not in (*quasi, *told, PROBABILITY)]
    if strange or len(told) != 1:
        wrong = f"column {shown(strange)} is none of the quasi columns" if strange else "it has no sensitive column"
        wrong = "it has several sensitive columns" if len(told) > 1 and not strange else wrong
        raise place.error(
            f"this is no file of probabilities: {wrong}",
            column=strange[0] if strange else column,
            hint=f"It has quasi columns, one sensitive column, and {PROBABILITY}.",
        )
    if told[0] != column:
        return None
    numbers = frame[PROBABILITY].cast(pl.Float64, strict=False)
    wrong_rows = (numbers.is_null() | ~numbers.is_finite() | (numbers < 0) | (numbers > 1 + TOLERANCE)).arg_true()
    if len(wrong_rows):
        raise place.error(
            "a probability must be a number from 0 to 1",
            column=PROBABILITY,
            row=int(wrong_rows[0]),
            hint="Write 0.25, say.",
        )
    release, groups = None, None
    index = np.zeros(frame.height, np.int32)
    if quasi and frame.height:
        reduced = schema.of_records().with_columns(c for c in schema.columns if c.name in (*quasi, column))
        release = read_release(frame.select(*quasi, column), reduced)
        groups = groups_of(release)
        index = groups.index
    codes = coded_values(canonical_text(frame[column]), values, fold=schema[column].folds)
    _check(place, column, index, codes, numbers.to_numpy(), values)
    table = np.zeros((int(index.max(initial=0)) + 1, len(values)))
    good = codes >= 0
    np.add.at(table, (index[good], codes[good]), numbers.to_numpy()[good])
    return Probabilities(table, release, groups, place, quasi[0] if quasi else column)


def _check(
    place: Place, column: str, index: npt.NDArray[np.int32], codes: npt.NDArray[np.int32], numbers: FloatArray,
    values: pl.Series,
) -> None:  # fmt: skip
    """Refuse combinations that leave a value out, or whose probabilities do not sum up to one."""
    combinations = int(index.max(initial=0)) + 1
    first = np.zeros(combinations, np.int64)
    first[index[::-1]] = np.arange(len(index))[::-1]
    listed = np.zeros((combinations, len(values)), np.bool_)
    listed[index[codes >= 0], codes[codes >= 0]] = True
    lacking = (~listed).sum(axis=1)
    if lacking.any():
        worst = int(np.flatnonzero(lacking)[0])
        raise place.error(
            f"the prior does not cover {int(lacking[worst]):,} of the {len(values):,} values that the releases and "
            "snapshots have, for the combination of quasi values that begins here",
            column=column,
            row=int(first[worst]) if len(index) else None,
            hint="List every value for every combination; 0 is a probability, too.",
        )
    sums = np.bincount(index, numbers, combinations)
    odd = np.flatnonzero(np.abs(sums - 1) > TOLERANCE)
    if len(odd):
        raise place.error(
            f"the probabilities of a combination of quasi values sum up to {sums[odd[0]]:.6g}, not to 1; it begins "
            "here",
            column=PROBABILITY,
            row=int(first[odd[0]]),
            hint="Divide them by their sum.",
        )
