"""``rv.measure`` and ``release.count`` on a release of 1,000,000 x 4."""

from __future__ import annotations

import reveil as rv
from benchmarks.floor import best_of, coded, floor, quasi_of, show

ROWS = 1_000_000
WINDOW = "q1 in [30, 60] and q3 in [5, 20]"


def run() -> bool:
    frame = coded(ROWS)
    schema = rv.Schema(quasi=quasi_of(frame), sensitive="disease")
    release = rv.anonymize(frame, schema, rv.KAnonymity(10), seed=0)
    small = rv.anonymize(frame.head(5_000), schema, rv.KAnonymity(10), seed=0)
    rv.measure(frame.head(5_000), small, schema, queries=2)  # compiled before it is timed
    one = floor(frame)
    print(f"measures (floor {one:.3f} s: polars sorts {ROWS:,} x 4)")
    plain = best_of(lambda: rv.measure(frame, release, schema), 2)
    asked = best_of(lambda: rv.measure(frame, release, schema, queries=1_000), 2)
    good = show("all measures of 1,000,000 x 4 without queries", plain / one, 5)
    good &= show("1,000 random windows on top", (asked - plain) / one, 10)
    release.count(WINDOW, schema)
    return good & show(
        "1,000 times release.count of a window", 1_000 * best_of(lambda: release.count(WINDOW, schema), 20) / one, 10
    )


if __name__ == "__main__":
    run()
