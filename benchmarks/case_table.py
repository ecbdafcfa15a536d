"""A national case table that is published again and again: people come in, some records are mended, few are taken out.

Columns and growth follow a public case surveillance table, which was published 99 times and grew from 3.7 to 106
million rows; nobody in it exists. Each snapshot is made from the one before, so that a series of any length costs no
more than its rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

RELEASES = 99
FIRST, LAST = 3_700_000, 106_000_000  # rows of the first and the last release of the table itself
QUASI = ("month", "state", "county", "age", "sex", "race", "process", "symptoms")
SENSITIVE = "condition"
CONDITIONS = 24
REMOVED, BACK, MENDED, CHANGED = 0.004, 0.1, 0.02, 0.005  # shares of those who are there, from release to release
_COUNTIES = 20  # of a state


@dataclass
class Cases:
    """Everybody who was ever in the table, and who is there now; row i is the person i."""

    rng: np.random.Generator
    columns: dict[str, npt.NDArray[np.int32]] = field(default_factory=dict)
    here: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))

    def add(self, many: int, month: int) -> None:
        """Let people come in, who fell ill in the last three months."""
        rng = self.rng
        state = _skewed(rng, many, 55)
        own = {
            "month": np.maximum(month - rng.geometric(0.6, many) + 1, 0),
            "state": state,
            "county": state * _COUNTIES + _skewed(rng, many, _COUNTIES),
            "age": np.clip(rng.normal(42, 21, many), 0, 100),
            "sex": rng.choice(3, many, p=[0.52, 0.475, 0.005]),
            "race": _skewed(rng, many, 8),
            "process": _skewed(rng, many, 7),
            "symptoms": rng.choice(4, many, p=[0.5, 0.1, 0.15, 0.25]),
            SENSITIVE: _skewed(rng, many, CONDITIONS, flat=4),
        }
        for name, values in own.items():
            before = self.columns.get(name, np.zeros(0, np.int32))
            self.columns[name] = np.concatenate([before, values.astype(np.int32)])
        self.here = np.concatenate([self.here, np.ones(many, np.bool_)])

    def change(self) -> None:
        """Take records out, bring some back, and mend others."""
        rng = self.rng
        there, away = np.flatnonzero(self.here), np.flatnonzero(~self.here)
        self.here[rng.choice(away, int(len(away) * BACK), replace=False)] = True
        self.here[rng.choice(there, int(len(there) * REMOVED), replace=False)] = False
        for name in ("county", "process", "symptoms"):
            who = rng.choice(there, int(len(there) * MENDED / 3), replace=False)
            self.columns[name][who] = rng.permutation(self.columns[name][who])
        who = rng.choice(there, int(len(there) * CHANGED), replace=False)
        self.columns[SENSITIVE][who] = _skewed(rng, len(who), CONDITIONS, flat=4)

    def snapshot(self) -> pl.DataFrame:
        """Return the table as it is now."""
        who = np.flatnonzero(self.here)
        frame = pl.DataFrame({"pid": who, **{name: own[who] for name, own in self.columns.items()}})
        return frame.with_columns(pl.format("c{}", SENSITIVE).alias(SENSITIVE))


def sizes(scale: int, releases: int = RELEASES) -> list[int]:
    """Return the rows of each release at 1 : ``scale``: the same share is added each time."""
    found = np.geomspace(FIRST / scale, LAST / scale, releases)
    return [round(size) for size in found]


def snapshots(scale: int, releases: int = RELEASES, seed: int = 0) -> Iterator[pl.DataFrame]:
    """Yield the snapshots of the series."""
    cases = Cases(np.random.default_rng(seed))
    for month, size in enumerate(sizes(scale, releases)):
        if month:
            cases.change()
        cases.add(max(size - int(cases.here.sum()), 0), month // 3)
        yield cases.snapshot()


def _skewed(rng: np.random.Generator, many: int, size: int, flat: int = 2) -> npt.NDArray[np.int64]:
    """Draw numbers of which small ones are more frequent."""
    weights = 1 / (np.arange(size) + flat)
    return rng.choice(size, many, p=weights / weights.sum())
