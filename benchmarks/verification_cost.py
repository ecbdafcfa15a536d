"""What verification costs beside publishing, in CPU seconds, for every guarantee on tables of one size.

Two verifications are measured: the one that publishing does itself, which knows whose row is whose, and
``reveil verify`` afterwards, which has the files alone and searches an assignment of rows to records. Series are
measured at their second release: people left, and values changed where the guarantee is for that. Publishing makes no
effort beyond the first cut (``EFFORT=normal``: the usual one), so that verification is measured beside the least that
publishing costs. Everything runs in this process, so that nothing is compiled or imported twice; the time of all
threads counts.

    python -m benchmarks.verification_cost [records] [runs] [guarantee]...
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from reveil.series import assembly_line, publishing
from reveil.series.config import load_config
from reveil.series.publishing import publish_file, verify_file
from reveil.series.series import Series

if TYPE_CHECKING:
    from collections.abc import Callable

EFFORT = os.environ.get("EFFORT", "quick")
COLUMNS = 'pid = "person"\nage = "quasi"\nzip = "quasi"\nincome = "quasi"\nsex = "quasi"\nill = "sensitive"\n'
GUARANTEES = {
    "static": "k = 10",
    "m-invariance": "m = 4",
    "tau-safety": "m = 4",
    "refinement": "k = 5\nl = 2",
    "global": 'l = 4\nstrategy = "constant-ratio"\nreleases = 3',
    "worlds": "l = 4",
}
QUICK = dict.fromkeys(("m-invariance", "tau-safety"), 'effort = "quick"\n')  # the others have it in the method
METHOD = '[method]\nkind = "mondrian"\neffort = "quick"\n'


class Cost(NamedTuple):
    """CPU seconds of publishing without verification, of the verification in it, and of ``reveil verify``."""

    publishing: float
    verification: float
    afterwards: float


def people(n: int, seed: int) -> pl.DataFrame:
    """Return a table with 60 values that are equally frequent."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "pid": np.arange(n),
            "age": rng.integers(0, 100, n),
            "zip": rng.integers(0, 10_000, n),
            "income": rng.integers(0, 50_000, n),
            "sex": rng.choice(["f", "m"], n),
            "ill": [f"i{own}" for own in rng.integers(0, 60, n)],
        }
    )


def second(frame: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Return the table some time later: one in twenty left; values changed where the guarantee is for that."""
    if kind == "worlds":  # for people who stay
        return frame
    stayed = frame[frame.height // 20 :]
    if kind not in ("tau-safety", "global"):
        return stayed
    changed = pl.when(pl.col("pid") % 50 == 0).then(pl.lit("i7")).otherwise("ill")
    return stayed.with_columns(changed.alias("ill"))


def cost(kind: str, n: int) -> Cost:
    """Publish a table, and a second one where there is a series, and verify the last release again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        toml = path / "reveil.toml"
        vault = "" if kind == "static" else '[series]\nname = "t"\nvault = "t.vault"\nseed = 1\n'
        guarantee = f'[guarantee]\nkind = "{kind}"\n{GUARANTEES[kind]}\n'
        if EFFORT == "quick":
            guarantee += QUICK.get(kind, METHOD if kind in ("static", "refinement") else "")
        toml.write_text(f"{vault}[columns]\n{COLUMNS}{guarantee}")
        config = load_config(toml)
        first, table, out = people(n, 1), path / "table.csv", path / "out.csv"
        first.write_csv(table)
        inside = [0.0]
        if kind == "static":
            with timed(publishing, "verify", inside):
                total = cpu(lambda: publish_file(config, table, out))
        else:
            series = Series.of(config)
            series.publish_to(path / "first.csv", table)
            table = path / "second.csv"
            second(first, kind).write_csv(table)
            with timed(assembly_line, "check_written", inside):
                total = cpu(lambda: series.publish_to(out, table, again=True))
        return Cost(total - inside[0], inside[0], cpu(lambda: verify_file(config, out, table)))


def cpu(work: Callable[[], object]) -> float:
    """Return the CPU seconds of some work."""
    start = time.process_time()
    work()
    return time.process_time() - start


class timed:  # noqa: N801  (a context manager, written as one)
    """Add up the CPU seconds inside one function of a module."""

    def __init__(self, module: object, name: str, into: list[float]) -> None:
        self.module, self.name, self.into = module, name, into
        self.original: Callable[..., object] = getattr(module, name)

    def __enter__(self) -> None:
        def measured(*args: object, **kwargs: object) -> object:
            start = time.process_time()
            try:
                return self.original(*args, **kwargs)
            finally:
                self.into[0] += time.process_time() - start

        setattr(self.module, self.name, measured)

    def __exit__(self, *_: object) -> None:
        setattr(self.module, self.name, self.original)


def main() -> None:
    """Print a line for each guarantee: medians."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    for kind in sys.argv[3:] or GUARANTEES:
        cost(kind, 2_000)  # compile
        found = [cost(kind, n) for _ in range(runs)]
        made, inside, after = (statistics.median(column) for column in zip(*found, strict=True))
        print(
            f"{kind:13} publishing {made:6.2f} s, verification {inside:6.2f} s ({inside / made:.2f}), "
            f"reveil verify {after:6.2f} s ({after / made:.2f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
