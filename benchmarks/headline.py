"""Every headline operation at 100,000, 1,000,000 and 10,000,000 records: time in floors, memory beside it.

``python -m benchmarks.headline`` runs all of it, each operation and size in a process of its own, and stores the result
in ``docs/evidence``; ``--fast`` runs the smallest size alone and stores nothing. The floor is measured in the same
process, right before.
"""

from __future__ import annotations

import atexit
import gc
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import reveil as rv
from benchmarks.floor import coded, floor, in_fresh_process, peak_above, quasi_of
from benchmarks.papers.common import Cell, Experiment, Plot, Table, finish, progress, short
from benchmarks.series import months

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

SIZES = (100_000, 1_000_000, 10_000_000)
K, M = 10, 4
ROOM = 24 * 2**30


def _schema(frame: pl.DataFrame, person: str | None = None) -> rv.Schema:
    return rv.Schema(person=person, quasi=quasi_of(frame), sensitive="disease")


def _folder() -> Path:
    """Return a folder that is gone when this process ends."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def anonymize(rows: int, columns: int) -> tuple[pl.DataFrame, Callable[[], object]]:
    """One table, frame to frame, verified."""
    frame = coded(rows, columns)
    return frame, lambda: rv.anonymize(frame, _schema(frame), rv.KAnonymity(K)).table


def publish(rows: int, columns: int) -> tuple[pl.DataFrame, Callable[[], object]]:
    """One table by the command's own way: Parquet in, Parquet out, verified from its bytes."""
    from reveil.series.config import load_config
    from reveil.series.publishing import publish_file

    frame = coded(rows, columns)
    folder = _folder()
    frame.write_parquet(folder / "raw.parquet")
    roles = "\n".join(f'{name} = "quasi"' for name in quasi_of(frame))
    settings = f'[columns]\n{roles}\ndisease = "sensitive"\n[guarantee]\nkind = "static"\nk = {K}\n'
    (folder / "reveil.toml").write_text(settings)
    config = load_config(folder / "reveil.toml")
    return frame, lambda: publish_file(config, folder / "raw.parquet", folder / "out.parquet")


def step(rows: int, columns: int) -> tuple[pl.DataFrame, Callable[[], object]]:
    """The second release of a tau-safe series, from the frame to the confirmed file."""
    pool = coded(rows + rows // 4, columns)
    folder = _folder()
    series = rv.Series.open(folder / "vault", _schema(pool, person="pid"), rv.TauSafety(m=M), seed=0)
    first, second = months(pool, rows, 2)
    series.publish_to(folder / "one.parquet", first)
    return pool.head(rows), lambda: series.publish_to(folder / "two.parquet", second)


def audit(rows: int, columns: int) -> tuple[pl.DataFrame, Callable[[], object]]:
    """The attacks that compare releases, on two tau-safe ones."""
    pool = coded(rows + rows // 4, columns)
    folder = _folder()
    schema = _schema(pool, person="pid")
    series = rv.Series.open(folder / "vault", schema, rv.TauSafety(m=M), seed=0)
    truth = list(months(pool, rows, 2))
    releases = [series.publish(frame) for frame in truth]
    attacks = ("intersection", "difference", "serial", "tau")
    return pool.head(rows), lambda: rv.audit(releases, schema, truth=truth, known="events", attacks=attacks)


def measure(rows: int, columns: int) -> tuple[pl.DataFrame, Callable[[], object]]:
    """All measures without queries."""
    frame = coded(rows, columns)
    release = rv.anonymize(frame, _schema(frame), rv.KAnonymity(K), seed=0)
    return frame, lambda: rv.measure(frame, release, _schema(frame))


# Operation, columns and the largest size: an audit of 10,000,000 persons takes longer than a benchmark should.
PLAN: tuple[tuple[Callable[[int, int], tuple[pl.DataFrame, Callable[[], object]]], int, int], ...] = (
    (anonymize, 4, 10_000_000),
    (anonymize, 8, 10_000_000),
    (publish, 8, 10_000_000),
    (step, 4, 1_000_000),
    (audit, 4, 1_000_000),
    (measure, 4, 10_000_000),
)


def once(name: str, rows: int, columns: int) -> str:
    """Return floors, seconds, bytes above the start and bytes per row, measured in this process."""
    own = next(make for make, _, _ in PLAN if make.__name__ == name)
    _, warm = own(5_000, columns)
    warm()  # compiled before it is timed
    frame, run = own(rows, columns)
    one = floor(frame)
    gc.collect()
    started = time.perf_counter()
    peak = peak_above(run)
    taken = time.perf_counter() - started
    return f"{taken / one} {taken} {peak} {peak / rows}"


def run(sizes: tuple[int, ...] = SIZES) -> Experiment:
    """Measure everything; return it as a result that can be stored."""
    rows: list[list[Cell]] = []
    lines: dict[str, list[float | None]] = {}
    for make, columns, most in PLAN:
        title = f"{make.__name__}, {columns} columns"
        found: list[float | None] = []
        for size in sizes:
            if size > most:
                found.append(None)
                continue
            progress(title, f"{size:,}")
            told = in_fresh_process("benchmarks.headline", "once", make.__name__, str(size), str(columns)).split()
            floors, seconds, peak, each = map(float, told)
            rows.append([title, size, short(floors, 3), short(seconds, 3), short(peak / 2**20, 3), short(each, 3)])
            found.append(short(floors, 3))
        lines[title] = found
    head = ["operation", "records", "floors", "seconds here", "MiB above the start", "bytes a record"]
    largest = max(row[4] for row in rows if isinstance(row[4], float))
    return Experiment(
        "headline",
        "Headline operations at three sizes",
        "this project; the floor is polars sorting the same table",
        [
            f"The generator's coded table, k = {K}, m = {M}, two cores. Each line in a process of its own.",
            *[f"{make.__name__}: {(make.__doc__ or '').strip().rstrip('.').lower()}." for make, _, _ in PLAN[1:]],
        ],
        [],
        [Table("Time and memory", head, rows)],
        Plot("Floors by size", list(map(float, sizes)), lines, "records", "floors", log_x=True),
        [f"The largest peak is {largest:,.0f} MiB above the start; the room is {ROOM / 2**20:,.0f} MiB."],
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["once"]:
        print(once(sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
    else:
        quick = "--fast" in sys.argv
        finish(run(SIZES[:1] if quick else SIZES), quick)
