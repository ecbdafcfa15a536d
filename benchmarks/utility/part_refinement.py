"""Refinement at release 8: cells with the room that the churn asks for, and with no more than twice the smallest size.

The goals are 20 % below what ``roomy`` cells gave, which were the default, at no more rows held back.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import reveil as rv
from benchmarks.utility.tables import ChangingTable, Worth, last_of

if TYPE_CHECKING:
    from collections.abc import Callable

AT = 8
BEFORE = {"hospital": 0.421, "adult": 0.184, "census": 0.187, "diabetes": 0.194}
GOALS = {(table, "lean"): round(0.8 * width, 3) for table, width in BEFORE.items()}


def variants(table: ChangingTable) -> dict[str, Callable[[], Worth]]:
    """Return what publishes eight releases with each kind of cells."""
    kinds = {slack: rv.Refinement(k=10, l=3, slack=slack) for slack in ("roomy", "lean")}
    return {slack: partial(last_of, table, guarantee, releases=AT) for slack, guarantee in kinds.items()}
