"""A series under tau-safety: one release in floors, the tenth against the second, memory, and what blindness costs.

Each month a tenth of the persons leave and as many come, and one in a hundred of those who stay has another value. A
release is everything from the frame to the confirmed file: diff, grouping, writing, verification, vault.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import reveil as rv
from benchmarks.floor import coded, floor, in_fresh_process, peak_above, quasi_of, show

if TYPE_CHECKING:
    from collections.abc import Iterator

PERSONS = 200_000
RELEASES = 10
M = 4
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
# The sensitive column of each real table, and the columns that others may know.
TABLES = {
    "adult_uci_full": ("occupation", ["age", "sex", "race", "education", "hours-per-week"]),
    "census_income_kdd": ("household_stat", ["age", "sex", "race", "education", "marital_status"]),
    "diabetes130": ("diag_1", ["age", "gender", "race", "time_in_hospital"]),
}


def months(pool: pl.DataFrame, persons: int, releases: int, seed: int = 0) -> Iterator[pl.DataFrame]:
    """Yield snapshots: a tenth is exchanged each month, and a hundredth of the values change hands."""
    rng = np.random.default_rng(seed)
    sensitive = pool.columns[-1]
    pool = pool.with_row_index("pid")
    here, next_one = np.arange(persons), persons
    values = pool[sensitive].gather(np.arange(pool.height))
    for month in range(releases):
        if month:
            stay = here[rng.random(len(here)) > 0.1]
            more = min(persons - len(stay), pool.height - next_one)
            here = np.concatenate([stay, np.arange(next_one, next_one + more)])
            next_one += more
            changing = stay[rng.random(len(stay)) < 0.01]
            values = values.scatter(changing, values.gather(rng.permutation(changing)))
        yield pool.with_columns(values.alias(sensitive))[here]


def times(persons: int, releases: int, guarantee: rv.TauSafety) -> list[float]:
    """Return the time of each release."""
    pool = coded(persons + persons * releases // 8)
    schema = rv.Schema(person="pid", quasi=quasi_of(pool), sensitive="disease")
    found: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        series = rv.Series.open(Path(folder) / "vault", schema, guarantee, seed=0)
        for frame in months(pool, persons, releases):
            started = time.perf_counter()
            series.publish_to(Path(folder) / f"{len(found)}.csv", frame)
            found.append(time.perf_counter() - started)
    return found


def memory(persons: int) -> float:
    """Peak of the second release above a warmed-up process, in bytes per person."""
    times(2_000, 2, rv.TauSafety(m=M))
    return peak_above(lambda: times(persons, 2, rv.TauSafety(m=M))) / persons


def blindness() -> None:
    """Print what the two grades cost in counterfeits, on real tables where they are at hand."""
    tables = {name: SHARED / f"{name}.parquet" for name in TABLES if (SHARED / f"{name}.parquet").is_file()}
    print("counterfeits per record, counted and blind (releases 1 and 6), and the fewest that balance allows")
    for name, path in {"generator": None, **tables}.items():
        sensitive, quasi = TABLES.get(name, ("disease", []))
        pool = coded(60_000) if path is None else pl.read_parquet(path, columns=[*quasi, sensitive]).head(60_000)
        quasi = quasi or quasi_of(pool)
        pool = pool.select(*quasi, pl.col(sensitive).cast(pl.String).fill_null("unknown")).sample(
            fraction=1, shuffle=True, seed=1
        )
        domain = tuple(pool[sensitive].unique().sort())
        schema = rv.Schema(person="pid", quasi=quasi, sensitive=sensitive)
        for m in (2, 4):
            line = [f"  {name:<20} m = {m} ({len(domain):>3} values)"]
            for blind in (False, True):
                with tempfile.TemporaryDirectory() as folder:
                    guarantee = rv.TauSafety(m=m, blind=blind, domain=domain)
                    series = rv.Series.open(Path(folder) / "vault", schema, guarantee, seed=0)
                    for frame in months(pool, pool.height * 2 // 3, 6):
                        series.publish(frame)
                    history = series.history()
                shares = [history[i]["counterfeits"] / history[i]["persons"] for i in (0, -1)]
                least = history[-1]["fewest_counterfeits"] / history[-1]["persons"]
                line.append(f"{'blind' if blind else 'counted'} {shares[0]:.3f} {shares[1]:.3f} ({least:.3f})")
            print("   ".join(line))


def run() -> bool:
    one = floor(coded(PERSONS))
    print(f"series (floor {one:.3f} s: polars sorts {PERSONS:,} x 4)")
    times(2_000, 3, rv.TauSafety(m=M))  # compiled before it is timed
    taken = times(PERSONS, RELEASES, rv.TauSafety(m=M))
    middle = float(np.median(taken[1:]))
    good = show("200,000 persons, 10 % churn, m = 4: one release", middle / one, 40)
    late, early = np.mean(taken[-2:]), np.mean(taken[1:3])
    good &= show("releases 9 and 10 against 2 and 3", float(late / early), 1.3, "times")
    small, large = (float(in_fresh_process("benchmarks.series", "memory", str(n))) for n in (50_000, PERSONS))
    good &= show("memory per person, 200,000 against 50,000", large / small, 1.3, "times")
    blindness()
    return good


if __name__ == "__main__":
    if sys.argv[1:2] == ["memory"]:
        print(memory(int(sys.argv[2])))
    else:
        sys.exit(0 if run() else 1)
