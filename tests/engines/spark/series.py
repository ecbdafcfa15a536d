"""A small series, with a value that is looked for afterwards: its tables, its config, and what its vault says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import reveil as rv
from reveil.series.config import load_config
from tests.engines.spark.tables import PLANTED

if TYPE_CHECKING:
    from pathlib import Path

KEY = "6b" * 32  # pseudonyms and dice are the same in all vaults of one key
ASKED = 'kind = "tau-safety"\nm = 2\neffort = "quick"'


def make(folder: Path, rows: int = 2400) -> list[Path]:
    """Write two tables: some leave, come and change in the second."""
    rng = np.random.default_rng(4)
    values = np.array(["flu", "gout", "cold", "mumps", "rabies", PLANTED])
    frame = pl.DataFrame(
        {
            "pid": [f"p-{n}" for n in range(rows + 200)],
            "age": rng.integers(0, 90, rows + 200),
            "zip": rng.integers(1000, 1400, rows + 200),
            "disease": values[rng.integers(0, len(values), rows + 200)],
        }
    )
    frame[:rows].write_parquet(folder / "table-1.parquet")
    other = values[rng.integers(0, len(values), rows + 200)]
    changed = pl.Series(rng.random(rows + 200) < 0.03)
    later = frame.with_columns(
        disease=pl.select(pl.when(changed).then(pl.Series(other)).otherwise(frame["disease"])).to_series()
    )
    later[200:].write_parquet(folder / "table-2.parquet")
    return [folder / "table-1.parquet", folder / "table-2.parquet"]


def config(folder: Path, *engine: str, asked: str = ASKED, name: str = "series.toml") -> Path:
    """Write a config with more under ``[engine]``."""
    path = folder / name
    lines = "\n".join(("shard_rows = 1000", *engine))
    path.write_text(
        f'[series]\nname = "s"\nseed = 3\nvault = "s.vault"\n[columns]\npid = "person"\nage = "quasi"\nzip = "quasi"\n'
        f'disease = "sensitive"\n[guarantee]\n{asked}\n[engine]\n{lines}\n'
    )
    return path


def states(config: Path) -> list[str]:
    """Return the states of the releases of a series."""
    return [str(row["state"]) for row in rv.Series.of(load_config(config)).history()]
