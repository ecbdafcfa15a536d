"""An audit in memory and in shards: processor seconds and the peak of memory, each in a process of its own.

``python -m benchmarks.audit_in_shards`` takes 100,000 persons x 2 releases; ``--rows 1000000,4000000`` other numbers of
persons, ``--engines disk`` one engine only, ``--known events`` another adversary, ``--series tau-safety`` a tau-safe
series (m = 4) instead of a table that is published twice with k = 10 and l = 3. Both make the attacks that shards make.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl

import reveil as rv
from benchmarks.floor import coded, quasi_of
from benchmarks.series import months
from reveil.adversary.in_shards import audit_where_asked
from reveil.adversary.in_shards.asking import ATTACKS
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
    schema = rv.Schema(person="pid", quasi=quasi, sensitive="disease")
    columns = "".join(f'{name} = "quasi"\n' for name in quasi)
    config = folder / "reveil.toml"
    asked = '[guarantee]\nkind = "static"\nk = 10\nl = 3\n'
    config.write_text(f'[series]\nseed = 1\n[columns]\npid = "person"\n{columns}disease = "sensitive"\n{asked}')
    vault = None if series == "static" else rv.TauSafety(m=4, effort=Effort.QUICK)
    opened = None if vault is None else rv.Series.open(folder / "vault", schema, vault, seed=0)
    for number, frame in enumerate(snapshots):
        truth = folder / f"truth-{number}.parquet"
        frame.write_parquet(truth)
        if opened is None:
            publish_file(load_config(config), truth, f"{folder}/release-{number}/")
        else:
            opened.publish_to(f"{folder}/release-{number}/", frame)


def once(folder: Path, engine: str, known: str | None, series: str) -> None:
    """Audit, and print what it took."""
    schema = load_config(folder / "reveil.toml").schema
    persons = pl.scan_parquet(folder / "truth-0.parquet").select(pl.len()).collect().item()
    in_shards = SHARD_ROWS if persons > SHARD_ROWS else max(persons // 4, 1_000)
    settings = EngineSettings(shard_rows=in_shards if engine == "disk" else MOST_ROWS)
    attacks = (*PARTED, "tau") if series != "static" else PARTED
    if known == "events" or series != "static":
        attacks = (*attacks, "absence", "correspondence", "difference")
    releases = [f"{folder}/release-{number}/" for number in range(2)]
    truth = [folder / f"truth-{number}.parquet" for number in range(2)]
    found = audit_where_asked(
        settings, releases, schema, None, truth, known, attacks=sorted(set(attacks) & set(ATTACKS)), table_risks=False
    )
    used = resource.getrusage(resource.RUSAGE_SELF)
    peak = used.ru_maxrss / 1024
    worked = "memory" if found.engine is None else str(found.engine["kind"])
    print(f"{worked}: {used.ru_utime + used.ru_stime:.1f} CPU s, {peak:,.0f} MiB; {found.sentence}")


def main() -> None:
    """Measure what is asked for."""
    asked = argparse.ArgumentParser(prog="python -m benchmarks.audit_in_shards")
    asked.add_argument("--rows", default="100000")
    asked.add_argument("--engines", default="memory,disk")
    asked.add_argument("--known")
    asked.add_argument("--series", choices=["static", "tau-safety"], default="static")
    asked.add_argument("--once", nargs=2, metavar=("FOLDER", "ENGINE"), help=argparse.SUPPRESS)
    given = asked.parse_args()
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
