"""A small table, with a value that is looked for afterwards, and the config of its release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from pathlib import Path

PLANTED = "zanzibar-disease"
CONFIG = """
[series]
name = "spark"
seed = 7
[columns]
pid = "person"
age = "quasi"
zip = "quasi"
job = "quasi"
disease = "sensitive"
[guarantee]
kind = "static"
k = 5
l = 2
[engine]
shard_rows = 1000
"""


def make(folder: Path, rows: int = 3000) -> None:
    """Write ``table.parquet`` and ``reveil.toml``."""
    rng = np.random.default_rng(3)
    diseases = np.array(["flu", "gout", "cold", PLANTED])[rng.integers(0, 4, rows)]
    pl.DataFrame(
        {
            "pid": [f"p-{n}" for n in range(rows)],
            "age": rng.integers(0, 90, rows),
            "zip": rng.integers(1000, 1400, rows),
            "job": np.array(["smith", "nurse", "cook"])[rng.integers(0, 3, rows)],
            "disease": diseases,
        }
    ).write_parquet(folder / "table.parquet")
    (folder / "reveil.toml").write_text(CONFIG)


def with_engine(folder: Path, *lines: str) -> Path:
    """Write another config, with more under ``[engine]``."""
    path = folder / "spark.toml"
    path.write_text(CONFIG + "\n".join(('kind = "spark"', *lines)) + "\n")
    return path


def parts(out: Path) -> dict[str, bytes]:
    """Return the bytes of the parts of a release."""
    return {path.name: path.read_bytes() for path in sorted(out.glob("part-*.parquet"))}
