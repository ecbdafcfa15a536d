"""The entropy measure."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from reveil.analysis.measures.base import Meaning, Subject, Sum, SummedMeasure, Sums

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON


class Entropy(SummedMeasure):
    """``em`` and ``em_mean``: how uncertain the cells leave a reader who knows each column's distribution.

    *Definition*: for each cell the entropy, in bits, of the original value given that it lies in the published set,
    with the frequencies of the raw snapshot; null is a value. ``em`` is the sum over all cells, ``em_mean`` the mean.
    *Range*: ``em_mean`` from 0 (exact values) to the mean entropy of the columns (nothing told); smaller is better.
    *Suppressed and withheld records* have the full entropy of each column. *Counterfeits* have no original value: sum
    and mean are over rows that are somebody's, as for ``ncp``. A set in which no raw value lies has entropy 0.
    *Source*: 003, 2.2 (Gionis, Tassa 2009).
    """

    meanings: ClassVar = {
        "em": Meaning("entropy measure: bits unknown in all cells", "smaller"),
        "em_mean": Meaning("bits unknown in a cell, on average", "smaller"),
    }
    place: ClassVar = 30

    def of_classes(self, subject: Subject) -> Sums:
        """Add up entropies, each as often as its cell is published for a record."""
        real = subject.class_real
        return {column.attribute.name: float(column.per_cell(real) @ column.entropies) for column in subject.columns}

    def figures(self, sums: Mapping[str, Sum], subject: Subject) -> Mapping[str, JSON]:
        """Add what was left out, and divide."""
        columns, out = subject.columns, subject.left_out
        em = float(sum(float(sums[column.attribute.name]) + out * column.entropy for column in columns))
        return {"em": em, "em_mean": em / (subject.accounted * len(columns))}
