"""A search for narrower cells, as long as the effort asked for allows: which signatures there are, who has which."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from reveil.core.effort import Effort
from reveil.core.errors import ConfigError
from reveil.guarantees.signatures.exchanging import SWEEPS, Sweeps, exchanged
from reveil.guarantees.signatures.planning import Plan, plan
from reveil.guarantees.signatures.widths import linked_widths, published_widths

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray, CodeArray
    from reveil.core.kernels.assigning import CellWidths
    from reveil.guarantees.signatures.machine import Groups
    from reveil.guarantees.signatures.situation import Situation
    from reveil.guarantees.signatures.space import Space
    from reveil.models.encoding import Codes


@dataclass(frozen=True)
class Search:
    """What a search looks at: the records in codes, and what a group of them costs.

    ``linked``: the groups have no cells of their own, and only who is linked with whom counts.
    """

    codes: Codes = field(repr=False)
    sweeps: Sweeps
    linked: bool = False

    def plan(self, now: Situation, space: Space, m: int) -> Plan:
        """Choose signatures, and who goes where."""
        return plan(now, self.codes, m, space.ranks, self.sweeps.rounds, linked=self.linked)

    def exchanged(self, groups: Groups, now: Situation) -> Groups:
        """Exchange records between groups; newcomers with a value may exchange their signatures, too."""
        free = np.zeros(now.size, np.bool_)
        free[now.fresh] = True
        return self.exchanged_among(groups, free)

    def exchanged_among(self, groups: Groups, free: BoolArray) -> Groups:
        """Exchange records between groups; those that are ``free`` may exchange their signatures, too."""
        return exchanged(groups, free, self._shape_of, self.sweeps)

    def _shape_of(self, records: CodeArray) -> CellWidths:
        """Return what the widths of the cells of some records are made of."""
        return (linked_widths if self.linked else published_widths)(self.codes, records)


def effort_of(effort: str | None) -> Effort | None:
    """Return the effort that a word stands for; None: nobody named one."""
    if effort is None:
        return None
    if effort not in list(Effort):
        raise ConfigError(f"there is no effort {effort!r}", hint=f"effort is one of {', '.join(Effort)}.")
    return Effort(effort)


def search_of(effort: str, codes: Codes, *, linked: bool = False) -> Search | None:
    """Return the search that an effort allows, for groups with cells of their own or ``linked`` ones; None: quick."""
    if effort == Effort.QUICK:
        return None
    return Search(codes, SWEEPS[Effort(effort)], linked)
