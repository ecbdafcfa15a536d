"""The discernibility penalty."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from reveil.analysis.measures.base import Meaning, Subject, Sum, SummedMeasure, Sums

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON


class Discernibility(SummedMeasure):
    """``dcp``: each row costs as much as there are rows it cannot be told from.

    *Definition*: the sum over groups of size squared. *Range*: from rows (all different) to records squared, and
    above with counterfeits; smaller is better. *Suppressed and withheld records* cost the number of records each.
    *Counterfeits* are rows like others. *Source*: 000, 2.5.1.1 (Bayardo, Agrawal 2005).
    """

    meanings: ClassVar = {"dcp": Meaning("discernibility: the sum over groups of size squared", "smaller")}
    place: ClassVar = 10

    def of_classes(self, subject: Subject) -> Sums:
        """Add up the squares; in whole numbers, because they are large."""
        return {"squares": int((subject.group_rows**2).sum())}

    def figures(self, sums: Mapping[str, Sum], subject: Subject) -> Mapping[str, JSON]:
        """Add what was left out."""
        return {"dcp": int(sums["squares"]) + subject.left_out * subject.records}
