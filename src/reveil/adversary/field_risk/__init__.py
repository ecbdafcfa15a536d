"""Risk as the field counts it, one table at a time: prosecutor, journalist and marketer risk, and special uniques.

These figures know nothing of other releases, of values or of what an attacker could compute: they count who looks like
whom. ARX and sdcMicro print the same ones, by the definitions of El Emam (*Guide to the De-Identification of Personal
Health Information*, 2013), of Benedetti and Franconi (1998) and of Elliot, Manning and Ford (2002).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from reveil.adversary.candidates import find_candidates
from reveil.adversary.field_risk.class_sizes import ClassSizes
from reveil.adversary.field_risk.special_uniques import special_uniques
from reveil.core.errors import ConfigError
from reveil.core.threads import each
from reveil.releases.groups import ReleaseGroups
from reveil.releases.parsing import classes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reveil.adversary.background import KnownPeople
    from reveil.adversary.field_risk.special_uniques import SpecialUniques
    from reveil.adversary.view import View
    from reveil.core.arrays import CodeArray, IntArray
    from reveil.core.json_values import JSON
    from reveil.releases.release import Release

RISKIEST = 20  # rows that are listed
NAMES = ("prosecutor", "journalist", "marketer")


@dataclass(frozen=True)
class TableRisk:
    """The figures of one table: how many rows look alike, and which rows are unique by few of their columns."""

    classes: ClassSizes
    uniques: SpecialUniques = field(repr=False)

    def to_json(self) -> dict[str, JSON]:
        """Return the figures; no row is named."""
        return {**self.classes.to_json(), "special_uniques": self.uniques.to_json()}

    def riskiest(self, many: int = RISKIEST) -> list[dict[str, JSON]]:
        """Return the rows with the highest risk, numbered from 1 as in the table: for the owner's eyes."""
        risk, score = self.classes.journalist_risk, self.uniques.score
        order = np.lexsort((np.arange(len(risk)), -score, -self.classes.prosecutor_risk, -risk))[:many]
        return [
            {
                "row": int(row) + 1,
                "alike": int(self.classes.of_rows[row]),
                "prosecutor": float(self.classes.prosecutor_risk[row]),
                "journalist": float(risk[row]),
                "score": float(score[row]),
            }
            for row in order
        ]


@dataclass(frozen=True)
class ReleaseRisk:
    """The figures of a release as it was published, and of the snapshot that it was made of where that is given."""

    release: int
    after: TableRisk
    before: TableRisk | None

    def to_json(self) -> dict[str, JSON]:
        """Return the figures without rows."""
        before = None if self.before is None else self.before.to_json()
        return {"release": self.release, "after": self.after.to_json(), "before": before}

    def riskiest(self) -> dict[str, JSON]:
        """Return the riskiest rows of both tables: for the owner's eyes."""
        before = [] if self.before is None else self.before.riskiest()
        return {"release": self.release, "after": self.after.riskiest(), "before": before}


def field_risks(
    views: Sequence[View], population_size: int | None = None, *, stage: Callable[[str], None] = lambda _: None
) -> list[ReleaseRisk]:
    """Count the risks of each release by itself; ``population_size`` estimates those of a population without a list."""
    stage("who looks like whom in each release")
    for view in views:
        if population_size is not None and population_size < len(view.release.classes):
            raise ConfigError(
                f"a population of {population_size:,} is smaller than release {view.number + 1}, which has "
                f"{len(view.release.classes):,} rows",
                hint="--population-size counts everybody of whom the table could have been, those in it included.",
            )

    def risk_of(view: View) -> ReleaseRisk:
        people = view.people
        before = None if people is None or people.snapshot is None else _of_snapshot(people.snapshot, population_size)
        listed = None if people is None else people.population
        return ReleaseRisk(view.number + 1, _of_release(view.release, listed, population_size), before)

    return each(risk_of, views, max((len(view.release.classes) for view in views), default=0))


def worst(risks: Sequence[ReleaseRisk]) -> dict[str, float | None]:
    """Return the three figures of the release that has most of each."""
    if not risks:
        return dict.fromkeys(NAMES)
    return {name: max(getattr(risk.after.classes, name) for risk in risks) for name in NAMES}


def _of_release(release: Release, population: KnownPeople | None, population_size: int | None) -> TableRisk:
    classes = release.classes
    codes = [cells.index[classes] for cells in release.cells.values()]
    fits = None if population is None else _fits(release, population)
    return TableRisk(ClassSizes.of(classes, fits, population_size), special_uniques(codes, len(classes)))


def _of_snapshot(snapshot: KnownPeople, population_size: int | None) -> TableRisk:
    codes: list[CodeArray] = [attribute.codes for attribute in snapshot.attributes]
    size = len(snapshot.ids)
    classes, _ = classes_of([*codes], size)
    many = population_size if population_size is not None and population_size >= size else None
    return TableRisk(ClassSizes.of(classes, None, many), special_uniques(codes, size))


def _fits(release: Release, population: KnownPeople) -> IntArray:
    """Return how many people of a population fit the cells of each class."""
    rows = np.bincount(release.classes).astype(np.int64)
    groups = ReleaseGroups(np.arange(len(rows)), release.classes, rows, np.zeros(len(rows), np.int64))
    return find_candidates(release, groups, population.attributes, len(population.ids)).fits
