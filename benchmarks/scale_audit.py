"""The audit of two large releases in folders: processor seconds, attack by attack, and peak memory.

``python -m benchmarks.scale_audit make FOLDER 1000000`` publishes a tau-safe series of two releases (m = 4, quick; in
the second some have left and some are new), ``python -m benchmarks.scale_audit attack FOLDER``
audits it, with all attacks and everybody's events known; a number behind attacks so many persons, as ``--sample`` does.
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

import reveil as rv
from benchmarks.floor import coded, quasi_of
from benchmarks.series import M, months
from reveil.core.effort import Effort


def make(folder: Path, persons: int) -> None:
    """Publish two releases, in parts."""
    pool = coded(persons + persons // 4)
    schema = rv.Schema(person="pid", quasi=quasi_of(pool), sensitive="disease")
    series = rv.Series.open(folder / "vault", schema, rv.TauSafety(m=M, effort=Effort.QUICK), seed=0)
    for number, frame in enumerate(months(pool, persons, 2)):
        (folder / f"raw{number}").mkdir()
        frame.write_parquet(folder / f"raw{number}" / "part-00000.parquet")
        series.publish_to(f"{folder}/release{number}/", frame)


def attack(folder: Path, sample: int | None) -> None:
    """Audit the two releases, and print what each stage takes."""
    schema = rv.Schema(person="pid", quasi=quasi_of(coded(1000)), sensitive="disease")
    stages: list[tuple[str, float]] = []
    started = time.process_time()
    found = rv.audit(
        [f"{folder}/release{n}/" for n in range(2)],
        schema,
        truth=[folder / f"raw{n}" for n in range(2)],
        known="events",
        sample=sample,
        stage=lambda what: stages.append((what, time.process_time())),
    )
    ended = time.process_time()
    for (what, began), (_, end) in zip(stages, [*stages[1:], ("", ended)], strict=True):
        print(f"{what}: {end - began:.1f}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"in all {ended - started:.1f} processor seconds, {peak:,.0f} MiB, held: {found.held}")


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        attack(Path(sys.argv[2]), int(sys.argv[3]) if sys.argv[3:] else None)
