"""One table and one plot of what is stored of all parts: before, now, and the goal.

``python -m benchmarks.utility.summary`` writes them again from ``docs/evidence`` without measuring anything. *Before*
is the way that there was before efforts (``quick``), measured by the same program.
"""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.papers.common import EVIDENCE, Experiment, Plot, Table, finish, short
from benchmarks.utility.tables import NAMES

if TYPE_CHECKING:
    from benchmarks.papers.common import Cell


class Compared(NamedTuple):
    """What is compared with what: a part, the variant of before, the variant of now."""

    words: str
    part: str
    before: str
    now: str


LINES = (
    Compared("tau-safety, m = 4", "signatures", "quick", "normal"),
    Compared("tau-safety, angelized", "signatures", "quick, angelized", "normal, angelized"),
    Compared("tau-safety, exact", "signatures", "quick", "normal, exact"),
    Compared("refinement, k 10, l 3", "refinement", "roomy", "lean"),
    Compared("global, l 2, release 5", "lifetime", "constant-ratio", "spread"),
    Compared("global, l 2, release 5, longer", "lifetime", "constant-ratio", "longer"),
)
ERROR_GOALS = {
    ("tau-safety, angelized", name): goal for name, goal in zip(NAMES, (0.10, 0.07, 0.03, 0.03), strict=True)
}
HEAD = [
    "guarantee", "table", "width before", "width now", "goal", "error before", "error now", "error, fitted",
    "goal of the error", "made-up rows before", "made-up rows now", "held back before", "held back now",
]  # fmt: skip


def stored(part: str) -> dict[str, dict[str, Any]]:
    """Return what was measured of a part, by table and variant."""
    place = EVIDENCE / f"utility_{part}.json"
    found: dict[str, dict[str, Any]] = json.loads(place.read_text()) if place.is_file() else {}
    return found


def rows() -> list[list[Cell]]:
    """Return a line for each guarantee and table of which both variants are stored."""
    found: list[list[Cell]] = []
    for line in LINES:
        goals = importlib.import_module(f"benchmarks.utility.part_{line.part}").GOALS
        for name in NAMES:
            own = stored(line.part).get(name, {})
            if line.now not in own:
                continue
            before, now = own.get(line.before, {}), own[line.now]
            pairs = [
                short(one[key], 3) if key in one else None
                for key in ("gcp", "query_error", "counterfeits", "withheld")
                for one in (before, now)
            ]
            wide, wrong, others = pairs[:2], pairs[2:4], pairs[4:]
            fitted = now.get("fitted_error")
            goal, goal_of_error = goals.get((name, line.now)), ERROR_GOALS.get((line.words, name))
            likelier = None if fitted is None else short(fitted, 3)
            found.append([line.words, name, *wide, goal, *wrong, likelier, goal_of_error, *others])
    return found


def plot() -> Plot:
    """Return the widths of tau-safe releases over time, before and now."""
    found = {
        f"{name}, {words}": list(stored("signatures")[name][variant]["widths"])
        for name in NAMES
        for words, variant in (("before", "quick"), ("now", "normal"))
        if variant in stored("signatures").get(name, {})
    }
    longest = max((len(widths) for widths in found.values()), default=0)
    series: dict[str, list[float | None]] = {
        name: [*widths, *[None] * (longest - len(widths))] for name, widths in found.items()
    }
    return Plot(
        "Widths of tau-safe releases, m = 4", [float(n + 1) for n in range(longest)], series, "release", "mean width"
    )


def experiment() -> Experiment:
    """Return the table and the plot as a chapter of the evidence."""
    return Experiment(
        "utility",
        "What releases are worth, before and now",
        "our own question; the goals are those we set ourselves",
        [
            "20,000 people in each release; the last of 12 (generated hospital) or 8 (real tables, 8 % of the people",
            "and 5 % of the values change from one to the next), refinement at release 8, the global guarantee at 5.",
            "Width: mean share of its column that a cell covers (gcp). Error: mean relative error of counts that name",
            "two quasi columns and a set of sensitive values, 5 % of the records.",
            "Fitted: of the estimate for which rows and values of a group are matched as all groups together suggest.",
            "Before: the quick way (refinement: roomy cells; global: constant ratio), measured by the same program.",
            "Single runs: each vault has a key of its own, and with it other dice. The exact form was measured before",
            "groups of two tables were formed by the records between their members (decision 0030).",
        ],
        [],
        [Table("Widths, errors, made-up rows and people held back (shares)", HEAD, rows())],
        plot(),
        ["`python -m benchmarks.utility --store` measures and writes it."],
    )


def store() -> None:
    """Write the chapter and its plot."""
    finish(experiment(), fast=False)


if __name__ == "__main__":
    store()
