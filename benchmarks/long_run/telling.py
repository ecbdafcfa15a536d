"""Writes what long runs came to, as ``docs/evidence/long_run.*``: ``python -m benchmarks.long_run.telling FOLDER...``.

The folders are those of runs (``--folder``). Of a plan that ran in several sizes each is told.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.long_run import stores
from benchmarks.long_run.plans import PLANS
from benchmarks.long_run.running import FOUND, Found
from benchmarks.papers.common import EVIDENCE, Cell, table
from reveil.reporting import charts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NAME = "long_run"
LONG = 12  # months from which on a series is drawn
ENDS = 2  # the exit code of verify --series where it cannot go on
SHOWN = (1, 6, 12, 13, 18, 24)  # months in the table of figures
PLOTS = {
    "rows": ("Rows of a release, of the people asked for", "share"),
    "width": ("Mean width of a cell (gcp)", "width"),
    "counterfeits": ("Counterfeits, of the people asked for", "share"),
    "withheld": ("Withheld, of the people asked for", "share"),
    "cpu": ("Processor seconds of a release, for 10,000 people asked for", "seconds"),
}
HEAD = """# A long run

Two years of the made-up hospital, month by month, through the command line: a tenth of the people leave every month
and as many come, three in ten of these for another time; a twentieth of the others get another diagnosis. Every third
month two people are erased (`forget`, with a tombstone and without in turns, where the guarantee allows both; whoever
left a tombstone comes back four months later). In the middle a clinic joins whose people another tool published
before: `adopt`. What a guarantee does not cover does not happen in its tables: under m-invariance nobody returns or
changes, and the adoption must be refused; under worlds nobody leaves, nothing changes, and each month another
recipient gets other columns; under refinement every other month is about a part of the people.

Every series runs undisturbed (*calm*), and again in vaults of other kinds with the same key and seed, where each
month one of three things happens: the publisher is killed (SIGKILL) at one of five steps from *before prepare* to
*after confirm*; or at any moment, as is `forget`, and sometimes whoever finishes the work as well; or two publishers
start at once. Then the same command must end with exit code 0, and every table must have the bytes of the calm
series. After each kill `history --check` must find nothing. Every few months the vault is checked, the whole series
judged again (`verify --series`, with the last three snapshots), the last release verified, and all files attacked
(`audit` with the snapshots, at the level of knowledge that the guarantee is against). `verify --series` ends at a
release from elsewhere, and under refinement once somebody was erased, because nobody can say then which row is whose;
it says so with exit code 2. What the other tool told is not covered by any promise: *added* counts whom all files
together tell on beyond the bound and beyond that one file. A *problem* is anything that is not as it must be.

Found by a run and mended: `verify --series` called a series broken in which somebody left a tombstone and came back
with another value, though the vault's books were right. That series, *several columns*, was judged again to its end.

