"""The adversary on a tau-safe series: time and memory of the attacks that compare releases.

``python -m benchmarks.audit`` takes 100,000 persons x 5 releases; ``--full`` takes 1,000,000 x 10, which is to stay
within 150 s and 8 GB on two cores, ``--long`` 100,000 x 99, which is to stay within 10 minutes; a number behind takes
so many persons instead. Processor seconds are printed beside, for machines on which others work, too: on two cores an
audit takes a little more than half of them.
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
from reveil.core.effort import Effort

ATTACKS = ("intersection", "difference", "serial", "tau")
GOAL = 15 * 60
ROOM = 8 * 2**30


def attack(persons: int, releases: int, effort: Effort = Effort.NORMAL) -> tuple[float, int, float]:
    """Return the seconds and the peak of memory of an audit, reading included, and its processor seconds."""
    pool = coded(persons + persons * releases // 8)
    schema = rv.Schema(person="pid", quasi=quasi_of(pool), sensitive="disease")
    with tempfile.TemporaryDirectory() as folder:
        series = rv.Series.open(Path(folder) / "vault", schema, rv.TauSafety(m=M, effort=Effort(effort)), seed=0)
        files, truth = [], []
        for number, frame in enumerate(months(pool, persons, releases)):
            files.append(Path(folder) / f"{number}.parquet")
            truth.append(Path(folder) / f"raw{number}.parquet")
            series.publish_to(files[-1], frame)
            frame.write_parquet(truth[-1])
        del pool, frame
        gc.collect()
        Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
        started, worked = time.perf_counter(), time.process_time()
        found = rv.audit(files, schema, truth=truth, known="events", attacks=ATTACKS)
        taken, work = time.perf_counter() - started, time.process_time() - worked
    if not found.held:
        raise RuntimeError("a tau-safe series was broken")
    return taken, resident("VmHWM"), work


def run() -> bool:
    persons, releases = 100_000, 5
    one = floor(coded(persons))
    print(f"audit (floor {one:.3f} s: polars sorts {persons:,} x 4)")
    taken, memory, _ = map(float, in_fresh_process("benchmarks.audit", "once", str(persons), str(releases)).split())
    share = persons * releases / 10_000_000  # of the full size
    good = show("100,000 x 5: intersection, difference, serial, tau", taken / one / releases, 2000, "floors")
    good &= show("its share of 15 minutes", taken / (GOAL * share), 1, "times")
    good &= show("its share of 8 GB, above a gigabyte", (memory - 2**30) / (ROOM * share), 1, "times")
    return good


if __name__ == "__main__":
    if sys.argv[1:2] == ["once"]:
        print(*attack(int(sys.argv[2]), int(sys.argv[3])))
    elif sys.argv[1:2] in (["--full"], ["--long"]):
        size = (1_000_000, 10) if sys.argv[1] == "--full" else (100_000, 99)
        size = (int(sys.argv[2]), size[1]) if sys.argv[2:] else size
        seconds, peak, work = attack(*size, effort=Effort.QUICK)  # groups are as many; they are found sooner
        print(f"{size[0]:,} x {size[1]}: {seconds:.0f} s, {work:.0f} of the processor, {peak / 2**30:.1f} GB")
    else:
        sys.exit(0 if run() else 1)
