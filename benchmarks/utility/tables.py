"""Four tables that change from release to release: what every comparison of usefulness is made on.

The generated hospital changes by itself. Of a real table 20,000 people are published at a time: from one release to the
next 8 % leave and as many come who were never there, and 5 % of those who stay have another sensitive value, that of
somebody else of the table. A real table that is not at hand is left out with a sentence.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import reveil as rv
from benchmarks.utility.asking import fitted_error, query_error
from reveil.testing import hospital

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.base import Guarantee

PERSONS = 20_000
LEAVE, CHANGE = 0.08, 0.05
MONTHS, TIMES = 12, 8
# The file of each real table, its sensitive column, and the columns that others may know. Of the combinations tried
# before anything was changed, these gave figures nearest to those the goals were stated with (static, signatures and
# query error together): at most about 10 % apart in width.
REAL = {
    "adult": (
        "adult_uci_full",
        "occupation",
        ("age", "sex", "race", "education", "hours-per-week", "marital-status", "workclass", "native-country"),
    ),
    "census": (
        "census_income_kdd",
        "major_industry",
        ("age", "sex", "race", "education", "marital_status", "class_of_worker", "weeks_worked"),
    ),
    "diabetes": (
        "diabetes130",
        "diag_1",
        ("age", "gender", "race", "time_in_hospital", "num_medications", "admission_type_id", "number_diagnoses"),
    ),
}
NOBODY = "Not in universe or children"  # has no industry
NAMES = ("hospital", *REAL)
# The real tables lie beside the repository, or beside a folder around it.
_PLACES = (folder / "shared" / "data" for folder in Path(__file__).resolve().parents)
SHARED = next((place for place in _PLACES if place.is_dir()), Path("shared", "data"))


@dataclass(frozen=True)
class ChangingTable:
    """A table at several times: ``snapshots`` are made when they are asked for, and are the same every time."""

    name: str
    schema: rv.Schema
    releases: int
    persons: int = PERSONS

    def snapshots(self, releases: int | None = None) -> Iterator[pl.DataFrame]:
        """Yield the table at each time."""
        many = self.releases if releases is None else releases
        if self.name == "hospital":
            return hospital.year(self.persons, months=many)
        return changing(pool_of(self.name), self.persons, many)


@dataclass(frozen=True)
class Worth:
    """What one release of a series is like; ``seconds`` are those of all cores, from the frame to the checked file.

    ``widths`` are the ``gcp`` of all releases up to it; ``fitted_error`` is the error of the other estimate of counts.
    """

    release: int
    gcp: float
    counterfeits: float
    query_error: float
    seconds: float
    withheld: float = 0.0
    widths: tuple[float, ...] = ()
    fitted_error: float | None = None


def table_named(name: str) -> ChangingTable | None:
    """Return one of the four tables; None, with a sentence, where it is not at hand."""
    if name == "hospital":
        return ChangingTable(name, hospital.schema(), MONTHS)
    file, sensitive, quasi = REAL[name]
    if not (SHARED / f"{file}.parquet").is_file():
        print(f"{file} is not beside the repository: left out")
        return None
    return ChangingTable(name, rv.Schema(person="pid", quasi=quasi, sensitive=sensitive), TIMES)


def last_of(
    table: ChangingTable, guarantee: Guarantee, method: Grouper | None = None, *, releases: int | None = None
) -> Worth:
    """Publish a table as a series, and measure the last of the releases."""
    many = table.releases if releases is None else releases
    widths: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        series = rv.Series.open(Path(folder) / "vault", table.schema, guarantee, method, seed=0)
        for number, frame in enumerate(table.snapshots(many), 1):
            target = Path(folder) / f"{number}.parquet"
            started = time.process_time()
            series.publish_to(target, frame)
            taken = time.process_time() - started
            release = rv.Release.read(target)
            said = rv.measure(frame, release, table.schema)
            widths.append(float(f"{said['gcp']:.4g}"))
        return Worth(
            many,
            float(said["gcp"]),
            float(said.shares["counterfeits"]),
            query_error(frame, release, table.schema),
            round(taken, 3),
            float(said.shares["withheld"]),
            tuple(widths),
            fitted_error(frame, release, table.schema),
        )


def pool_of(name: str) -> pl.DataFrame:
    """Return the people of a real table in an order drawn once, more than are ever published."""
    file, sensitive, quasi = REAL[name]
    frame = pl.read_parquet(SHARED / f"{file}.parquet", columns=[*quasi, sensitive])
    frame = frame.with_columns(pl.col(sensitive).cast(pl.String).fill_null("unknown"))
    frame = frame.filter(pl.col(sensitive).str.strip_chars() != NOBODY)
    return frame.sample(fraction=1, shuffle=True, seed=1).with_row_index("pid")


def changing(pool: pl.DataFrame, persons: int, releases: int) -> Iterator[pl.DataFrame]:
    rng = np.random.default_rng(0)
    sensitive = pool.columns[-1]
    here, met = np.arange(persons), persons
    values = pool[sensitive]
    for release in range(releases):
        if release:
            stay = here[rng.random(len(here)) >= LEAVE]
            come = min(persons - len(stay), pool.height - met)
            changed = stay[rng.random(len(stay)) < CHANGE]
            values = values.scatter(changed, pool[sensitive].gather(rng.integers(0, pool.height, len(changed))))
            here = np.concatenate([stay, np.arange(met, met + come)])
            met += come
        yield pool.with_columns(values.alias(sensitive))[here]
