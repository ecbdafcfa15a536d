"""Possible worlds: ten releases of other columns, in floors; what they lose, beside the projected alternative.

A floor is polars reading, sorting and writing the same table. A release is everything from the frame to the confirmed
file. The column sets are those of the source, section 6.2. ``--full`` has its sizes; without it a smaller table.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import reveil as rv
from benchmarks.floor import best_of, coded, show
from reveil.core.errors import InfeasibleError
from reveil.guarantees.worlds.possible_worlds import PossibleWorlds

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
SETS = [(2, 6, 7), (4, 5, 6, 7), (3, 5), (1,), (1, 2, 6, 7), (1, 2, 3, 4), (2, 3, 5), (2, 5, 6), (4,), (2, 3)]
# The sensitive column of each real table, and seven columns that others may know.
TABLES: dict[str, tuple[str, list[str]]] = {
    "census_income_kdd": (
        "occupation_code",
        ["age", "sex", "education", "marital_status", "race", "class_of_worker", "country_self"],
    ),
    "adult_uci_full": (
        "occupation",
        ["age", "sex", "education", "marital-status", "race", "workclass", "native-country"],
    ),
    "diabetes130": (
        "diag_1",
        ["age", "gender", "race", "admission_type_id", "time_in_hospital", "payer_code", "discharge_disposition_id"],
    ),
}


def real(name: str) -> pl.DataFrame | None:
    """Return a real table in random order, its sensitive column last; None where it is not at hand."""
    path = SHARED / f"{name}.parquet"
    if not path.is_file():
        return None
    sensitive, quasi = TABLES[name]
    frame = pl.read_parquet(path, columns=[*quasi, sensitive])
    if name == "census_income_kdd":
        frame = frame.filter(pl.col(sensitive) != 0)  # those who have an occupation, as in the source
    return frame.sample(fraction=1, shuffle=True, seed=1)


def floor(frame: pl.DataFrame) -> float:
    """Return the time to read, sort and write a table."""
    with tempfile.TemporaryDirectory() as folder:
        path, other = Path(folder) / "in.csv", Path(folder) / "out.csv"
        frame.write_csv(path)
        return best_of(lambda: pl.read_csv(path).sort(frame.columns[:-1]).write_csv(other))


def releases(frame: pl.DataFrame, guarantee: PossibleWorlds, many: int = len(SETS)) -> list[tuple[float, float]]:
    """Publish the column sets one after the other; return the time of each release, and what it loses (GCP)."""
    *quasi, sensitive = frame.columns
    schema = rv.Schema(person="pid", quasi=quasi, sensitive=sensitive)
    people = frame.with_row_index("pid")
    found: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        series = rv.Series.open(Path(folder) / "vault", schema, guarantee, seed=0)
        for own in SETS[:many]:
            columns = [*(quasi[a - 1] for a in own), sensitive]
            started = time.perf_counter()
            release = series.publish_to(Path(folder) / f"{len(found)}.csv", people, columns).release
            taken = time.perf_counter() - started
            part = rv.Schema(person="pid", quasi=columns[:-1], sensitive=sensitive)
            measured: Any = rv.measure(people.select("pid", *columns), release, part)
            found.append((taken, float(measured["gcp"])))
    return found


def losses(name: str, frame: pl.DataFrame, l: int, **options: Any) -> None:
    """Print what each release loses, matched and projected."""
    for project in (False, True):
        label = f"{name}, {frame.height:,}, l = {l}, " + (
            ", ".join(f"{k} = {v}" for k, v in options.items()) or "default"
        )
        try:
            found = [loss for _, loss in releases(frame, PossibleWorlds(l, project=project, **options))]
        except InfeasibleError as error:
            print(f"    {label}: refused; {(error.hint or '').split('. ')[0]}")
            return
        line = " ".join(f"{loss:.3f}" for loss in found)
        print(
            f"    {label:<60} {'projected' if project else 'matched':<9} {line}  mean {np.mean(found):.3f}", flush=True
        )


def run(*, full: bool = False) -> bool:
    n = 100_000 if full else 20_000
    census = real("census_income_kdd")
    frame = coded(n, columns=7) if census is None or census.height < n else census.head(n)
    releases(frame.head(1_000), PossibleWorlds(5), 2)  # compiled before it is timed
    one = floor(frame)
    print(f"worlds (floor {one:.3f} s: polars reads, sorts and writes {n:,} x 8)")
    matched = releases(frame, PossibleWorlds(5))
    projected = releases(frame, PossibleWorlds(5, project=True))
    good = show(f"{n:,} records, l = 5, p = 100: the slowest of ten releases", max(t for t, _ in matched) / one, 300)
    again = releases(frame, PossibleWorlds(5), 1)[0][0]
    print(f"    times {' '.join(f'{t / one:.0f}' for t, _ in matched)} floors; the first again {again / one:.0f}")
    worst = max(own / other for (_, own), (_, other) in zip(matched, projected, strict=True))
    good &= show("loss of a release against the projected one, at most", worst, 1, "times")
    if full:
        small, large = coded(100_000, columns=7), coded(400_000, columns=7)
        few, many = (releases(own, PossibleWorlds(5), 3) for own in (small, large))
        ratio = sum(t for t, _ in many) / sum(t for t, _ in few)
        good &= show("400,000 against 100,000 records (three releases)", ratio, 5, "times")
    print("  loss per release")
    sizes = (25_000, 50_000, n) if full else (n,)
    for l in (2, 3, 5, 8) if full else (3,):
        losses("census", frame, l)
    for size in sizes[:-1]:
        losses("census", frame.head(size), 5)
    for name in TABLES:
        table = real(name)
        if table is not None:
            for l in (3, 5) if full else (3,):
                for options in ({}, {"blind": True}, {"placement": "greedy"}):
                    losses(name.split("_")[0], table.head(min(n, 40_000)), l, **options)
    return good


if __name__ == "__main__":
    sys.exit(0 if run(full="--full" in sys.argv) else 1)
