"""The average information loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from reveil.analysis.measures.base import Meaning, Subject, Sum, SummedMeasure, Sums

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON


class InformationLoss(SummedMeasure):
    """``ail``: the widths that a group's rows lose together, averaged over groups.

    *Definition*: the mean over groups of size x the sum of the widths of its cells (as for ``ncp``), not divided by
    size. *Range*: from 0 (exact values) to rows x attributes (one group with everything); smaller is better.
    *Suppressed and withheld records* are in no group: as printed in the source, they do not count, so suppressing
    wide groups makes it smaller. *Counterfeits* are rows like others. *Source*: 001, 3 (Byun et al. 2006).
    """

    meanings: ClassVar = {"ail": Meaning("average information loss: size x widths of a group", "smaller")}
    place: ClassVar = 60

    def of_classes(self, subject: Subject) -> Sums:
        """Add up widths over rows."""
        lost = float(sum(column.rows @ column.widths for column in subject.columns))
        return {"lost": lost, "groups": len(subject.group_rows)}

    def figures(self, sums: Mapping[str, Sum], subject: Subject) -> Mapping[str, JSON]:  # noqa: ARG002
        """Divide by the number of groups."""
        return {"ail": float(sums["lost"]) / int(sums["groups"]) if sums["groups"] else 0.0}
