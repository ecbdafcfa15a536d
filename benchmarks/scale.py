"""Past one memory: CPU seconds and peak memory of a static release, in memory and on disk, at growing sizes.

``python -m benchmarks.scale`` makes the tables, publishes each in a process of its own and prints a line for each;
``--rows 1000000,4000000`` and ``--engines memory,disk`` choose. ``--tasks publish,verify,measure`` also verifies and
measures what was published (with 100 queries); ``--method bang`` publishes by another method. CPU seconds are those of
all threads of the process, kernels compiled before; peak memory is what the system counts for the process, the
programs themselves included. The
marginal cost is what another million rows take beyond the size before.

``--guarantee tau-safety`` (or ``m-invariance``, ``refinement``) publishes two releases of a series instead
(:mod:`benchmarks.scale_tau`), with ``--effort``.
Its kernels are those that ``reveil warm-up`` left.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import reveil as rv
from benchmarks import scale_tau
from benchmarks.floor import coded, quasi_of
from benchmarks.processes import Watched
from reveil.releases.manifest_files import read_manifest

SIZES = (1_000_000, 4_000_000, 10_000_000)
COLUMNS, K, L = 8, 10, 3
QUERIES = 100
SERIES = ("tau-safety", "m-invariance", "refinement")
PART = 1_000_000
ENGINES = {"memory": 50_000_000, "disk": 500_000, "spark": 500_000}  # shard_rows


def make(rows: int, method: str, folder: Path) -> None:
    """Write a table in parts, and a config."""
    table = folder / "table"
    table.mkdir()
    frame = coded(rows, COLUMNS)
    for at in range(0, rows, PART):
        frame[at : at + PART].write_parquet(table / f"part-{at // PART:05d}.parquet")
    roles = "\n".join(f'{name} = "quasi"' for name in quasi_of(frame))
    for engine, shard_rows in ENGINES.items():
        (folder / f"{engine}.toml").write_text(
            f'[series]\nseed = 1\n[columns]\n{roles}\ndisease = "sensitive"\n[guarantee]\nkind = "static"\n'
            f'k = {K}\nl = {L}\n[method]\nkind = "{method}"\n[engine]\nshard_rows = {shard_rows}\n'
            + ('kind = "spark"\nmaster = "local[2]"\n' if engine == "spark" else "")
        )


def once(task: str, engine: str, folder: Path) -> str:
    """Do it, and return CPU seconds, the peak in MiB and the number of groups."""
    from reveil.series.config import load_config
    from reveil.series.measuring import measure_file
    from reveil.series.publishing import publish_file, verify_file

    config = load_config(folder / f"{engine}.toml")
    small = coded(5_000, COLUMNS)
    schema = rv.Schema(quasi=quasi_of(small), sensitive="disease")
    release = rv.anonymize(small, schema, rv.KAnonymity(K) & rv.DistinctDiversity(L), config.method)
    if task == "measure":
        rv.measure(small, release, schema, queries=QUERIES)  # compiled before it is timed
    stages: list[tuple[str, float]] = []

    def stage(what: str) -> None:
        stages.append((what, clock()))

    # What Spark starts are other processes.
    watched = Watched() if engine == "spark" else None
    clock = time.process_time if watched is None else watched.seconds
    table, out = folder / "table", f"{folder}/{engine}.out/"
    started = clock()
    if task == "publish":
        publish_file(config, table, out, stage=stage)
    elif task == "verify":
        verify_file(config, out, table, stage=stage)
    else:
        measure_file(config, table, out, queries=QUERIES, stage=stage)
    used = clock() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 if watched is None else watched.peak / 2**20
    groups = read_manifest(folder / f"{engine}.out" / "manifest.json").groups
    ends = [at for _, at in stages[1:]] + [started + used]
    parts = " ".join(f"{what} {end - at:.1f}" for (what, at), end in zip(stages, ends, strict=True))
    return f"{used:.1f} {peak:.0f} {groups} {parts}"


def in_fresh(*arguments: str) -> str:
    """Run a part of this benchmark in a process of its own."""
    said = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "benchmarks.scale", *arguments], check=True, capture_output=True, text=True
    )
    return said.stdout.strip()


def run(sizes: list[int], engines: list[str], tasks: list[str], method: str, around: str | None) -> None:
    """Measure everything and print a line for each."""
    before: dict[tuple[str, str], tuple[int, float]] = {}
    print("rows task engine cpu_seconds peak_MiB groups seconds_per_further_million stages")
    for rows in sizes:
        with tempfile.TemporaryDirectory(dir=around) as place:
            in_fresh("make", str(rows), method, place)
            for engine in engines:
                for task in ("publish", "verify", "measure"):
                    if task not in tasks and task != "publish":
                        continue
                    cpu, peak, groups, *stages = in_fresh("once", task, engine, place).split()
                    known = before.get((engine, task))
                    more = "-" if known is None else f"{(float(cpu) - known[1]) / (rows - known[0]) * 1e6:.2f}"
                    before[engine, task] = rows, float(cpu)
                    print(f"{rows:,} {task} {engine} {cpu} {peak} {groups} {more} {' '.join(stages)}", flush=True)
                shutil.rmtree(Path(place) / f"{engine}.out")


def run_series(sizes: list[int], engines: list[str], around: str | None, guarantee: str, effort: str) -> None:
    """Measure two releases of a series at each size and print a line for each."""
    print("rows engine release cpu_seconds peak_MiB groups counterfeits_or_dirty width stages")
    for rows in sizes:
        with tempfile.TemporaryDirectory(dir=around) as place:
            in_fresh("make-tau", str(rows), place, guarantee, effort)
            for engine in engines:
                for release in ("1", "2"):
                    print(f"{rows:,} {engine} {release} {in_fresh('once-tau', engine, place, release)}", flush=True)
                    shutil.rmtree(Path(place) / f"{engine}-{release}.out")


def main() -> None:
    """Read the arguments."""
    if sys.argv[1:2] == ["make-tau"]:
        scale_tau.make(int(sys.argv[2]), Path(sys.argv[3]), ENGINES, *sys.argv[4:6])
        return
    if sys.argv[1:2] == ["once-tau"]:
        print(scale_tau.once(sys.argv[2], Path(sys.argv[3]), int(sys.argv[4])))
        return
    if sys.argv[1:2] == ["make"]:
        make(int(sys.argv[2]), sys.argv[3], Path(sys.argv[4]))
        return
    if sys.argv[1:2] == ["once"]:
        print(once(sys.argv[2], sys.argv[3], Path(sys.argv[4])))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default=",".join(map(str, SIZES)))
    parser.add_argument("--engines", default="memory,disk", help="spark is the third, and needs its extra")
    parser.add_argument("--tasks", default="publish", help="also verify, measure")
    parser.add_argument("--method", default="mondrian", help="or bang")
    parser.add_argument("--folder", default=os.environ.get("TMPDIR"), help="where tables and releases lie meanwhile")
    parser.add_argument("--guarantee", default="static", choices=["static", *SERIES])
    parser.add_argument("--effort", default="quick", help="of signatures, or of the method under refinement")
    given = parser.parse_args()
    sizes, engines = [int(own) for own in given.rows.split(",")], given.engines.split(",")
    if given.guarantee in SERIES:
        run_series(sizes, engines, given.folder, given.guarantee, given.effort)
        return
    run(sizes, engines, given.tasks.split(","), given.method, given.folder)


if __name__ == "__main__":
    main()
