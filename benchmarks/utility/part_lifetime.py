"""The global guarantee with l = 2 at the release after the budgets were meant to last: who rests, and how wide it is.

The constant ratio counts links, spread counts what was told. ``longer`` is a budget for as many releases as the most
frequent value of the first table allows. Of the census, the most frequent value is taken as harmless: it has more rows
than four releases can bear.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import reveil as rv
from benchmarks.utility.tables import ChangingTable, Worth, last_of
from reveil.guarantees.lifetime.forecast import most_releases

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

MEANT, AT = 4, 5
# Below the .72 to .79 of the constant ratio: where the most frequent value leaves room for a fifth release.
GOALS = {("diabetes", "spread"): 0.3, ("census", "longer"): 0.5, ("adult", "longer"): 0.5}


def _counts(table: ChangingTable) -> pl.DataFrame:
    return next(iter(table.snapshots(1)))[table.schema.sensitive[0]].value_counts(sort=True)


def variants(table: ChangingTable) -> dict[str, Callable[[], Worth]]:
    """Return what publishes five releases with each strategy."""
    counts = _counts(table)
    harmless = (str(counts[0, 0]),) if table.name == "census" else ()
    frequent = int(counts["count"][len(harmless)]) / table.persons
    longer = min(most_releases(Fraction(2), frequent) or AT, 12)
    strategies = {"constant-ratio": rv.ConstantRatio(releases=MEANT), "spread": rv.EvenSpread(releases=MEANT)}
    if longer > MEANT:
        strategies["longer"] = rv.ConstantRatio(releases=longer)
    return {
        name: partial(last_of, table, rv.GlobalGuarantee(2, strategy, harmless=harmless), releases=AT)
        for name, strategy in strategies.items()
    }
