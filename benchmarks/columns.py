"""Several sensitive columns of a real hospital table as a series: ``python -m benchmarks.columns [--persons N]``.

``diabetes130`` (one record for each of N patients, by default 20,000) as eight releases: from one to the next 8 % leave
and as many come, and in every sensitive column 5 % of those who stay have another value. Published are the columns that
can be: diagnoses, the specialty, and numbers in bins. Printed, column by column: counterfeits for each record and
the error of counts in the last release. Of the other columns it is printed why they are refused. In the end the cost:
processor seconds of all columns in one series over those of each column by itself.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import reveil as rv
from benchmarks.utility.tables import CHANGE, LEAVE, SHARED

if TYPE_CHECKING:
    from collections.abc import Iterator

QUASI = ("age", "gender", "race", "admission_type_id", "number_diagnoses")
ABLE = {"diag_1": 4, "diag_2": 4, "diag_3": 4, "medical_specialty": 2}
BINS = {
    "time_in_hospital": (2, [2, 3, 4, 5, 6, 7, 8, 10]),
    "num_lab_procedures": (4, [10, 20, 30, 35, 40, 45, 50, 55, 60, 65, 70, 80]),
    "num_medications": (4, [6, 8, 10, 12, 14, 16, 18, 20, 23, 27, 32]),
}
OTHERS = ("A1Cresult", "max_glu_serum", "insulin", "metformin", "change", "diabetesMed", "readmitted", "num_procedures")
RELEASES = 8
QUERIES = 400


def people() -> pl.DataFrame:
    """Return one record for each patient, in an order drawn once."""
    frame = pl.read_parquet(SHARED / "diabetes130.parquet").unique("patient_nbr", keep="first", maintain_order=True)
    return frame.with_columns(pl.col(pl.String).fill_null("unknown")).sample(fraction=1, shuffle=True, seed=1)


def snapshots(pool: pl.DataFrame, names: list[str], persons: int, releases: int) -> Iterator[pl.DataFrame]:
    """Yield the table at each time: people leave and come, and values of every column change by themselves."""
    rng = np.random.default_rng(0)
    here, met = np.arange(persons), persons
    values = {name: pool[name] for name in names}
    for release in range(releases):
        if release:
            stay = here[rng.random(len(here)) >= LEAVE]
            come = min(persons - len(stay), pool.height - met)
            for name in names:
                changed = stay[rng.random(len(stay)) < CHANGE]
                drawn = pool[name].gather(rng.integers(0, pool.height, len(changed)))
                values[name] = values[name].scatter(changed, drawn)
            here = np.concatenate([stay, np.arange(met, met + come)])
            met += come
        yield pool.with_columns(own.alias(name) for name, own in values.items())[here]


def series_of(folder: Path, names: list[str]) -> tuple[rv.Series, rv.Schema]:
    """Open a series of some of the columns."""
    bins = {name: edges for name, (_, edges) in BINS.items() if name in names}
    schema = rv.Schema(person="patient_nbr", quasi=QUASI, sensitive=names, bins=bins)
    m = {name: ABLE[name] if name in ABLE else BINS[name][0] for name in names}
    return rv.Series.open(folder / "-".join(names), schema, rv.TauSafety(m=m, angelize=True), seed=0), schema


def published(
    pool: pl.DataFrame, names: list[str], persons: int, releases: int
) -> tuple[rv.Release, pl.DataFrame, rv.Schema, list[float]]:
    """Publish a series; return the last release, its snapshot, the schema and processor seconds of each release."""
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        series, schema = series_of(Path(folder), names)
        used = ["patient_nbr", *QUASI, *names]
        for frame in snapshots(pool, names, persons, releases):
            started = time.process_time()
            release = series.publish(frame.select(used))
            seconds.append(time.process_time() - started)
    return release, frame.select(used), schema, seconds


def refusals(pool: pl.DataFrame, persons: int) -> Iterator[tuple[str, str]]:
    """Yield why each of the other columns is refused beside a diagnosis."""
    for name in OTHERS:
        schema = rv.Schema(person="patient_nbr", quasi=QUASI, sensitive=["diag_1", name], types={name: "text"})
        with tempfile.TemporaryDirectory() as folder:
            series = rv.Series.open(Path(folder) / "vault", schema, rv.TauSafety(m=2, angelize=True), seed=0)
            try:
                series.publish(pool.select("patient_nbr", *QUASI, "diag_1", name).head(persons), dry_run=True)
            except rv.RefusedError as error:
                yield name, error.message
            else:
                yield name, "published"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--persons", type=int, default=20_000)
    persons = parser.parse_args().persons
    pool, names = people(), [*ABLE, *BINS]
    release, frame, schema, seconds = published(pool, names, persons, RELEASES)
    told = release.manifest.counterfeits.per_group
    errors = rv.measure(frame, release, schema, queries=QUERIES)["query_error_sensitive"]["columns"]
    print("| column | m | counterfeits for each record | error of counts, mean | median |")
    print("|---|---|---|---|---|")
    for second in release.seconds:
        own = sum(told.get(str(number), 0) for number in np.unique(second.groups).tolist())
        error, m = errors[second.name], {**ABLE, **{name: own for name, (own, _) in BINS.items()}}[second.name]
        share = own / frame.height
        print(f"| {second.name} | {m} | {share:.3f} | {error['mean']:.3f} | {error['median']:.3f} |")
    print("\n| column beside diag_1, m = 2 | |\n|---|---|")
    for name, why in refusals(pool, persons):
        print(f"| {name} | {why} |")
    alone = [published(pool, [name], persons, 3)[3][-1] for name in names]
    together = published(pool, names, persons, 3)[3][-1]
    print(f"\nthird release, processor seconds: {len(names)} columns {together:.1f}, alone {sum(alone):.1f} in all")
    print(f"ratio {together / sum(alone):.2f}; all eight releases: {', '.join(f'{own:.1f}' for own in seconds)}")


if __name__ == "__main__":
    main()
