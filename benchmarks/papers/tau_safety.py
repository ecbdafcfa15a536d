"""tau-safety against m-invariance over twenty releases, as in the thesis of Anjum (2013), section 4.6.

Loss, query error, counterfeits, time and people whose signature fails them: over the releases, over m, over the update
rate and over the selectivity of queries.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.papers.common import Cell, Experiment, Finding, Plot, Table, main, short
from benchmarks.papers.tau_series import FAST, FULL, METHODS, Line, Sizes, people, publish

if TYPE_CHECKING:
    import polars as pl


FEW = 10  # counterfeits that are chance


@dataclass(frozen=True)
class Results:
    """All lines: over the releases, over m and over the update rate, by method."""

    sizes: Sizes
    over_time: dict[str, list[Line]]
    over_m: dict[str, dict[int, list[Line]]]
    over_rate: dict[str, dict[int, list[Line]]]

    def at(self, method: str, key: str, release: int | None = None) -> float:
        """Return a number of the default series at a release, by default the one where settings are compared."""
        return self.over_time[method][(release or self.sizes.compared) - 1][key]

    def by_m(self, method: str, key: str) -> list[float]:
        """Return a number for each m, at the release where they are compared."""
        return [self.over_m[method][m][self.sizes.compared - 1][key] for m in self.sizes.ms]

    def by_rate(self, method: str, key: str) -> list[float]:
        """Return a number for each update rate, at the release where they are compared."""
        return [self.over_rate[method][rate][self.sizes.compared - 1][key] for rate in self.sizes.rates]

    def total(self, method: str, key: str) -> float:
        """Return the sum over the releases of the default series."""
        return sum(line[key] for line in self.over_time[method])

    def without(self, method: str) -> int:
        """Return how many releases of the default series have no counterfeit."""
        return sum(line["counterfeits"] == 0 for line in self.over_time[method])

    def moved(self, method: str) -> list[float]:
        """Return for each update rate how many signatures change in a release after the first, on average."""
        runs = [self.over_rate[method][rate][1 : self.sizes.compared] for rate in self.sizes.rates]
        return [float(np.mean([line["moved"] for line in lines])) for lines in runs]

    def costs(self, method: str, over: str) -> list[float]:
        """Return the median time of the releases after the first, in floors, for each m or update rate."""
        runs = self.over_m[method] if over == "m" else self.over_rate[method]
        values = self.sizes.ms if over == "m" else self.sizes.rates
        own = [[line["floors"] for line in runs[value][1 : self.sizes.compared]] for value in values]
        return [float(np.median(floors)) for floors in own]


def gather(table: pl.DataFrame, sizes: Sizes) -> Results:
    """Run every series once."""
    brief = replace(sizes.course, releases=sizes.compared)
    here = {sizes.compared}
    over_time, over_m, over_rate = {}, {}, {}
    for method in METHODS:
        if sizes is FULL:
            publish(table, FAST, FAST.course, method, FAST.m, set())  # compiled before it is timed
        whole = publish(table, sizes, sizes.course, method, sizes.m, set(sizes.measured))
        over_time[method] = whole
        over_m[method] = {m: whole if m == sizes.m else publish(table, sizes, brief, method, m, here) for m in sizes.ms}
        over_rate[method] = {
            rate: whole
            if rate == sizes.course.update
            else publish(table, sizes, replace(brief, update=rate, back=rate // 5), method, sizes.m, here)
            for rate in sizes.rates
        }
    return Results(sizes, over_time, over_m, over_rate)


def tables(found: Results) -> list[Table]:
    """Return the numbers: over the releases, over m, over the update rate and over the selectivity."""
    sizes, methods = found.sizes, list(METHODS)
    keys = ("cp", "dcp", "kl", "error", "median", "counterfeits", "moved", "overlap", "few", "withheld")
    head = [
        "CP", "DCP", "KL", "query error", "median", "counterfeits", "signature changed", "overlapping", "fewer than m",
        "resting",
    ]  # fmt: skip
    time_rows: list[list[Cell]] = [
        [int(line["release"]), method, *(short(line[key]) for key in keys)]
        for number in sizes.measured
        for method in methods
        for line in [found.over_time[method][number - 1]]
    ]
    settings = []
    for name, values, by in (("m", sizes.ms, found.by_m), ("updates", sizes.rates, found.by_rate)):
        columns = {method: [*(by(method, key) for key in keys), found.costs(method, name)] for method in methods}
        rows: list[list[Cell]] = [
            [value, method, *(short(own[place]) for own in columns[method])]
            for place, value in enumerate(values)
            for method in methods
        ]
        settings.append(Table(f"Over {name}, at release {sizes.compared}", [name, "method", *head, "floors"], rows))
    shares: list[list[Cell]] = [
        [share, *(short(found.at(method, f"error at {share}", sizes.course.releases)) for method in methods)]
        for share in sizes.selectivities
    ]
    return [
        Table(f"Over the releases, m = {sizes.m}", ["release", "method", *head], time_rows),
        *settings,
        Table("Query error over the selectivity, at the last release", ["selectivity", *methods], shares),
    ]


def over_releases(measured: tuple[int, ...], moved: list[float]) -> Finding:
    """Return what became of m-invariance's vulnerable records over the releases."""
    later = [value for release, value in zip(measured, moved, strict=True) if release > 1]
    return Finding(
        "vulnerable records of m-invariance over the releases",
        "a gradual increase",
        f"releases {', '.join(str(release) for release in measured if release > 1)}: "
        + ", ".join(f"{value:,.0f}" for value in later),
        "yes" if later[-1] > 1.1 * later[min(1, len(later) - 1)] else "no",
        "In each release about those who changed their value or came back just then, and these are as many each time "
        "(at release 2 nobody can come back yet). Those who are left with fewer than m values add up.",
    )


