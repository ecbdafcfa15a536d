"""The volume entropy metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.analysis.measures.base import Meaning, Subject, Sum, SummedMeasure, Sums

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.analysis.measures.columns import MeasuredColumn
    from reveil.core.json_values import JSON


class VolumeEntropy(SummedMeasure):
    """``vem``: how much the boxes tell by being narrow.

    *Definition*: the sum over groups of -(size/(T+F)) log2(V(group)/V(T)), with size the real records of the group,
    T the records of the raw snapshot, F all fakes, and V the product over attributes of the number of codes that the
    cell admits, null being one. V(T) belongs to the box of the whole snapshot. *Range*: 0 for one single group, at
    most log2 V(T) (exact values); larger is better. It is the sum over attributes of the VEM of each. *Suppressed and
    withheld records* are part of T and add 0. *Counterfeits* lower the weight of each group, and may widen boxes.
    *Dirty* rows are in the groups, and as many are added to T + F.
    *Source*: 001, 5; its VEM(R,T) has a minus sign too many.
    """

    meanings: ClassVar = {"vem": Meaning("volume entropy: bits told by the boxes", "larger")}
    place: ClassVar = 80

    def of_classes(self, subject: Subject) -> Sums:
        """Add up the attributes."""
        return {"vem": sum(attribute_vem(subject, column) for column in subject.columns)}

    def figures(self, sums: Mapping[str, Sum], subject: Subject) -> Mapping[str, JSON]:  # noqa: ARG002
        """Return the sum."""
        return {"vem": sums["vem"]}  # type: ignore[dict-item]


def attribute_vem(subject: Subject, column: MeasuredColumn) -> float:
    """Return the VEM of one attribute."""
    bits = np.log2(max(column.spanned, 1)) - np.log2(np.maximum(column.admits, 1))
    return float(column.per_cell(subject.class_real) @ bits) / subject.weight
