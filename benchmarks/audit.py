"""The adversary on a tau-safe series: time and memory of the attacks that compare releases.

``python -m benchmarks.audit`` takes 100,000 persons x 5 releases; ``--full`` takes 1,000,000 x 10, which is to stay
within 15 minutes and 8 GB on two cores.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import time
from pathlib import Path

import reveil as rv
from benchmarks.floor import coded, floor, in_fresh_process, quasi_of, resident, show
from benchmarks.series import M, months

ATTACKS = ("intersection", "difference", "serial", "tau")
GOAL = 15 * 60
ROOM = 8 * 2**30


def attack(persons: int, releases: int) -> tuple[float, int]:
    """Return the seconds and the peak of memory of an audit, reading included."""
    pool = coded(persons + persons * releases // 8)
    schema = rv.Schema(person="pid", quasi=quasi_of(pool), sensitive="disease")
    with tempfile.TemporaryDirectory() as folder:
        series = rv.Series.open(Path(folder) / "vault", schema, rv.TauSafety(m=M), seed=0)
        files, truth = [], []
        for number, frame in enumerate(months(pool, persons, releases)):
            files.append(Path(folder) / f"{number}.parquet")
            truth.append(Path(folder) / f"raw{number}.parquet")
            series.publish_to(files[-1], frame)
            frame.write_parquet(truth[-1])
        del pool, frame
        gc.collect()
        Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
        started = time.perf_counter()
        found = rv.audit(files, schema, truth=truth, known="events", attacks=ATTACKS)
        taken = time.perf_counter() - started
    if not found.held:
        raise RuntimeError("a tau-safe series was broken")
    return taken, resident("VmHWM")


def run() -> bool:
    persons, releases = 100_000, 5
    one = floor(coded(persons))
    print(f"audit (floor {one:.3f} s: polars sorts {persons:,} x 4)")
    taken, memory = map(float, in_fresh_process("benchmarks.audit", "once", str(persons), str(releases)).split())
    share = persons * releases / 10_000_000  # of the full size
    good = show("100,000 x 5: intersection, difference, serial, tau", taken / one / releases, 2000, "floors")
    good &= show("its share of 15 minutes", taken / (GOAL * share), 1, "times")
    good &= show("its share of 8 GB, above a gigabyte", (memory - 2**30) / (ROOM * share), 1, "times")
    return good


if __name__ == "__main__":
    if sys.argv[1:2] == ["once"]:
        print(*attack(int(sys.argv[2]), int(sys.argv[3])))
    elif sys.argv[1:] == ["--full"]:
        seconds, peak = attack(1_000_000, 10)
        print(f"1,000,000 x 10: {seconds / 60:.1f} minutes, {peak / 2**30:.1f} GB")
    else:
        sys.exit(0 if run() else 1)