def findings(found: Results) -> list[Finding]:
    """Put the source's claims beside the numbers."""
    theirs, plain, ours = METHODS
    sizes = found.sizes
    last = sizes.course.releases

    def pair(key: str, release: int | None = None) -> str:
        return " against ".join(f"{found.at(own, key, release):.3g}" for own in (ours, theirs))

    def course(method: str, values: list[float]) -> str:
        return f"{method}: " + ", ".join(f"{value:.3g}" for value in values)

    def less(key: str) -> str:
        wins = [found.at(ours, key, r) < found.at(theirs, key, r) for r in sizes.measured]
        return "yes" if all(wins) else "partly" if any(wins) else "no"

    moved, by_m = found.moved(theirs), found.by_m(theirs, "moved")
    few = [int(found.at(own, "few", last)) for own in (theirs, plain, ours)]
    error, plainly = ([found.at(own, "error", release) for release in sizes.measured] for own in (ours, plain))
    selective = [found.at(ours, f"error at {share}", last) for share in sizes.selectivities]
    fakes, fewest = {own: found.total(own, "counterfeits") for own in METHODS}, found.total(ours, "fewest")
    by_method = {own: found.by_m(own, "counterfeits") for own in METHODS}
    dcp = [a / b for a, b in zip(found.by_m(ours, "dcp"), found.by_m(theirs, "dcp"), strict=True)]
    rate_fakes = found.by_rate(ours, "counterfeits")
    rate_error, rate_plainly = found.by_rate(ours, "error"), found.by_rate(plain, "error")
    cost_m = {own: found.costs(own, "m") for own in (ours, theirs)}
    cost_rate = found.costs(ours, "rate")
    faster = [a < b for a, b in zip(cost_m[ours], cost_m[theirs], strict=True)]
    return [
        Finding(
            "certainty penalty (CP)",
            "much higher for m-invariance than for tau-safety",
            f"tau-safety {pair('cp', last)} at release {last}",
            less("cp"),
            "m-invariance deals records to buckets by dice, tau-safety by distance.",
        ),
        Finding(
            "discernibility penalty (DCP)",
            "not very far from each other",
            f"tau-safety {', '.join(f'{ratio:.2f}' for ratio in dcp)} times m-invariance's "
            f"(m = {', '.join(str(m) for m in sizes.ms)})",
            "yes" if max(dcp) < 1.25 else "partly" if min(dcp) < 1.25 else "no",
            "Groups are as large as their signatures, between m and 2m - 1, in both. Counterfeits make more of them, "
            "and everybody who rests counts as much as the whole table has records.",
        ),
        Finding("KL divergence", "less for tau-safety", f"tau-safety {pair('kl', last)}", less("kl")),
        Finding(
            "query error",
            "less for tau-safety, over time, m, selectivity and update rate",
            f"tau-safety {pair('error', last)} at release {last}",
            less("error"),
        ),
        Finding(
            "the price of signatures that are equal or disjoint",
            "not paid",
            f"at release {last}: CP {found.at(ours, 'cp', last):.3g} instead of {found.at(plain, 'cp', last):.3g}, "
            f"query error {found.at(ours, 'error', last):.3g} instead of {found.at(plain, 'error', last):.3g}",
            "not compared",
            "Beside the source's rule, which does not bound what it promises to bound.",
        ),
        Finding(
            "query error over the releases",
            "increases smoothly, then no more",
            course("tau-safety", error) + "; " + course("with the source's rule", plainly),
            "partly" if error[-1] > error[0] else "no",
            f"Releases {', '.join(str(number) for number in sizes.measured)}. It rises with the people who ever "
            "changed: they need signatures that share nothing with the ones before, and those who can share such a "
            "signature live far from each other. The source's own rule lets them go anywhere, and its error falls as "
            "the table grows.",
        ),
        Finding(
            "query error over m",
            "shown in figure 4.9 only",
            course("tau-safety", found.by_m(ours, "error")),
            "not compared",
            f"m = {', '.join(str(m) for m in sizes.ms)}.",
        ),
        Finding(
            "query error over the selectivity",
            "larger for more selective queries",
            course("tau-safety", selective),
            "yes" if selective[0] > selective[-1] else "no",
            f"Shares of {', '.join(str(share) for share in sizes.selectivities)}.",
        ),
        Finding(
            "query error over the update rate",
            "falls with more updates",
            course("tau-safety", rate_error) + "; " + course("with the source's rule", rate_plainly),
            "yes" if rate_error[0] > rate_error[-1] else "partly" if rate_plainly[0] > rate_plainly[-1] else "no",
            f"Rates of {', '.join(f'{rate:,}' for rate in sizes.rates)}. More updates are more freedom only where a "
            "changed person counts as a new one, which tells on them. With disjoint signatures they are a constraint.",
        ),
        Finding(
            "counterfeits over the releases",
            "tau-safety at the least possible, often none; m-invariance above it",
            f"tau-safety {fakes[ours]:,.0f} over {last} releases ({found.without(ours)} without any), the source's "
            f"rule {fakes[plain]:,.0f}, m-invariance {fakes[theirs]:,.0f}; no grouping has fewer than {fewest:,.0f} "
            "for tau-safety",
            "yes" if fakes[ours] <= fakes[theirs] else "no",
            "Both share one machine here that fills old buckets before it opens new ones, and m-invariance has a "
            "choice more: it forgets those who left. An m-invariance that wastes more is a matter of its "
            "implementation, not of the model.",
        ),
        Finding(
            "counterfeits over m",
            "low for all m (figure 4.14)",
            f"m = {', '.join(str(m) for m in sizes.ms)}: "
            + "; ".join(f"{own} {', '.join(f'{value:,.0f}' for value in by_method[own])}" for own in METHODS),
            "yes" if max(by_method[ours]) <= 0.01 * found.at(ours, "records") else "partly",
            "The price of disjoint signatures where the domain is short: of 46 values, m = 10 takes up to 19 for one "
            "signature, and who has another value must find m of the rest.",
        ),
        Finding(
            "counterfeits over the update rate",
            "higher for small rates",
            course("tau-safety", rate_fakes),
            "not compared" if max(rate_fakes) <= FEW else "yes" if rate_fakes[0] > rate_fakes[-1] else "no",
            "Too few to tell." if max(rate_fakes) <= FEW else "",
        ),
        Finding(
            "vulnerable records of m-invariance (their signature changed)",
            "a dramatic increase with the update rate",
            f"per release {', '.join(f'{value:,.0f}' for value in moved)}",
            "yes" if moved == sorted(moved) else "no",
            f"Rates of {', '.join(f'{rate:,}' for rate in sizes.rates)}; in proportion to the rate.",
        ),
        over_releases(sizes.measured, [found.at(theirs, "moved", release) for release in sizes.measured]),
        Finding(
            "vulnerable records over m",
            "fewer with a higher m",
            f"m = {', '.join(str(m) for m in sizes.ms)}: {', '.join(f'{value:,.0f}' for value in by_m)}",
            "yes" if by_m == sorted(by_m, reverse=True) else "partly" if by_m[-1] < by_m[0] else "no",
            "Nobody whose value changed keeps a signature but by chance: there are far more sets of m values than "
            "groups for them.",
        ),
        Finding(
            "people with fewer than m values left, at the last release",
            "none under tau-safety",
            f"m-invariance {few[0]:,}, the source's rule {few[1]:,}, tau-safety {few[2]:,}",
            "no" if any(few[1:]) else "yes" if few[0] else "partly",
            "Against somebody who knows the groups. They came back with the value they had, and m-invariance gave them "
            "another signature: only what the two share is possible.",
        ),
        Finding(
            "people who changed, with a signature that overlaps the one before",
            "not seen as a danger: a change is a deletion and a new person",
            f"at release {last}: the source's rule {found.at(plain, 'overlap', last):,.0f}, tau-safety "
            f"{found.at(ours, 'overlap', last):,.0f}",
            "no",
            "Whoever knows of the change counts worlds: {a, b} and then {b, c} give a two of three, not one of two. "
            "Signatures are equal or disjoint here.",
        ),
        Finding(
            "time over m",
            "falls with m; tau-safety is faster than m-invariance",
            course("tau-safety", cost_m[ours]) + "; " + course("m-invariance", cost_m[theirs]) + " floors",
            "partly" if any(faster) else "no",
            "On a busy machine no trend can be told. A release is everything from the frame to the verified and "
            "confirmed file, of which the grouping is a part.",
        ),
        Finding(
            "time over the update rate",
            "rises with the rate",
            course("tau-safety", cost_rate) + " floors",
            "not compared",
            "On a busy machine no trend can be told. Nothing here looks at pairs of records, as the source's split "
            "does.",
        ),
    ]


