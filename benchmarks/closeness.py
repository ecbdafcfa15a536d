"""t-closeness: Stack & Deal, what local dealing saves, and fragmentation, frame to frame and verified."""

from __future__ import annotations

import json

import numpy as np
import polars as pl

import reveil as rv
from benchmarks.floor import best_of, coded, floor, quasi_of, show
from reveil.releases.manifest_files import manifest_bytes

ROWS = 1_000_000
FRAGMENTED = 100_000


def deal(frame: pl.DataFrame, method: rv.StackDeal) -> rv.Release:
    schema = rv.Schema(quasi=quasi_of(frame), sensitive="disease")
    return rv.anonymize(frame, schema, rv.KAnonymity(10), method, seed=0)


def stack_deal() -> bool:
    """Time both ways of dealing, and compare the widths of their boxes at the same k."""
    frame = coded(ROWS)
    one = floor(frame)
    print(f"closeness: stack-deal (floor {one:.3f} s: polars sorts {ROWS:,} x 4)")
    small = frame.head(20_000)
    schema = rv.Schema(quasi=quasi_of(frame), sensitive="disease")
    local, source = (deal(small, method) for method in (rv.StackDeal(), rv.StackDeal(deal="source")))  # compiled
    saved = rv.measure(small, local, schema)["gcp"] / rv.measure(small, source, schema)["gcp"]
    t = [json.loads(manifest_bytes(release.manifest))["achieved"]["t"]["disease"] for release in (local, source)]
    good = show("1,000,000 x 4, k = 10, local", best_of(lambda: deal(frame, rv.StackDeal()).table) / one, 12)
    good &= show(
        "the same, dealt as the source does", best_of(lambda: deal(frame, rv.StackDeal(deal="source")).table) / one, 12
    )
    good &= show(f"boxes against the source's (t {t[0]:.3f}, {t[1]:.3f})", saved, 0.5, "times")
    return good


def fragmentation() -> bool:
    """Time a fragmentation of three attributes of 50 values each, the first of which depends on quasi values."""
    rng = np.random.default_rng(0)
    quasi = rng.normal(size=(FRAGMENTED, 4))
    frame = pl.DataFrame(
        {
            **{f"q{i}": (quasi[:, i].clip(-3, 3) * 15).astype(int) for i in range(4)},
            "a": ((quasi[:, 0] + rng.normal(size=FRAGMENTED)) * 8 + 25).clip(0, 49).astype(int),
            "b": rng.integers(0, 50, FRAGMENTED),
            "c": np.minimum(rng.geometric(0.1, FRAGMENTED), 50),
        }
    )
    schema = rv.Schema(quasi=[f"q{i}" for i in range(4)], sensitive=["a", "b", "c"])
    model = rv.KAnonymity(5) & rv.TCloseness(0.1)
    rv.anonymize(frame.head(2_000), schema, model, rv.Fragmentation(), seed=0)  # compiled before it is timed
    print(f"closeness: fragmentation of {FRAGMENTED:,} records, three attributes of 50 values each")
    taken = best_of(lambda: rv.anonymize(frame, schema, model, rv.Fragmentation(), seed=0), 1)
    return show("k = 5, t = 0.1 in each, frame to frame and verified", taken, 60, "seconds")


def run() -> bool:
    good = stack_deal()
    return fragmentation() and good


if __name__ == "__main__":
    run()
