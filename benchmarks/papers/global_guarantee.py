"""The global guarantee over l, k' and alpha and over twenty rounds, as in Wong, Fu, Liu, Wang and Xu, section 8.

Query error, average and largest group, time and resting people, for both strategies; with the source's tenth of values
bounded, and with all of them.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import reveil as rv
from benchmarks.global_guarantee import floor
from benchmarks.papers.common import Cell, Experiment, Finding, Plot, Table, main, progress, short
from benchmarks.papers.global_series import ROUNDS, SENSITIVE, Data, data
from reveil.core.errors import InfeasibleError
from reveil.guarantees.lifetime.global_guarantee import GlobalGuarantee
from reveil.guarantees.lifetime.strategies import ConstantRatio, Geometric, Strategy

EVEN = 1.25  # a number that changes by no more than this factor is taken as the same
Line = dict[str, float]


@dataclass(frozen=True)
class Setting:
    """One series: l, the strategy, and which values are bounded."""

    l: int
    strategy: Strategy
    bounded: str = "rare"  # or "all"; "rare, list": and absent people of the list dilute groups

    @property
    def label(self) -> str:
        """What the strategy is, with its parameter."""
        own = self.strategy
        return f"k' = {own.releases}" if isinstance(own, ConstantRatio) else f"alpha = {own.settings()['alpha']:g}"


@dataclass(frozen=True)
class Sizes:
    """What is run: records in all, rounds, and the settings of each figure."""

    rounds: int
    tuples: int | None
    ls: tuple[int, ...]
    ratios: tuple[int, ...]
    alphas: tuple[int, ...]
    queries: int


FULL = Sizes(ROUNDS, None, (2, 3, 5, 7), (2, 3, 5, 7), (2, 3, 5, 10), 5_000)
FAST = Sizes(2, 800, (2,), (3,), (3,), 50)


def settings(sizes: Sizes) -> list[Setting]:
    """Return the series of figures 6 to 9, those over l with all values bounded, too, and two with the list."""
    own = [Setting(l, strategy) for l in sizes.ls for strategy in (ConstantRatio(releases=3), Geometric(alpha=3))]
    own += [Setting(2, ConstantRatio(releases=k)) for k in sizes.ratios if k != 3]
    own += [Setting(2, Geometric(alpha=a)) for a in sizes.alphas if a != 3]
    everything = [Setting(one.l, one.strategy, "all") for one in own[: 2 * len(sizes.ls)]]
    listed = [Setting(2, strategy, "rare, list") for strategy in (ConstantRatio(releases=3), Geometric(alpha=3))]
    return [*own, *everything, *listed]


def publish(own: Data, setting: Setting, queries: int, unit: float) -> list[Line]:
    """Publish a series; return a line for each round, up to one that is refused: a value is too frequent in it."""
    schema = rv.Schema(person="pid", quasi=own.quasi, sensitive=SENSITIVE)
    guarantee = GlobalGuarantee(
        setting.l,
        setting.strategy,
        harmless=() if setting.bounded == "all" else own.common,
        population=own.listed if setting.bounded.endswith("list") else None,
    )
    frames = own.snapshots
    if guarantee.population is not None:  # everybody who is published has to be on the list
        frames = [frame.join(own.listed, on="pid", how="semi", maintain_order="left") for frame in frames]
    lines: list[Line] = []
    with tempfile.TemporaryDirectory() as folder:
        series = rv.Series.open(Path(folder) / "vault", schema, guarantee, seed=0)
        for number, frame in enumerate(frames, start=1):
            started = time.perf_counter()
            try:
                release = series.publish_to(Path(folder) / f"{number}.csv", frame).release
            except InfeasibleError:
                progress(f"{setting.bounded}, l = {setting.l}, {setting.label}: refused at round {number}")
                break
            taken = time.perf_counter() - started
            sizes = np.unique(release.group_values()[0], return_counts=True)[1]
            found: Any = rv.measure(frame, release, schema, queries=queries, seed=1)
            error = found["query_error"]
            lines.append(
                {
                    "round": number,
                    "error": error["mean"],
                    "median": error["median"],
                    "average": float(sizes.mean()),
                    "largest": float(sizes.max()),
                    "resting": (release.manifest.withheld or 0) / frame.height,
                    "floors": taken / unit,
                }
            )
    progress(f"{setting.bounded}, l = {setting.l}, {setting.label}: {len(lines)} rounds")
    return lines


@dataclass(frozen=True)
class Results:
    """The lines of each series."""

    sizes: Sizes
    lines: dict[Setting, list[Line]]

    def whole(self, setting: Setting) -> bool:
        """Return whether every round was published."""
        return len(self.lines[setting]) == self.sizes.rounds

    def mean(self, setting: Setting, key: str) -> float | None:
        """Return the mean over the rounds after the first; None where the setting was refused."""
        own = [line[key] for line in self.lines[setting][1:]]
        return float(np.mean(own)) if own else None

    def drift(self, setting: Setting, key: str) -> float:
        """Return the last rounds against the first ones after the start."""
        own = np.array([line[key] for line in self.lines[setting][1:]])
        many = max(len(own) // 4, 1)
        return float(own[-many:].mean() / own[:many].mean())

    def course(self, settings: list[Setting], key: str) -> list[float]:
        """Return the means of some settings that were not refused."""
        return [mean for one in settings if (mean := self.mean(one, key)) is not None]


def table(found: Results, settings: list[Setting], title: str) -> Table:
    """Return one line for each series."""
    keys = ("error", "median", "average", "largest", "resting", "floors")
    rows: list[list[Cell]] = []
    for one in settings:
        lines = found.lines[one]
        refused = f"refused at round {len(lines) + 1}" if len(lines) < found.sizes.rounds else ""
        if len(lines) < 2:
            rows.append([one.l, one.label, *([None] * 8), refused])
            continue
        means = [short(found.mean(one, key) or 0.0, 3) for key in keys]
        ends = [short(lines[place]["error"], 3) for place in (1, -1)]
        rows.append([one.l, one.label, *ends, *means[:4], short(lines[-1]["resting"], 3), means[5], refused])
    head = [
        "l", "strategy", "error, round 2", "error, last round", "mean error", "mean of medians", "average group",
        "largest group", "resting in the end", "floors", "",
    ]  # fmt: skip
    return Table(title, head, rows)


def findings(found: Results) -> list[Finding]:
    """Put the source's claims beside the numbers."""
    sizes = found.sizes
    rare = [one for one in found.lines if one.bounded == "rare"]
    full = [one for one in found.lines if one.bounded == "all" and found.whole(one)]
    listed = [one for one in found.lines if one.bounded == "rare, list"]

    def over_l(bounded: str, kind: type[Strategy]) -> list[Setting]:
        own = [one for one in found.lines if one.bounded == bounded and isinstance(one.strategy, kind)]
        return [next(one for one in own if one.l == l and one.label in {"k' = 3", "alpha = 3"}) for l in sizes.ls]

    def along(settings: list[Setting]) -> str:
        parts = [
            f"{name} {', '.join(f'{value:.3g}' for value in found.course(settings, key))}"
            for name, key in (("error", "error"), ("average group", "average"), ("largest", "largest"))
        ]
        return "; ".join(parts)

    def rises(settings: list[Setting]) -> str:
        grown = [
            all(a <= b * 1.02 for a, b in pairwise(own))
            for own in (found.course(settings, key) for key in ("error", "average", "largest"))
        ]
        return "yes" if all(grown) else "partly" if any(grown) else "no"

    def even(settings: list[Setting], keys: tuple[str, ...]) -> tuple[str, str]:
        drifts = {key: np.array([found.drift(one, key) for one in settings] or [1.0]) for key in keys}
        words = "; ".join(f"{key} {own.min():.2f} to {own.max():.2f} times" for key, own in drifts.items())
        middles = [float(np.exp(np.log(own).mean())) for own in drifts.values()]
        return words, "yes" if all(1 / EVEN < middle < EVEN for middle in middles) else "no"

    constant, geometric = over_l("rare", ConstantRatio), over_l("rare", Geometric)
    ratios = [one for one in rare if one.l == 2 and isinstance(one.strategy, ConstantRatio)]
    ratios.sort(key=lambda one: one.strategy.ratio(Fraction(one.l)))
    alphas = [one for one in rare if one.l == 2 and isinstance(one.strategy, Geometric)]
    alphas.sort(key=lambda one: one.strategy.ratio(Fraction(one.l)))
    flat, is_flat = even(rare, ("error", "average", "largest"))
    all_flat, is_all_flat = even(full, ("error", "average", "largest"))
    clock, _ = even(rare, ("floors",))
    rests = [found.lines[one][-1]["resting"] for one in full] or [0.0]
    refused = [
        f"l = {one.l}, {one.label} in round {len(lines) + 1}"
        for one, lines in found.lines.items()
        if not found.whole(one)
    ]
    pairs = [(one, Setting(2, one.strategy)) for one in listed if found.whole(one)]
    dilution = [
        f"{one.label}: error {found.mean(one, 'error'):.3g} instead of {found.mean(other, 'error'):.3g}, records in a "
        f"group {found.mean(one, 'average'):.3g} instead of {found.mean(other, 'average'):.3g}"
        for one, other in pairs
    ]
    better = [
        (found.mean(one, key) or 0) < (found.mean(other, key) or 0)
        for one, other in pairs
        for key in ("error", "average")
    ]
    return [
        Finding(
            "over the rounds: error, average and largest group",
            "nearly unchanged, both strategies",
            f"last rounds against the first: {flat}",
            is_flat,
            "Only the rarest tenth of the values is bounded, as in the source: nearly nobody is linked with one twice, "
            "and every round is like the first one.",
        ),
        Finding(
            "the same with every value bounded",
            "not tried; said of the method in general",
            f"last rounds against the first: {all_flat}; resting in the end {min(rests):.1%} to {max(rests):.1%}",
            is_all_flat,
            "Those who were linked with a value as often as the strategy allows rest, whatever their value is: "
            "suppressing them only when they have it would tell it. Queries miss them, and the error is theirs.",
        ),
        Finding(
            "over l, constant ratio (k' = 3)",
            "error, average and largest group increase",
            f"l = {', '.join(str(l) for l in sizes.ls)}: {along(constant)}",
            rises(constant),
        ),
        Finding(
            "over l, geometric (alpha = 3)",
            "error, average and largest group increase",
            f"l = {', '.join(str(l) for l in sizes.ls)}: {along(geometric)}",
            rises(geometric),
        ),
        Finding(
            "over k' (l = 2)",
            "error, average and largest group increase",
            f"{', '.join(one.label for one in ratios)}: {along(ratios)}",
            rises(ratios),
        ),
        Finding(
            "over alpha (l = 2)",
            "error, average and largest group increase",
            f"{', '.join(one.label for one in alphas)}: {along(alphas)}",
            rises(alphas),
        ),
        Finding(
            "suppression",
            "not found needed",
            "resting: "
            + ", ".join(f"{found.lines[one][-1]['resting']:.2%}" for one in (constant[0], geometric[0]))
            + f" with rare values bounded; {max(rests):.1%} at most with all"
            + (f"; refused: {', '.join(refused)}" if refused else ""),
            "partly",
            "It is not needed because so little is bounded. Refused as a whole is a snapshot in which a bounded value "
            "is too frequent (leaving out those who have it would tell it), and under the geometric strategy one for "
            "which no groups are found in which everybody's budget suffices; `largest` lets people rest sooner, at the "
            "price of their absence.",
        ),
        Finding(
            "absent people of a registration list",
            "improve utility, as a group can have fewer records",
            "; ".join(dilution) or "refused",
            "not compared" if not better else "yes" if all(better) else "partly" if any(better) else "no",
            "Boxes over the list are regions that share nobody. Here they are mostly single cells of the table: exact, "
            "and with more records than they need. The bound is then against somebody who does not know who is in the "
            "table; the source always counts absent people, here it is a setting.",
        ),
        Finding(
            "time over the rounds",
            "unchanged; no trend over alpha and k'",
            f"last rounds against the first: {clock}",
            "not compared",
            "The machine was busy with other things, and a release of 6,000 records is mostly the vault's work.",
        ),
    ]