def run(fast: bool = False) -> Experiment:  # noqa: FBT001, FBT002
    """Run the series and put them beside the source."""
    sizes = FAST if fast else FULL
    course = sizes.course
    table, words = people(course.people)
    found = gather(table, sizes)
    plot = Plot(
        f"Certainty penalty over {course.releases} releases, m = {sizes.m}",
        [float(number) for number in sizes.measured],
        {method: [short(found.at(method, "cp", number)) for number in sizes.measured] for method in METHODS},
        "release",
        "certainty penalty",
    )
    setting = [
        words,
        (
            f"{course.releases} releases: {course.start:,} people at first, each time {course.leave:,} leave, "
            f"{course.come:,} come and {course.update:,} are updated, of whom {course.back:,} come back. An updated "
            "person is a year older, and each other column stays or is drawn anew from its domain, with even chance."
        ),
        (
            f"m and update rates are compared at release {sizes.compared}, from one series each, with "
            f"{sizes.queries:,} queries. *tau-safety as in the source* treats a changed value as that of a new person "
            "(`strict=False`); *tau-safety* keeps signatures equal or disjoint. A floor is polars sorting the same "
            "table."
        ),
        "The source gives its numbers in figures only, which are not at hand: its sentences are compared.",
    ]
    return Experiment(
        "tau_safety",
        "tau-safety against m-invariance over 20 releases",
        "Anjum, *Towards Privacy-Preserving Publication of Continuous and Dynamic Data* (2013), section 4.6",
        setting,
        findings(found),
        tables(found),
        plot,
        [
            (
                '*Signature changed* is the source\'s "vulnerable record": present before with another signature. '
                "*Overlapping*: and the two are not disjoint. *Fewer than m*: so many people are left with fewer than "
                "m possible values by the intersection of their signatures since their value last changed. Every vault "
                "has a key of its own, and with it other dice: small counts differ from run to run."
            )
        ],
    )


if __name__ == "__main__":
    sys.exit(main(run))
