"""Work for engines: workers import it from here."""

import time

import numpy as np
import polars as pl

HELD = pl.Schema({"place": pl.Int64, "value": pl.Int64})


def many(table):
    """Return two million rows of noise, for which there may be no room."""
    noise = np.random.default_rng(0).integers(0, 2**62, 2_000_000)
    return pl.DataFrame({"place": noise % 3, "value": noise}, schema=HELD)


def same(table):
    """Return what there is."""
    return table


def quoting(table):
    """Fail as a library does, with a cell in its words."""
    raise ValueError(f"cannot read {table['name'][0]!r}")


def slow(table):
    """Take some time."""
    time.sleep(5)
    return table
