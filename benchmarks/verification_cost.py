"""What verification costs beside publishing, in CPU seconds: a static release, and the second of a tau-safe series.

python benchmarks/verification_cost.py [records]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import reveil as rv
from reveil.series import publishing
from reveil.series import series as series_module

if TYPE_CHECKING:
    from collections.abc import Callable


class Clock:
    """CPU seconds of this process inside one function, and in all."""

    def __init__(self) -> None:
        self.inside = 0.0

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with the clock running."""

        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                self.inside += time.process_time() - start

        return timed


def people(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "pid": np.arange(n),
            "age": rng.integers(0, 100, n),
            "zip": rng.integers(0, 10_000, n),
            "income": rng.integers(0, 50_000, n),
            "sex": rng.choice(["f", "m"], n),
            "ill": pl.Series(rng.integers(0, 60, n)).cast(pl.String),
        }
    )


SCHEMA = rv.Schema(person="pid", quasi=["age", "zip", "income", "sex"], sensitive="ill")


def measured(work: Callable[[], object], clock: Clock) -> tuple[float, float]:
    """Return the CPU seconds of a publication without verification, and those of verification."""
    clock.inside = 0.0
    start = time.process_time()
    work()
    return time.process_time() - start - clock.inside, clock.inside


def static(n: int, clock: Clock) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        people(n, 1).write_csv(path / "t.csv")
        (path / "reveil.toml").write_text(
            '[columns]\npid = "identifier"\nage = "quasi"\nzip = "quasi"\nincome = "quasi"\nsex = "quasi"\n'
            'ill = "sensitive"\n[guarantee]\nkind = "static"\nk = 10\n'
        )
        config = rv.config.load_config(path / "reveil.toml")
        return measured(lambda: publishing.publish_file(config, path / "t.csv", path / "r.csv"), clock)


def tau(n: int, clock: Clock) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        series = rv.Series.open(Path(folder) / "v", SCHEMA, rv.TauSafety(m=4), seed=1)
        series.publish(people(n, 1))
        second = people(n, 1)[n // 20 :].with_columns(
            pl.when(pl.col("pid") % 50 == 0).then(pl.lit("61")).otherwise("ill").alias("ill")
        )
        return measured(lambda: series.publish(second), clock)


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    clock = Clock()
    for module, name in ((publishing, "verify"), (series_module, "check_written")):
        setattr(module, name, clock.around(vars(module)[name]))
    for name, work in (("static k = 10", static), ("tau-safety m = 4, release 2", tau)):
        work(2_000, clock)  # compile
        found = [work(n, clock) for _ in range(3)]
        made, verified = (sorted(column)[1] for column in zip(*found, strict=True))
        print(f"{name}: publishing {made:.2f} s, verification {verified:.2f} s, share {verified / made:.2f}")


if __name__ == "__main__":
    main()
