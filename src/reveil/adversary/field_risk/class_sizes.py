"""Who looks like whom: the chance to point at the right row, by the number of rows, or of people, that are alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reveil.adversary.field_risk.population import PopulationUniques, expected_chance, population_uniques

if TYPE_CHECKING:
    from reveil.core.arrays import CodeArray, IntArray
    from reveil.core.json_values import JSON

FloatArray = npt.NDArray[np.float64]
LIMITS = (0.5, 0.2, 0.05)  # chances above which rows are counted; 0.05 and 0.2 are usual for public and other releases
FIFTH = 0.2
NOBODY = 0.0
_TOLERANCE = 1e-12


@dataclass(frozen=True)
class ClassSizes:
    """The rows of a table by how many are alike.

    ``of_rows`` is, row by row, the number of rows alike (f), ``people`` the number of people in the population who fit
    it (F), where they are counted: with none the table is the population. ``estimated``: the population is known by its
    size only, and the chances of the journalist are expectations. ``distinct`` is the number of classes, ``everybody``
    the sum of their F.
    """

    of_rows: IntArray = field(repr=False)
    people: IntArray | None = field(repr=False)
    distinct: int
    everybody: int
    source: str
    population: int | None = None
    estimated: PopulationUniques | None = None

    @classmethod
    def of(cls, classes: CodeArray, fits: IntArray | None, population_size: int | None) -> ClassSizes:
        """Count the rows of each class; ``fits`` are the people of a population who fit each class."""
        sizes = np.bincount(classes).astype(np.int64)
        distinct = int((sizes > 0).sum())
        if fits is not None:
            # Whoever is in the table is of the population, on the list or not.
            fits = np.maximum(fits, sizes)
            whole = int(fits[sizes > 0].sum())
            return cls(sizes[classes], fits[classes], distinct, whole, "population", whole)
        if population_size is not None:
            uniques = population_uniques(np.bincount(sizes[sizes > 0]), population_size)
            return cls(sizes[classes], None, distinct, len(classes), "estimate", population_size, uniques)
        return cls(sizes[classes], None, distinct, len(classes), "release", None)

    @property
    def prosecutor_risk(self) -> FloatArray:
        """The chance to find the row of somebody who is known to be in the table, row by row: 1/f."""
        return 1.0 / self.of_rows

    @property
    def journalist_risk(self) -> FloatArray:
        """The chance to name the person behind a row: 1/F, or what is expected of it."""
        if self.people is not None:
            return 1.0 / self.people
        if self.population is None:
            return self.prosecutor_risk
        sizes, place = np.unique(self.of_rows, return_inverse=True)
        return expected_chance(sizes, len(self.of_rows) / self.population)[place]

    @property
    def prosecutor(self) -> float:
        """The highest chance to find somebody's row."""
        return float(self.prosecutor_risk.max(initial=NOBODY))

    @property
    def journalist(self) -> float:
        """The highest chance to name the person behind a row."""
        return float(self.journalist_risk.max(initial=NOBODY))

    @property
    def marketer(self) -> float:
        """The share of rows that are named rightly where each is given to somebody who fits it: the mean of 1/F."""
        return float(self.journalist_risk.mean()) if len(self.of_rows) else NOBODY

    def to_json(self) -> dict[str, JSON]:
        """Return the figures."""
        rows = len(self.of_rows)
        return {
            "rows": rows,
            "classes": self.distinct,
            "smallest": int(self.of_rows.min()) if rows else None,
            "uniques": int((self.of_rows == 1).sum()),
            "prosecutor": _counted(self.prosecutor_risk, self.distinct / max(rows, 1)),
            "journalist": {**_counted(self.journalist_risk, self._journalist_mean()), "from": self.source},
            "marketer": self.marketer,
            "population": self.population,
            "population_uniques": None if self.estimated is None else self.estimated.to_json(),
        }

    def _journalist_mean(self) -> float:
        """Return the mean by El Emam: not below the number of classes over the people who fit them."""
        return max(self.marketer, self.distinct / max(self.everybody, 1) if self.people is not None else NOBODY)


def _counted(risk: FloatArray, mean: float) -> dict[str, JSON]:
    """Return the highest chance, how many rows have it, the mean, and how many rows are above some limits."""
    highest = float(risk.max(initial=NOBODY))
    return {
        "highest": highest,
        "rows_at_highest": int((risk >= highest - _TOLERANCE).sum()),
        "mean": mean,
        "above": {str(limit): int((risk > limit + _TOLERANCE).sum()) for limit in LIMITS},
        "above_fifth": int((risk > FIFTH + _TOLERANCE).sum()),
    }