`python -m benchmarks.long_run --persons 100000` does all of this for all guarantees and vaults, and `python -m
benchmarks.long_run.telling FOLDER` writes this page. Which of it was done in which size is below.
"""


def read(folders: Iterable[Path]) -> list[Found]:
    """Return all series that ran in some folders, calm ones first."""
    found = [Found.of(path.parent) for folder in folders for path in sorted(folder.rglob(FOUND))]
    known = [one for one in found if one is not None]
    return sorted(known, key=lambda one: (-one.persons, one.plan, stores.STORES.index(one.store)))


def page(found: Sequence[Found]) -> str:
    """Return the page about them."""
    parts = [HEAD, "## What happened", happened(found), missing(found)]
    parts += ["## What held", held(found), "## Over the releases", "Whoever is withheld counts with the width 1."]
    for persons in drawn_sizes(found):
        for key, (title, _) in PLOTS.items():
            parts += [f"![{title}, {persons:,} people]({picture(key, persons)})"]
    parts += [figures(found)]
    return "\n\n".join(parts) + "\n"


def picture(key: str, persons: int) -> str:
    """Return the name of a picture."""
    return f"{NAME}_{key}_{persons}.svg"


def drawn_sizes(found: Sequence[Found]) -> list[int]:
    """Return the sizes, largest first, of calm series that are long enough to be drawn; all if none is."""
    calm = [one for one in found if one.store == stores.CALM]
    long = {one.persons for one in calm if len(one.releases) >= LONG} or {one.persons for one in calm}
    return sorted(long, reverse=True)


def missing(found: Sequence[Found]) -> str:
    """Say which guarantees did not run to the end in any size, and which were not disturbed."""
    calm = {one.plan for one in found if one.store == stores.CALM and len(one.releases) >= LONG}
    disturbed = {one.plan for one in found if one.store != stores.CALM and one.ended}
    said = []
    for what, names in (
        (f"{LONG} or more releases were not made under", PLANS.keys() - calm),
        ("No disturbed series came to its end under", PLANS.keys() - disturbed),
    ):
        said += [f"{what}: {', '.join(sorted(names))}."] if names else []
    return " ".join(said) if said else "All guarantees ran to the end, calm and disturbed."


def name_of(one: Found) -> str:
    """Return a guarantee by its name, with the effort where it is not the default."""
    return f"{one.plan}, {one.effort}" if one.effort else one.plan


def happened(found: Sequence[Found]) -> str:
    """Return a table of what was done to each series."""
    rows: list[list[Cell]] = []
    for one in found:
        kills = {what.removeprefix("killed "): many for what, many in one.done.items() if what.startswith("killed")}
        rows.append(
            [
                name_of(one),
                one.persons,
                one.store,
                len(one.releases),
                one.erased,
                "yes" if one.done.get("adopted") else "no",
                sum(kills.values()),
                ", ".join(f"{what} {many}" for what, many in sorted(kills.items())),
                one.done.get("two at once", 0),
                one.done.get("refused as the second", 0),
                len(one.problems),
            ]
        )
    head = ["guarantee", "people", "vault", "releases", "erased", "adopted", "kills", "when", "two at once"]
    return table([*head, "of them refused", "problems"], rows)


def held(found: Sequence[Found]) -> str:
    """Return a table of checks and audits."""
    rows: list[list[Cell]] = []
    for one in found:
        own = [row for row in one.audits if not row["adopted"]]
        added = [row["added"] for row in one.audits if row["adopted"] and row.get("added") is not None]
        ends = sum(row["code"] == ENDS for row in one.checks)
        line: list[Cell] = [name_of(one), one.persons, one.store, len(one.checks), ends]
        line += [sum(row["code"] not in (0, ENDS) for row in one.checks), len(own)]
        if own:
            line += [own[-1]["known"], own[-1]["bound"], max(row["highest_proven"] or 0 for row in own)]
            line += [max(row["certain"] or 0 for row in own), "yes" if all(row["held"] for row in own) else "no"]
        else:
            line += [None] * 5
        rows.append([*line, max(added) if added else None])
    head = ["guarantee", "people", "vault", "checks", "of them to the adoption or erasure only", "broken", "audits"]
    head += ["known", "bound", "highest belief proven", "values read off", "held", "added"]
    return table(head, rows)


def figures(found: Sequence[Found]) -> str:
    """Return a table of some releases of each calm series."""
    rows: list[list[Cell]] = [
        [
            name_of(one),
            one.persons,
            *(row[key] for key in ("month", "asked", "rows", "groups")),
            short(row["width"]),
            *(row[key] for key in ("counterfeits", "withheld", "dirty", "cpu", "peak")),
        ]
        for one in found
        if one.store == stores.CALM
        for row in one.releases
        if row["month"] in {*SHOWN, len(one.releases)}
    ]
    head = ["guarantee", "people", "month", "asked for", "rows", "groups", "width", "counterfeits", "withheld", "dirty"]
    return table([*head, "CPU s", "peak MiB"], rows)


def short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.3g}")


def plots(found: Sequence[Found]) -> dict[str, str]:
    """Return the pictures of the calm series, one for each figure and size."""
    drawn = {}
    for persons in drawn_sizes(found):
        calm = [one for one in found if one.store == stores.CALM and one.persons == persons]
        months = list(range(1, max(len(one.releases) for one in calm) + 1))
        for key, (title, label) in PLOTS.items():
            lines = {name_of(one): [value(one.releases, month, key) for month in months] for one in calm}
            chart = charts.lines(
                f"{title}, {persons:,} people", [float(m) for m in months], lines, x_label="month", y_label=label
            )
            drawn[picture(key, persons)] = charts.svg(chart, file=True) + "\n"
    return drawn


def value(releases: Sequence[dict[str, Any]], month: int, key: str) -> float | None:
    """Return a figure of a month as it is drawn."""
    row = releases[month - 1] if month <= len(releases) else None
    if row is None or row.get(key) is None:
        return None
    if key == "width":
        return float(row[key])
    return float(row[key] / row["asked"] * (10_000 if key == "cpu" else 1))


def write(found: Sequence[Found], folder: Path = EVIDENCE) -> list[Path]:
    """Store the results, the page and the pictures."""
    drawn = plots(found)
    if drawn:
        drawn[f"{NAME}.svg"] = drawn[picture("width", drawn_sizes(found)[0])]
    told = [
        {key: what for key, what in vars(one).items() if key != "checks"}
        | {"checks": [{k: v for k, v in row.items() if k != "said"} for row in one.checks]}
        for one in found
    ]
    texts = {f"{NAME}.json": json.dumps(told, indent=1) + "\n", f"{NAME}.md": page(found), **drawn}
    for old in folder.glob(f"{NAME}_*.svg"):
        old.unlink()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=sys.modules[__name__].__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=EVIDENCE)
    asked = parser.parse_args(argv)
    print(*(path.name for path in write(read(asked.folders), asked.out)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
