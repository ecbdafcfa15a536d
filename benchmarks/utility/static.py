"""One release of each table: what effort makes of cells under k = 10 and under at most one in four alike.

``python -m benchmarks.utility.static`` prints mean widths, groups and processor time of all threads, beside the goals.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import polars as pl

import reveil as rv
from benchmarks.utility.tables import NAMES, SHARED, table_named
from reveil.core.effort import Effort
from reveil.core.errors import InfeasibleError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveil.models.base import Model

EFFORTS = ("quick", "normal", "thorough")
K, SHARE = rv.KAnonymity(10), rv.FrequencyDiversity(4)
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


def line(name: str, frame: pl.DataFrame, schema: rv.Schema, model: Model, goal: float | None) -> str:
    """Publish with every effort; return one line of a Markdown table."""
    cells = []
    for effort in EFFORTS:
        method = rv.Mondrian(effort=Effort(effort))
        try:
            rv.anonymize(frame.head(2_000), schema, model, method, seed=1)  # compiled before it is timed
            started = time.process_time()
            release = rv.anonymize(frame, schema, model, method, seed=1)
        except InfeasibleError:
            return f"| {name} | the table itself does not satisfy the model | | | |"
        taken = time.process_time() - started
        cells.append(f"{rv.measure(frame, release, schema)['gcp']:.4f} ({release.manifest.groups:,}, {taken:.2f} s)")
    return f"| {name} | {' | '.join(cells)} | {'' if goal is None else goal} |"


def run() -> bool:
    found = list(tables())
    for title, model, goals in (("k = 10", K, GOALS_K), ("at most one in four alike", SHARE, GOALS_SHARE)):
        print(f"### {title}\n\n| table | {' | '.join(EFFORTS)} | goal |\n|:---|---:|---:|---:|---:|")
        for name, frame, schema in found:
            if model is K or name in goals:
                print(line(name, frame, schema, model, goals.get(name)), flush=True)
        print()
    return True


if __name__ == "__main__":
    sys.exit(0 if run() else 1)
