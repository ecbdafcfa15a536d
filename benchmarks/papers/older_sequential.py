"""The older ways of sequential release beside possible worlds, as in Shmueli and Tassa (2015), section 6.1.

Loss and work of two, three and four releases; and what the adversary reads off releases that the older count allows.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import numpy as np
import polars as pl

import reveil as rv
from benchmarks.floor import coded
from benchmarks.papers.common import Cell, Experiment, Finding, Plot, Table, main, progress, short
from benchmarks.papers.older_ways import OlderSeries, shown
from benchmarks.papers.world_trials import Step, published
from benchmarks.worlds import real
from reveil.guarantees.worlds.possible_worlds import PossibleWorlds

# Columns of the settings of section 6.1, counted as there: 1 is the first quasi column, 8 the sensitive one.
SETTINGS: dict[int, list[tuple[int, ...]]] = {
    2: [(1, 3), (1, 8)],
    3: [(1, 2), (2, 8), (1, 8)],
    4: [(1, 2), (1, 8), (1, 2, 6), (2, 8)],
}
SENSITIVE = 8
WAYS = {"each group by itself": True, "the same cuts everywhere": False}
WORLDS = "possible worlds"


@dataclass(frozen=True)
class Sizes:
    """What is run."""

    records: int = 20_000
    l: int = 5
    attacked: int = 2_000


FAST = Sizes(300, 2, 200)


@dataclass(frozen=True)
class Found:
    """One setting, published in one way."""

    releases: int
    goal: str
    way: str
    lm: float
    work: float
    met: bool = True  # False where even suppressing everything missed the goal
    counted: float | None = None  # the highest share that the older count finds
    above: int | None = None  # people above 1/l for the adversary
    certain: int | None = None


def older(frame: pl.DataFrame, number: int, l: int, goal: str, way: str, attacked: int) -> Found:
    """Publish a setting in an older way, and attack it on a table small enough for exact counts."""
    started = time.process_time()
    series, tables, widths = _series(frame, number, l, goal, way)
    work = time.process_time() - started
    # Each cell of each release counts once; releases of the setting have other numbers of quasi columns.
    cells = [len(table.columns) - (frame.columns[-1] in table.columns) for table in tables]
    lm = float(np.average(widths, weights=cells))
    small = frame.head(attacked)
    read, small_tables, _ = _series(small, number, l, goal, way)
    found = attack(small, small_tables)
    above = int((found["belief"] > 1 / l + 1e-9).sum())
    certain = int((found["belief"] > 1 - 1e-9).sum())
    return Found(number, goal, way, lm, work, series.met, float(read.highest().max()), above, certain)


def _series(
    frame: pl.DataFrame, number: int, l: int, goal: str, way: str
) -> tuple[OlderSeries, list[pl.DataFrame], list[float]]:
    *quasi, sensitive = frame.columns
    values = frame[sensitive].rank("dense").to_numpy().astype(np.int64) - 1
    series = OlderSeries(frame.select(quasi), values, l, goal == "diversity")
    tables, widths = [], []
    for columns in SETTINGS[number]:
        chosen = [a - 1 for a in columns if a != SENSITIVE]
        group = series.publish(chosen, with_values=SENSITIVE in columns, local=WAYS[way])
        table, width = shown(series.quasi, chosen, group)
        tables.append(table.with_columns(frame[sensitive]) if SENSITIVE in columns else table)
        widths.append(width)
    return series, tables, widths


def attack(frame: pl.DataFrame, tables: list[pl.DataFrame]) -> pl.DataFrame:
    """Return what somebody believes who holds all the releases and knows all quasi values and who is in the table.

    A release without values tells them nothing that they do not know.
    """
    *quasi, sensitive = frame.columns
    tables = [table for table in tables if sensitive in table.columns]
    schema = rv.Schema(person="pid", quasi=quasi, sensitive=sensitive)
    rng = np.random.default_rng(0)
    mixed = [table[rng.permutation(table.height)] for table in tables]
    truth = frame.with_row_index("pid")
    found = rv.audit(mixed, schema, truth=[truth] * len(tables), known="presence")
    return found.persons


def worlds(frame: pl.DataFrame, number: int, l: int) -> Found:
    """Publish the releases that have values from possible worlds; the others have every cell as it is in both ways."""
    sets = [tuple(a for a in columns if a != SENSITIVE) for columns in SETTINGS[number] if SENSITIVE in columns]
    lost = published(frame, PossibleWorlds(l), [Step(frame.height, tuple(range(1, 8)), columns) for columns in sets])
    cells = sum(len([a for a in columns if a != SENSITIVE]) for columns in SETTINGS[number])
    lm = sum(one.lm * len(columns) for one, columns in zip(lost, sets, strict=True)) / cells
    return Found(number, "diversity", WORLDS, lm, sum(one.work for one in lost))


def told(found: list[Found], sizes: Sizes, table: str) -> Experiment:
    """Put the source's claims beside what was found."""
    return Experiment(
        name="older_sequential",
        title="Older ways of sequential release",
        source="Shmueli and Tassa 2015, section 6.1; Wang and Fung 2006 and Shmueli et al. 2012 as described there",
        setting=[
            f"{table}: {sizes.records:,} people, l = {sizes.l}; the column sets of section 6.1.",
            "The older algorithms are built from that section's description: a release is cut at medians as long as,",
            "for every person, the cliques of rows that fit them name l values (linkability) or none too often",
            "(diversity), in each group by itself (2012) or with the same cuts for everybody (2006).",
            "Releases without the sensitive column are published as they are in every way.",
            f"Attacks are on the same releases of {sizes.attacked:,} people.",
            "The adversary knows all quasi values and who is in the table.",
        ],
        findings=[_loss(found), _time(found), _privacy(found, sizes)],
        tables=[
            Table(
                "Loss, work, and what the adversary reads off",
                [
                    *("releases", "goal", "way", "goal met", "LM", "CPU s", "highest share counted"),
                    *("people above 1/l", "certain"),
                ],
                [_row(one) for one in found],
            )
        ],
        plot=Plot(
            "Loss over the number of releases",
            [float(number) for number in SETTINGS],
            {
                f"{way}": [short(one.lm) for one in found if (one.way, one.goal) == (way, "diversity")]
                for way in (*WAYS, WORLDS)
            },
            "releases",
            "mean width of a cell",
        ),
    )


