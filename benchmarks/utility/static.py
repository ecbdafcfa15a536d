"""One release of each table: what effort makes of cells under k = 10 and under at most one in four alike.

``python -m benchmarks.utility.static`` prints mean widths, groups and processor time of all threads, beside the goals,
and writes them to ``docs/evidence``.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import polars as pl

import reveil as rv
from benchmarks.papers.common import Cell, Experiment, Table, finish, short
from benchmarks.utility.tables import NAMES, SHARED, table_named
from reveil.core.effort import Effort
from reveil.core.errors import InfeasibleError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveil.models.base import Model

EFFORTS = ("quick", "normal", "thorough")
K, SHARE = rv.KAnonymity(10), rv.FrequencyDiversity(4)
HEAD = [
    "model", "table", "width, quick", "width, normal", "width, thorough", "goal",
    "groups, quick", "groups, normal", "groups, thorough", "CPU s, quick", "CPU s, normal", "CPU s, thorough",
]  # fmt: skip
GOALS_K = {"adult_arx": 0.044, "adult_arx, hierarchies": 0.070, "hospital": 0.14, "census": 0.05}
GOALS_SHARE = {"hospital": 0.11, "adult": 0.05, "census": 0.04, "diabetes": 0.05}


def tables() -> Iterator[tuple[str, pl.DataFrame, rv.Schema]]:
    """Yield each table with its schema; those that are not at hand are left out with a sentence."""
    place = SHARED / "adult_arx.parquet"
    if place.is_file():
        frame = pl.read_parquet(place)
        quasi = [name for name in frame.columns if name != "salary-class"]
        files = {name: SHARED / "adult_hierarchies" / f"adult_hierarchy_{name}.csv" for name in quasi}
        yield "adult_arx", frame, rv.Schema(quasi=quasi, sensitive="salary-class")
        yield "adult_arx, hierarchies", frame, rv.Schema(quasi=quasi, sensitive="salary-class", hierarchies=files)
    for name in NAMES:
        table = table_named(name)
        if table is not None:
            yield name, next(iter(table.snapshots(1))), table.schema


def measured(name: str, frame: pl.DataFrame, schema: rv.Schema, model: Model) -> list[Cell]:
    """Publish with every effort; return widths, groups and processor time of each, nothing where the table cannot."""
    widths: list[Cell] = []
    groups: list[Cell] = []
    taken: list[Cell] = []
    for effort in EFFORTS:
        method = rv.Mondrian(effort=Effort(effort))
        try:
            rv.anonymize(frame.head(2_000), schema, model, method, seed=1)  # compiled before it is timed
            started = time.process_time()
            release = rv.anonymize(frame, schema, model, method, seed=1)
        except InfeasibleError:
            print(f"{name}: the table itself does not satisfy the model", file=sys.stderr)
            return list[Cell]([None]) * 3 * len(EFFORTS)
        taken.append(short(time.process_time() - started, 2))
        widths.append(short(rv.measure(frame, release, schema)["gcp"], 3))
        groups.append(release.manifest.groups)
    return [*widths, *groups, *taken]


def rows() -> list[list[Cell]]:
    """Return a line for each model and table."""
    found: list[list[Cell]] = []
    known = list(tables())
    for title, model, goals in (("k = 10", K, GOALS_K), ("at most one in four alike", SHARE, GOALS_SHARE)):
        for name, frame, schema in known:
            if model is K or name in goals:
                cells = measured(name, frame, schema, model)
                found.append([title, name, *cells[:3], goals.get(name), *cells[3:]])
                print(" | ".join(str(cell) for cell in found[-1]), flush=True)
    return found


def experiment() -> Experiment:
    """Return one release of each table as a chapter of the evidence."""
    return Experiment(
        "utility_static",
        "What one release is worth, by effort",
        "our own question; the goals are those we set ourselves",
        [
            "The first release of each table (20,000 people), and ARX's Adult (30,162 people, 8 quasi columns) without",
            "and with its hierarchies. Mean width of a cell (gcp), number of groups, processor seconds of all threads.",
            "Quick is the way that there was before efforts; normal is the default, and the one the goals are for.",
        ],
        [],
        [Table("Widths, groups and work of one release", HEAD, rows())],
        None,
        ["`python -m benchmarks.utility.static` measures and writes it."],
    )


if __name__ == "__main__":
    finish(experiment(), fast=False)