def _padded(lines: list[Line], rounds: int) -> list[float | None]:
    """Return the error of each round, nothing where there was none."""
    return [*(short(line["error"]) for line in lines), *([None] * (rounds - len(lines)))]


def run(fast: bool = False) -> Experiment:  # noqa: FBT001, FBT002
    """Run the series and put them beside the source."""
    sizes = FAST if fast else FULL
    own = data(sizes.rounds, sizes.tuples)
    unit = floor(own.snapshots[-1])
    lines = {setting: publish(own, setting, sizes.queries, unit) for setting in settings(sizes)}
    found = Results(sizes, lines)
    drawn = [one for one in lines if one.l == 2 and one.label in {"k' = 3", "alpha = 3"} and lines[one]]
    plot = Plot(
        "Query error over the rounds, l = 2",
        [float(number) for number in range(1, sizes.rounds + 1)],
        {f"{one.label}, {one.bounded}": _padded(lines[one], sizes.rounds) for one in drawn},
        "round",
        "mean relative error",
    )
    parts = {
        "The rarest tenth of the values bounded, as in the source": "rare",
        "Every value bounded": "all",
        "The rarest tenth bounded, groups diluted by absent people of the list": "rare, list",
    }
    return Experiment(
        "global_guarantee",
        "The global guarantee over l, k' and alpha",
        "Wong, Fu, Liu, Wang, Xu, *Preserving Individual Privacy in Serial Data Publishing*, section 8",
        [
            own.words,
            (
                f"{sizes.rounds} rounds as in the source, which has 105,420 reactions of 40,478 people: a part of the "
                "table each time, a fifth of the round before, and a fifth of the values drawn anew; a person has one "
                f"record in a round. {sizes.queries:,} queries a round. The rarest tenth of the values is "
                f"{len(own.values) - len(own.common)} of {len(own.values)} (232 in the source)."
            ),
            "A floor is polars reading, sorting and writing the table of a round.",
            "The source gives its numbers in figures only, which are not at hand: its sentences are compared.",
        ],
        findings(found),
        [table(found, [one for one in lines if one.bounded == name], title) for title, name in parts.items()],
        plot,
    )


if __name__ == "__main__":
    sys.exit(main(run))
