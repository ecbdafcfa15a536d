"""Does one sensitive column decide another?

The proof for several columns takes their values as unrelated: every combination of a value of one group with a value of
another is possible. Where one column (nearly) decides the other, whoever knows which values occur together can exclude
combinations, and with them values. How far one column tells another is measured as a reader could learn it: the value
of a record is guessed by that of the *other* records with the same value in the first column. That is compared with
guessing the most frequent value for everybody: 0 where it helps nothing, 1 where it is always right (Goodman and
Kruskal's lambda, each record left out).
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import polars as pl

from reveil.core.errors import RefusedError

if TYPE_CHECKING:
    from reveil.tables.snapshot import Snapshot

DECIDES = 0.9  # from here on one column is taken to decide another


def decides(frame: pl.DataFrame, one: str, other: str) -> float:
    """Return how far a column tells another, from 0 to 1."""
    pairs = frame.select(a=pl.col(one), b=pl.col(other)).group_by("a", "b").len("n")
    rows = frame.height
    most = int(pairs.group_by("b").agg(pl.col("n").sum())["n"].to_numpy().max(initial=0))
    if rows == most:
        return 0.0  # a column with one value has nothing to tell
    # Of n records with equal values in both columns, each has n - 1 others like it; a lone one can learn from nobody.
    best = pairs.group_by("a").agg(pl.col("n").max())["n"]
    right = int(best.filter(best > 1).sum())
    return max(0.0, (right - most) / (rows - most))


def check_pairs(snapshot: Snapshot, *, independent: bool) -> None:
    """Refuse a table in which one sensitive column decides another, unless the owner says that nobody knows."""
    if independent:
        return
    for one, other in permutations(snapshot.schema.sensitive, 2):
        if (strength := decides(snapshot.frame, one, other)) >= DECIDES:
            names = ", ".join(f'"{name}"' for part in (one, other) for name in part.split("+"))
            raise RefusedError(
                f"column {one!r} tells column {other!r} ({strength:.0%} better than a guess): whoever knows which "
                "values occur together could exclude combinations, and the bound of neither would hold",
                hint=f"Three ways out: together = [[{names}]] under [guarantee] makes one value of them; drop one of "
                "them (identifier); or independent = true takes the risk, and every manifest says so.",
            )
