"""One release as its bytes show it, with whom each row is about."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from reveil.core.errors import VerificationError
from reveil.tables.snapshot import canonical_text
from reveil.verification.arrays import Bools, Codes, Ints, counted_pairs, marks_of
from reveil.verification.counting import PublishedGroups, groups_of

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl

    from reveil.releases.release import Release
    from reveil.tables.schema import Schema
    from reveil.tables.snapshot import Snapshot
    from reveil.verification.population import Selection


class ShownWorlds(Protocol):
    """What shows that a release fits worlds: for each world, whose value each person has, and whom each row covers."""

    @property
    def sources(self) -> npt.NDArray[np.integer]:
        """(worlds, records): the record whose value the person of a record has in a world."""

    @property
    def rows(self) -> npt.NDArray[np.integer]:
        """(worlds, rows): the record that a row covers in a world."""


@dataclass(frozen=True)
class Shown:
    """A release, its number, and ``who`` each row is about (-1: a counterfeit).

    ``dirty`` marks rows of people who are not in the table, where that is known. ``snapshot`` is the table with all its
    columns, ``records`` the record of each row in it (-1: none), and ``witness`` what shows that a release fits worlds:
    all three where the release is just made. ``population`` is a registration list, where there is one, and
    ``selection`` the part of the table that was asked for.
    """

    release: Release
    number: int
    who: Ints = field(repr=False)
    dirty: Bools | None = field(default=None, repr=False)
    snapshot: Snapshot | None = field(default=None, repr=False)
    persons: Ints | None = field(default=None, repr=False)  # the number of each record's person
    witness: ShownWorlds | None = field(default=None, repr=False)
    population: object = field(default=None, repr=False)
    selection: Selection | None = field(default=None, repr=False)
    schema: Schema | None = field(default=None, repr=False)  # how values relate; the snapshot's, where there is one

    @cached_property
    def groups(self) -> PublishedGroups:
        """The groups of the release."""
        return groups_of(self.release)

    @cached_property
    def real(self) -> Ints:
        """The rows that are about somebody."""
        return np.flatnonzero(self.who >= 0)

    @property
    def group(self) -> Codes:
        """The place of the group of each row that is about somebody."""
        return self.groups.of_row[self.real]

    @cached_property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive columns of the release."""
        return self.release.manifest.sensitive

    @cached_property
    def _values(self) -> tuple[Codes, pl.DataFrame]:
        number, values = self.release.group_values()
        if self.release.batch is None:
            return self.groups.of_row, values
        return np.searchsorted(self.groups.numbers, number).astype(np.int32), values

    def value_groups(self) -> Codes:
        """Return the place of the group of each published value."""
        return self._values[0]

    def texts(self, name: str) -> pl.Series:
        """Return each published value of a column, as a text."""
        return canonical_text(self._values[1][name])

    def marks(self, name: str) -> Ints:
        """Return the mark of each published value of a column."""
        kept: dict[str, Ints] = vars(self).setdefault("_marks", {})
        if name not in kept:
            kept[name] = marks_of(self.texts(name))
        return kept[name]

    def row_marks(self, name: str) -> Ints:
        """Return the mark of the value of each row that is about somebody; two-table releases do not tell."""
        if self.release.batch is not None:
            raise VerificationError("a release with a second table does not say which row has which value")
        return self.marks(name)[self.real]

    @cached_property
    def one_column(self) -> str:
        """The only sensitive column."""
        if len(self.sensitive) != 1:
            raise VerificationError("this guarantee is about one sensitive column")
        return self.sensitive[0]

    @cached_property
    def members(self) -> tuple[Ints, Ints, Ints]:
        """Group, value and number of rows, of the different values of each group in the only sensitive column."""
        marks = np.unique(self.marks(self.one_column))
        place = np.searchsorted(marks, self.marks(self.one_column))
        group, value, count = counted_pairs(self.value_groups(), place, len(marks))
        return group, marks[value], count


def unsafe(what: str) -> VerificationError:
    """Return the refusal of a release that breaks the rule of its series."""
    return VerificationError(what, hint="This release is not safe together with those before it.")


def forgotten(what: str) -> VerificationError:
    """Return the refusal of books that do not say what was told."""
    return VerificationError(
        f"the vault's books do not say what was told: {what}",
        hint="Releases made by such books are not safe. Compare all of them with reveil verify --series.",
    )
