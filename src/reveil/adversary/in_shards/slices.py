"""Evidence about some people: everything that is known of them, and the groups that they may be in.

What an attack concludes about a person from their own groups is the same in a slice as in the whole, because all that
is counted over a whole release is handed along (:class:`reveil.adversary.view.WholeRelease`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.adversary.evidence import Evidence
from reveil.adversary.view import View, WholeRelease
from reveil.adversary.viewing import changes
from reveil.core.arrays import Ragged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.core.arrays import CodeArray, IntArray
    from reveil.models.limits import Limit
    from reveil.releases.release import Release
    from reveil.tables.schema import Schema

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class KnownRelease:
    """What is known of a release beside its groups: ``release`` is without rows."""

    release: Release
    limits: tuple[Limit, ...]
    everybody: bool  # whether all persons listed are published
    spare: tuple[bool, int, bool]
    shares: FloatArray = field(repr=False)
    present: int  # persons
    rows: int
    groups: int


@dataclass(frozen=True)
class KnownSeries:
    """What is known of all releases when one sensitive column, the ``place``-th of the schema, is attacked."""

    releases: tuple[KnownRelease, ...]
    values: pl.Series = field(repr=False)
    column: str
    place: int
    known: str
    bound: float | None
    limits: tuple[Limit, ...]
    schema: Schema

    def view(self, number: int, people: pl.DataFrame, groups: pl.DataFrame, persons: pl.Series) -> View:
        """Return a release as it is known of some people, given the groups that they may be in."""
        here, told = people.filter(pl.col("t") == number).sort("person"), self.releases[number]
        groups = groups.filter(pl.col("t") == number).sort("g")
        numbers = groups["g"].to_numpy().astype(np.int64)
        lists = here["groups"]
        items = lists.explode().drop_nulls().to_numpy().astype(np.int64)
        candidates = Ragged.of_lengths(
            lists.list.len().to_numpy().astype(np.int64), np.searchsorted(numbers, items).astype(np.int32)
        )
        codes, counts = (groups[f"{what}{self.place}"] for what in ("codes", "counts"))
        whole = WholeRelease(_numbers(groups["alone"]), told.spare, told.shares)
        return View(
            number,
            told.release,
            _numbers(groups["size"]),
            _numbers(groups["fakes"]),
            Ragged.of_lengths(_numbers(codes.list.len()), _numbers(codes.explode().drop_nulls()).astype(np.int32)),
            _numbers(counts.explode().drop_nulls()),
            _places(here["person"], persons),
            candidates,
            _numbers(groups["fits"]),
            here["crowded"].to_numpy(),
            here[f"v{self.place}"].to_numpy().astype(np.int32),
            np.zeros(0, np.int32),
            None,
            None,
            told.release.manifest.promise,
            told.everybody,
            told.limits,
            part_of=whole,
        )

    def evidence(self, views: Sequence[View], persons: pl.Series) -> Evidence:
        """Return all that is known of some people."""
        changed = changes(tuple(views), len(persons), self.known)
        return Evidence(
            tuple(views),
            persons,
            self.values,
            self.known,
            changed,
            self.bound,
            self.column,
            self.schema,
            limits=self.limits,
        )

    def of_people(self, people: pl.DataFrame, groups: pl.DataFrame) -> Evidence:
        """Return all that is known of people whose whole lives are given."""
        persons = people["person"].unique().sort()
        views = [self.view(number, people, groups, persons) for number in range(len(self.releases))]
        return self.evidence(views, persons)


def _numbers(column: pl.Series) -> IntArray:
    numbers: IntArray = column.cast(pl.Int64).to_numpy()
    return numbers


def _places(ids: pl.Series, persons: pl.Series) -> CodeArray:
    """Return the place of each id among sorted ones."""
    places = persons.search_sorted(ids)
    found: CodeArray = places.to_numpy().astype(np.int32) if len(ids) else np.zeros(0, np.int32)
    return found
