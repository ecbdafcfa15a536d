"""The frequency entropy metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.analysis.measures.base import Meaning, Subject, Sum, SummedMeasure, Sums

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON


class FrequencyEntropy(SummedMeasure):
    """``fem``: how much the groups tell by being small.

    *Definition*: the sum over groups of -(size/(T+F)) log2((size + fakes)/T), with size the real records of the
    group, T the records of the raw snapshot and F all fakes. *Range*: 0 for one single group, at most log2 T (all
    records different); below 0 with very many fakes; larger is better. *Suppressed and withheld records* are part
    of T and add 0. *Counterfeits* lower it twice: in the weight of each group and in what the group tells. *Dirty*
    rows are in the groups, and as many are added to T + F: more rows than were asked for tell nothing more.
    *Source*: 001, 5; its FEM(R,T) has a minus sign too many.
    """

    meanings: ClassVar = {"fem": Meaning("frequency entropy: bits told by the sizes of the groups", "larger")}
    place: ClassVar = 70

    def of_classes(self, subject: Subject) -> Sums:
        """Add up the bits; what is in a group of all the records tells nothing."""
        filled = subject.group_rows > 0
        rows, fakes = subject.group_rows[filled], subject.group_fakes[filled]
        bits = np.log2(rows / subject.records)
        return {"bits": float(((rows - fakes) * bits).sum())}

    def figures(self, sums: Mapping[str, Sum], subject: Subject) -> Mapping[str, JSON]:
        """Divide."""
        return {"fem": -float(sums["bits"]) / subject.weight + 0.0}
