"""tau-safety with m = 4 at the last release of each table: what each effort and each form gives.

``quick`` is what there was before efforts.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import reveil as rv
from benchmarks.utility.tables import ChangingTable, Worth, last_of
from reveil.core.effort import Effort
from reveil.guarantees.signatures.forms import ReleaseForm

if TYPE_CHECKING:
    from collections.abc import Callable

M = 4
GUARANTEES = {
    "quick": rv.TauSafety(m=M, effort=Effort.QUICK),
    "quick, angelized": rv.TauSafety(m=M, effort=Effort.QUICK, form=ReleaseForm.ANGELIZED),
    "normal": rv.TauSafety(m=M, effort=Effort.NORMAL),
    "normal, angelized": rv.TauSafety(m=M, effort=Effort.NORMAL, form=ReleaseForm.ANGELIZED),
    "normal, exact": rv.TauSafety(m=M, effort=Effort.NORMAL, form=ReleaseForm.EXACT),
    "thorough": rv.TauSafety(m=M, effort=Effort.THOROUGH),
}
WIDEST = {"hospital": 0.20, "adult": 0.085, "census": 0.09, "diabetes": 0.145}
GOALS = {(table, "normal"): goal for table, goal in WIDEST.items()}


def variants(table: ChangingTable) -> dict[str, Callable[[], Worth]]:
    """Return what publishes a table with each effort and form."""
    return {name: partial(last_of, table, guarantee) for name, guarantee in GUARANTEES.items()}
