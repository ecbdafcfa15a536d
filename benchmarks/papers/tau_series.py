"""The series of the thesis of Anjum (2013), section 4.6: its table, how it changes, and what a release is like."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

import reveil as rv
from benchmarks.floor import best_of
from benchmarks.papers.common import SHARED, progress
from benchmarks.refinement import incomes

if TYPE_CHECKING:
    from collections.abc import Iterator

Line = dict[str, float]
WEIGHTS, GAINS = 127, 4  # steps of the source's fnlwgt, and of the gains above none
OLDEST = 120
METHODS = ("m-invariance", "tau-safety as in the source", "tau-safety")


def guarantee_of(method: str, m: int, domain: tuple[str, ...]) -> rv.MInvariance | rv.TauSafety:
    """Return the guarantee that a method stands for."""
    if method == METHODS[0]:
        return rv.MInvariance(m=m)
    return rv.TauSafety(m=m, strict=method == METHODS[2], domain=domain)


@dataclass(frozen=True)
class Course:
    """How a table changes: people at the start, leaving, coming, and updated (of whom some come back) each time."""

    start: int = 60_000
    leave: int = 3_000
    come: int = 5_000
    update: int = 5_000
    back: int = 1_000
    releases: int = 20

    @property
    def people(self) -> int:
        """How many people there ever are."""
        return self.start + self.come * (self.releases - 1)


@dataclass(frozen=True)
class Sizes:
    """What is run: the course, m where other things vary, all the m and update rates, and where they are compared."""

    course: Course
    m: int
    ms: tuple[int, ...]
    rates: tuple[int, ...]
    selectivities: tuple[float, ...]
    compared: int  # the release at which m and update rates are compared
    measured: tuple[int, ...]
    queries: int


FULL = Sizes(
    Course(), 6, (2, 4, 6, 8, 10), (1_000, 3_000, 5_000, 7_000, 9_000), (0.01, 0.02, 0.05, 0.1, 0.2), 10,
    (1, 2, 4, 7, 10, 13, 16, 20), 1_000,
)  # fmt: skip
FAST = Sizes(Course(1_200, 60, 100, 100, 20, 3), 3, (3,), (100,), (0.05,), 2, (2, 3), 50)


def people(number: int) -> tuple[pl.DataFrame, str]:
    """Return so many people with the source's columns (age, capital gain, weight and occupation), and what they are."""
    path = SHARED / "census_income_kdd.parquet"
    if not path.is_file():
        frame = incomes(number).drop("sex", "pid")
        return frame, "The real tables are not at hand: a generated one stands in, with incomes in 50 steps."
    table = pl.read_parquet(path, columns=["age", "capital_gains", "instance_weight", "occupation_code"])
    table = table.filter(pl.col("occupation_code") != 0)
    gain = pl.col("capital_gains")
    positive = table.filter(gain > 0).select(gain).to_series()
    edges = [0.0, *(float(positive.quantile(i / GAINS) or 0) for i in range(1, GAINS))]
    table = table.select(
        "age",
        pl.lit(np.digitize(table["capital_gains"].to_numpy(), edges, right=True)).alias("capital-gain"),
        (pl.col("instance_weight").rank("ordinal") * WEIGHTS // (pl.len() + 1)).cast(pl.Int64).alias("weight"),
        pl.col("occupation_code").alias("occupation"),
    ).sample(fraction=1, shuffle=True, seed=1)
    twice = max(number - table.height, 0)
    words = f"UCI Census-Income (KDD), the {table.height:,} people with an occupation"
    words += f", {twice:,} of them twice as different people" if twice else ""
    frame = pl.concat([table, table.head(twice)]).head(number)
    return frame, f"{words}; quasi {', '.join(table.columns[:-1])}; {table['occupation'].n_unique()} occupations."


def snapshots(table: pl.DataFrame, course: Course, seed: int = 0) -> Iterator[pl.DataFrame]:
    """Yield the table at each time.

    Each updated person is a year older; each other column stays, or is drawn anew from its domain, with even chance.
    """
    rng = np.random.default_rng(seed)
    columns = {name: table[name].to_numpy().copy() for name in table.columns}
    domains = {name: np.unique(values) for name, values in columns.items() if name != "age"}
    here, gone, met = np.arange(course.start), np.zeros(0, np.intp), course.start
    for release in range(course.releases):
        if release:
            mixed = rng.permutation(here)
            stay, left = mixed[course.leave :], mixed[: course.leave]
            pool = rng.permutation(gone)  # of those who left before: whoever leaves now is not back at once
            back = pool[: course.back]
            gone = np.concatenate([pool[course.back :], left])
            updated = np.concatenate([back, stay[: course.update - len(back)]])
            columns["age"][updated] = np.minimum(columns["age"][updated] + 1, OLDEST)
            for name, domain in domains.items():
                drawn = updated[rng.random(len(updated)) < 0.5]
                columns[name][drawn] = rng.choice(domain, len(drawn))
            here = np.concatenate([stay, back, np.arange(met, met + course.come)])
            met += course.come
        order = np.sort(here)
        yield pl.DataFrame({"pid": order, **{name: values[order] for name, values in columns.items()}})


class Signatures:
    """What somebody who follows people sees: each person's last signature, and the values that are left for them.

    A signature is a set of bits. ``left`` is, of somebody known to have kept their value, the intersection of all
    signatures since it was last changed: a set of fewer than m values is a belief above 1/m, whatever else is known.
    """

    def __init__(self, number: int, domain: list[str]) -> None:
        self.bit = {value: np.int64(1) << place for place, value in enumerate(domain)}
        self.last = np.zeros(number, np.int64)
        self.left = np.zeros(number, np.int64)
        self.value = np.full(number, -1, np.int64)

    def see(self, series: rv.Series, number: int, frame: pl.DataFrame, release: rv.Release, m: int) -> Line:
        """Take a release in; return how many signatures changed, overlap the one before, or leave fewer than m."""
        groups, values = release.group_values()
        bits = values.to_series(0).cast(pl.String).replace_strict(self.bit, return_dtype=pl.Int64)
        # All values of a group are different, so that a sum of bits is their union.
        union = pl.DataFrame({"group": groups, "bits": bits}).select(pl.col("bits").sum().over("group")).to_series()
        place = series.placements(number, frame)
        who, own = place["person"].to_numpy(), union.to_numpy()[place["row"].to_numpy()]
        now = np.zeros(len(self.value), np.int64)
        now[frame["pid"].to_numpy()] = frame.to_series(frame.width - 1).to_numpy()
        before, kept = self.last[who], self.value[who] == now[who]
        met = before != 0
        changed = met & (before != own)
        overlap = changed & ((before & own) != 0)
        left = np.where(kept, self.left[who] & own, own)
        few = _many(left) < m
        self.last[who], self.left[who], self.value[who] = own, left, now[who]
        return {"moved": int(changed.sum()), "overlap": int(overlap.sum()), "few": int(few.sum())}


def _many(bits: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return how many bits are set."""
    found: npt.NDArray[np.int64] = np.unpackbits(bits.view(np.uint8)).reshape(len(bits), -1).sum(axis=1, dtype=np.int64)
    return found


def publish(table: pl.DataFrame, sizes: Sizes, course: Course, method: str, m: int, measured: set[int]) -> list[Line]:
    """Publish a series; return a line for each release, with the measures where they are asked for."""
    *quasi, sensitive = table.columns
    domain = [str(value) for value in table[sensitive].unique().sort()]
    schema = rv.Schema(person="pid", quasi=quasi, sensitive=sensitive)
    lines: list[Line] = []
    seen = Signatures(course.people, domain)
    with tempfile.TemporaryDirectory() as folder:
        guarantee = guarantee_of(method, m, tuple(domain))
        series = rv.Series.open(Path(folder) / "vault", schema, guarantee, seed=0)
        for number, frame in enumerate(snapshots(table, course), start=1):
            started = time.perf_counter()
            release = series.publish_to(Path(folder) / f"{number}.csv", frame).release
            taken = time.perf_counter() - started
            floor = best_of(partial(frame.sort, quasi), 3)
            line: Line = {"release": number, "floors": taken / floor, "seconds": taken, "records": frame.height}
            line["counterfeits"] = release.manifest.counterfeits.total
            line["fewest"] = series.history()[-1]["fewest_counterfeits"]
            line["withheld"] = release.manifest.withheld or 0
            line |= seen.see(series, number, frame, release, m)
            if number in measured:
                line |= measures(frame, release, schema, sizes, selective=number == sizes.course.releases)
            lines.append(line)
    progress(f"{method}, m = {m}, {course.update:,} updates:", f"{sum(one['seconds'] for one in lines):.0f} s")
    return lines


def measures(frame: pl.DataFrame, release: rv.Release, schema: rv.Schema, sizes: Sizes, *, selective: bool) -> Line:
    """Return loss and query error, the latter at all selectivities where asked for."""
    found: Any = rv.measure(frame, release, schema, queries=sizes.queries, seed=1)
    error = found["query_error"]
    line: Line = {"cp": found["gcp"], "dcp": found["dcp"], "kl": found["kl"]}
    line |= {"error": error["mean"], "median": error["median"]}
    for share in sizes.selectivities if selective else ():
        own: Any = rv.measure(frame, release, schema, queries=sizes.queries, seed=1, selectivity=share)
        line[f"error at {share}"] = own["query_error"]["mean"]
    return line
