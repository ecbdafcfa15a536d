"""The other sensitive columns: what a row shows in them, and what an adversary knows of their target."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import ConfigError
from reveil.releases.different_cells import places_in
from reveil.releases.groups import groups_of
from reveil.tables.notation import SUPPRESSED_VALUE
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reveil.adversary.background import Background
    from reveil.core.arrays import CodeArray
    from reveil.releases.release import Release
    from reveil.tables.schema import Schema

MOST_CHOICES = 5_000
HIDDEN = -2  # a suppressed cell, which may be any value


@dataclass(frozen=True)
class Beside:
    """One release: ``groups`` and ``columns`` have the published values row by row, ``truth`` is what people have.

    ``truth`` has a code for each person present, -1 where it is not known; codes are those of the same column.
    """

    groups: CodeArray = field(repr=False)
    columns: dict[str, CodeArray] = field(repr=False)
    truth: dict[str, CodeArray] = field(repr=False)


@dataclass(frozen=True)
class Known:
    """What is known of a target beside quasi values: the true values of any ``many`` of ``names``."""

    names: tuple[str, ...]
    many: int
    releases: tuple[Beside, ...] = field(repr=False)

    def choices(self, number: int) -> Iterator[tuple[str, ...]]:
        """Yield the sets of columns that may be known and that a release has."""
        told = self.releases[number].columns
        return combinations([name for name in self.names if name in told], self.many)


def check_known(schema: Schema, many: int) -> None:
    """Refuse to know so many sensitive values that none is left to find out."""
    others = len(schema.sensitive) - 1
    if others < 1:
        raise ConfigError(
            "known = values needs a second sensitive column: there is no other value to know",
            hint="Declare the columns that must not be linked as sensitive, or ask for known = presence.",
        )
    if isinstance(many, bool) or not isinstance(many, int) or not 1 <= many <= others:
        raise ConfigError(
            f"values_known must be a whole number from 1 to {others}, not {many!r}",
            hint=f"There are {others + 1} sensitive columns, and one is to be found out.",
        )
    if comb(others, many) > MOST_CHOICES:
        raise ConfigError(
            f"{many} of {others} columns can be known in {comb(others, many):,} ways, more than are tried",
            hint=f"Ask for fewer known values, or audit a schema with fewer columns; {MOST_CHOICES:,} ways are tried.",
        )


def other_values(
    releases: Sequence[Release], people: Background, ids: Sequence[pl.Series], schema: Schema, column: str, many: int
) -> Known:
    """Gather what rows show beside ``column``, and what the snapshots say of the people in ``ids``."""
    others = tuple(name for name in schema.sensitive if name != column)
    found = []
    for number, release in enumerate(releases):
        published, values = release.group_values()
        numbers = groups_of(release).numbers
        rows: dict[str, CodeArray] = {}
        truth: dict[str, CodeArray] = {}
        for name in (column, *others):
            truth_here = people.truth_of(number, ids[number], name)
            if name not in values.columns or truth_here is None:
                continue
            texts, known = canonical_text(values[name]), truth_here[0]
            distinct = pl.concat([texts.alias(name), known.alias(name)]).unique(maintain_order=True)
            hidden = (texts == SUPPRESSED_VALUE).fill_null(value=False).to_numpy()
            rows[name] = np.where(hidden, HIDDEN, places_in(texts, distinct)).astype(np.int32)
            truth[name] = np.where(truth_here[1], places_in(known, distinct), -1).astype(np.int32)
        found.append(Beside(np.searchsorted(numbers, published).astype(np.int32), rows, truth))
    return Known(others, many, tuple(found))