def _row(one: Found) -> list[Cell]:
    counted = None if one.counted is None else short(one.counted, 3)
    met = "yes" if one.met else "no"
    return [one.releases, one.goal, one.way, met, short(one.lm), short(one.work, 3), counted, one.above, one.certain]


def _of(found: list[Found], way: str, goal: str = "diversity") -> list[Found]:
    return [one for one in found if (one.way, one.goal) == (way, goal)]


def _loss(found: list[Found]) -> Finding:
    local, everywhere = (_of(found, way, "linkability") for way in WAYS)
    mended = _of(found, WORLDS)
    less = all(a.lm <= c.lm for a, c in zip(local, mended, strict=True))
    more = all(b.lm > c.lm for b, c in zip(everywhere, mended, strict=True))
    return Finding(
        "loss of two, three and four releases (figures 1 to 3)",
        "the algorithm of 2006 loses much more than possible worlds, that of 2012 even less",
        "; ".join(
            f"{a.releases}: {b.lm:.2g} with the same cuts, {a.lm:.2g} group by group, {c.lm:.2g} with worlds"
            for a, b, c in zip(local, everywhere, mended, strict=True)
        ),
        "yes" if less and more else "partly" if less or more else "no",
        "Linkability, as in the figures, asks for l values however rare; possible worlds keep diversity and more.",
    )


def _time(found: list[Found]) -> Finding:
    words, ratios = [], []
    for way in (*WAYS, WORLDS):
        work = [one.work / sum(SENSITIVE in c for c in SETTINGS[one.releases]) for one in _of(found, way)]
        ratios.append(work[-1] / work[0])
        words.append(f"{way}: {', '.join(f'{one:.2f}' for one in work)} s")
    return Finding(
        "time over the number of releases (figures 1 to 3)",
        "exponential in the older algorithms, which list cliques; independent of it in possible worlds",
        f"CPU seconds for a release with values, of two, three and four releases: {'; '.join(words)}",
        "no" if max(ratios[:2]) < 4 else "partly",
        "Cliques need not be listed: a person fits one group of each release, so that cliques are products of counts. "
        "What does not scale is what the count leaves out: which cliques can be true at once.",
    )


def _privacy(found: list[Found], sizes: Sizes) -> Finding:
    older_ones = [one for one in found if one.above is not None]
    linked, diverse = ([one for one in older_ones if one.goal == goal] for goal in ("linkability", "diversity"))
    missed = [one for one in diverse if not one.met]
    return Finding(
        "what the count promises",
        "linkability bounds no belief; counted cliques are not what an adversary computes who counts perfect "
        "matchings, and later releases may have to be suppressed because of the earlier ones",
        f"linkability: {_exposed(linked, sizes)}; diversity: {_exposed(diverse, sizes)}; diversity cannot be met in "
        f"{len(missed)} of {len(diverse)} series, not even with every cell suppressed",
        "yes" if missed and any(one.above for one in linked) else "partly",
        "In a clique a person's value is counted once for each release that has values. So frequent values weigh more "
        "with every release, whatever is published, and the count refuses what tells nothing.",
    )


def _exposed(found: list[Found], sizes: Sizes) -> str:
    return ", ".join(
        f"{one.above:,} of {sizes.attacked:,} people above 1/{sizes.l} and {one.certain:,} certain "
        f"({one.releases} releases, {one.way})"
        for one in found
    )


def run(fast: bool = False) -> Experiment:  # noqa: FBT001, FBT002
    """Run everything, on a small table if ``fast``."""
    sizes = FAST if fast else Sizes()
    census = None if fast else real("census_income_kdd")
    name = "A generated table" if census is None else "UCI Census-Income (KDD), those with an occupation"
    frame = (coded(sizes.records, columns=7) if census is None else census).head(sizes.records)
    frame = frame.with_columns(pl.col(frame.columns[-1]).cast(pl.String))
    if not fast:  # compiled before it is timed
        worlds(frame.head(1_000), 2, 2)
    found = []
    for number in SETTINGS:
        for goal in ("linkability", "diversity"):
            for way in WAYS:
                found.append(older(frame, number, sizes.l, goal, way, sizes.attacked))
                progress(f"{number} releases, {goal}, {way}: {found[-1]}")
        found.append(worlds(frame, number, sizes.l))
        progress(f"{number} releases, {WORLDS}: {found[-1]}")
    return told(found, sizes, name)


if __name__ == "__main__":
    sys.exit(main(run))
