"""Ninety-nine releases of a growing national table under tau-safety: time, width, counterfeits and the vault.

    python -m benchmarks.scale_series run OUT.jsonl [scale] [effort] [releases]   # goes on where it was stopped
    python -m benchmarks.scale_series audit FOLDER [persons]

Every release is everything from the frame to the confirmed file: diff, grouping, writing, the judge, the vault. CPU
seconds are those of all threads of this process; the peak of memory is taken anew for each release. Files and vault lie
in a folder beside OUT, with its name.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import reveil as rv
from benchmarks.case_table import QUASI, RELEASES, SENSITIVE, snapshots
from benchmarks.floor import resident
from reveil.vault import Vault

M = 4


def schema() -> rv.Schema:
    """Return what the columns of the table are."""
    return rv.Schema(person="pid", quasi=list(QUASI), sensitive=SENSITIVE)


def run(out: Path, scale: int, effort: str, releases: int) -> None:
    """Publish the series, a line for each release; releases that are there already are not published again."""
    folder = out.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    done = len(out.read_text().splitlines()) if out.exists() else 0
    series = rv.Series.open(
        folder / "vault", schema(), rv.TauSafety(m=M, effort=effort), name="cases", seed=1, archive=False
    )
    for number, frame in enumerate(snapshots(scale, releases), start=1):
        if number <= done:
            continue
        if number in (1, releases) or number % 10 == 0:
            frame.write_parquet(folder / f"truth{number}.parquet")
        Path("/proc/self/clear_refs").write_text("5")
        cpu, clock, before = time.process_time(), time.perf_counter(), resident("VmRSS")
        series.publish_to(folder / f"{number}.csv", frame)
        row = {"release": number, "cpu": time.process_time() - cpu, "clock": time.perf_counter() - clock}
        last = series.history()[-1]
        manifest = json.loads((folder / f"{number}.manifest.json").read_text())
        row |= {
            "rows": manifest["rows"],
            "persons": last["persons"],
            "counterfeits": last["counterfeits"],
            "fewest": last.get("fewest_counterfeits"),
            "groups": manifest["groups"],
            "withheld": manifest["withheld"],
            "gcp": width(folder / "vault", number),
            "peak": resident("VmHWM") - before,
            "peak_all": resident("VmHWM"),
            "vault": (folder / "vault" / "vault.duckdb").stat().st_size,
            "copy": sum(file.stat().st_size for file in (folder / "vault" / "releases").glob("*")),
        }
        with out.open("a") as lines:
            lines.write(json.dumps(row) + "\n")
        print(row, flush=True)


def width(vault: Path, number: int) -> float:
    """Return the mean width of a cell that the vault keeps of a release."""
    with Vault.open(vault, create=False) as opened:
        (row,) = [own for own in opened.releases() if own.release == number]
    return float(row.facts["measures"]["gcp"])


if __name__ == "__main__":
    what, place, *more = sys.argv[1:]
    if what == "run":
        scale, effort, releases = [*more, *("1000", "quick", str(RELEASES))[len(more) :]]
        run(Path(place), int(scale), effort, int(releases))
