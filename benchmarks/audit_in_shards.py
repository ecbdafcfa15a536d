"""An audit in memory and in shards: processor seconds and the peak of memory, each in a process of its own.

``python -m benchmarks.audit_in_shards`` takes 100,000 persons x 2 releases; ``--rows 1000000,4000000`` other numbers of
persons, ``--engines disk`` one engine only, ``--known events`` another adversary, ``--series tau-safety`` a tau-safe
series (m = 4) instead of a table that is published twice with k = 10 and l = 3. Both make the attacks that shards make.

``--at FOLDER --releases 99`` audits all of a series of the case table (benchmarks/scale_series.py) with folders 1, 2
and so on and their snapshots truth-1.parquet, truth-2.parquet in FOLDER; ``--sample N`` attacks N people,
``--shard-rows N`` takes other shards, and ``--json F`` writes what was found.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

import reveil as rv
from benchmarks.case_table import RELEASES
from benchmarks.floor import coded, quasi_of
from benchmarks.scale_series import schema
from benchmarks.series import months
from reveil.adversary.in_shards import audit_where_asked
from reveil.adversary.in_shards.asking import ATTACKS
from reveil.adversary.verdicts import verdict
from reveil.core.effort import Effort
from reveil.engines.settings import MOST_ROWS, EngineSettings
from reveil.series.config import load_config
from reveil.series.publishing import publish_file

SHARD_ROWS = 500_000
COLUMNS = 8  # quasi
PARTED = ("homogeneity", "intersection", "linkage", "serial", "similarity", "skewness")


def laid_down(folder: Path, persons: int, series: str) -> None:
    """Publish two snapshots into folders."""
    pool = coded(persons + persons // 4, COLUMNS)
    snapshots = months(pool, persons, 2)
    quasi = quasi_of(pool)
    told = rv.Schema(person="pid", quasi=quasi, sensitive="disease")
    columns = "".join(f'{name} = "quasi"\n' for name in quasi)
    config = folder / "reveil.toml"
    asked = '[guarantee]\nkind = "static"\nk = 10\nl = 3\n'
    config.write_text(f'[series]\nseed = 1\n[columns]\npid = "person"\n{columns}disease = "sensitive"\n{asked}')
    vault = None if series == "static" else rv.TauSafety(m=4, effort=Effort.QUICK)
    opened = None if vault is None else rv.Series.open(folder / "vault", told, vault, seed=0)
    for number, frame in enumerate(snapshots):
        truth = folder / f"truth-{number}.parquet"
        frame.write_parquet(truth)
        if opened is None:
            publish_file(load_config(config), truth, f"{folder}/release-{number}/")
        else:
            opened.publish_to(f"{folder}/release-{number}/", frame)


def once(folder: Path, engine: str, known: str | None, series: str) -> None:
    """Audit, and print what it took."""
    columns = load_config(folder / "reveil.toml").schema
    persons = pl.scan_parquet(folder / "truth-0.parquet").select(pl.len()).collect().item()
    in_shards = SHARD_ROWS if persons > SHARD_ROWS else max(persons // 4, 1_000)
    settings = EngineSettings(shard_rows=in_shards if engine == "disk" else MOST_ROWS)
    attacks = (*PARTED, "tau") if series != "static" else PARTED
    if known == "events" or series != "static":
        attacks = (*attacks, "absence", "correspondence", "difference")
    releases = [f"{folder}/release-{number}/" for number in range(2)]
    truth = [folder / f"truth-{number}.parquet" for number in range(2)]
    found = audit_where_asked(
        settings, releases, columns, None, truth, known, attacks=sorted(set(attacks) & set(ATTACKS)), table_risks=False
    )
    used = resource.getrusage(resource.RUSAGE_SELF)
    peak = used.ru_maxrss / 1024
    worked = "memory" if found.engine is None else str(found.engine["kind"])
    print(f"{worked}: {used.ru_utime + used.ru_stime:.1f} CPU s, {peak:,.0f} MiB; {found.sentence}")


def whole(given: argparse.Namespace) -> None:
    """Audit all releases of a series, and print what each step took."""
    releases = [f"{given.at}/{number}/" for number in range(1, given.releases + 1)]
    truth = [Path(given.at) / f"truth-{number}.parquet" for number in range(1, given.releases + 1)]
    rows = MOST_ROWS if given.engines == "memory" else given.shard_rows
    steps: dict[str, float] = {}
    begun = [("starting", time.process_time())]

    def stage(name: str) -> None:
        step, since = begun[-1]
        begun.append((name, time.process_time()))
        step = step.rstrip("0123456789")
        steps[step] = steps.get(step, 0.0) + begun[-1][1] - since

    found = audit_where_asked(
        EngineSettings(shard_rows=rows),
        releases,
        schema(),
        None,
        truth,
        given.known,
        sample=given.sample,
        table_risks=False,
        stage=stage,
    )
    stage("")
    print(*(f"{seconds:8.1f} CPU s  {step}" for step, seconds in steps.items() if seconds > 1), sep="\n")
    print(f"{sum(steps.values()):.0f} CPU s, {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB")
    print(verdict(found), *found.notes, found.sentence, sep="\n")
    if given.json is not None:
        Path(given.json).write_text(json.dumps(found.to_json()) + "\n")


def main() -> None:
    """Measure what is asked for."""
    asked = argparse.ArgumentParser(prog="python -m benchmarks.audit_in_shards")
    asked.add_argument("--rows", default="100000")
    asked.add_argument("--engines", default="memory,disk")
    asked.add_argument("--known")
    asked.add_argument("--series", choices=["static", "tau-safety"], default="static")
    asked.add_argument("--at", metavar="FOLDER")
    asked.add_argument("--releases", type=int, default=RELEASES)
    asked.add_argument("--shard-rows", type=int, default=SHARD_ROWS)
    asked.add_argument("--sample", type=int)
    asked.add_argument("--json", metavar="F")
    asked.add_argument("--once", nargs=2, metavar=("FOLDER", "ENGINE"), help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.at:
        whole(given)
        return
    if given.once:
        once(Path(given.once[0]), given.once[1], given.known, given.series)
        return
    for persons in map(int, given.rows.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            laid_down(Path(folder), persons, given.series)
            print(f"{persons:,} x 2, {given.series}, known {given.known or 'by default'}", flush=True)
            for engine in given.engines.split(","):
                more = [] if given.known is None else ["--known", given.known]
                command = [sys.executable, "-m", "benchmarks.audit_in_shards", "--once", folder, engine]
                subprocess.run([*command, "--series", given.series, *more], check=True, env=os.environ)  # noqa: S603


if __name__ == "__main__":
    main()
