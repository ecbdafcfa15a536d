"""The certainty penalty."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from reveil.analysis.measures.base import Meaning, Subject, Sum, SummedMeasure, Sums
from reveil.analysis.measures.columns import weights_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON


class Certainty(SummedMeasure):
    """``ncp`` and ``gcp``: how wide the published cells are.

    *Definition*: a cell costs its width over that of the domain: (hi - lo)/(max - min) for numbers and dates, on real
    values; (values - 1)/(domain - 1) for sets and taxonomy nodes; null beside values adds 1/(distinct values), and
    nothing costs more than 1. ``ncp`` is the sum over all cells, ``gcp`` the mean. *Range*: ``gcp`` from 0 (exact
    values) to 1 (nothing told); smaller is better. *Weights*: the width of a column with ``weight = 3`` counts
    three times in both; weights are scaled to a mean of 1, so that ``gcp`` is a weighted mean and ``ncp`` is still
    ``gcp`` times the number of cells. *Suppressed and withheld records* cost 1 per cell.
    *Counterfeits* have lost nothing: the sum is over rows that are somebody's, and so is the mean; where the rows of
    a group differ, each counts for the share of its group that is real.
    *Source*: 000, 2.5.1.2 (Xu et al. 2006); 003, 2.2, as LM (Iyengar 2002).
    """

    meanings: ClassVar = {
        "ncp": Meaning("certainty penalty: widths of all cells, added up", "smaller"),
        "gcp": Meaning("mean width of a cell: 0 exact, 1 nothing told", "smaller"),
    }
    place: ClassVar = 20

    def of_classes(self, subject: Subject) -> Sums:
        """Add up widths, each as often as its cell is published for a record."""
        columns = subject.columns
        real = subject.class_real
        weights = weights_of(columns)
        widths = (column.per_cell(real) @ column.widths for column in columns)
        return {"widths": float(sum(weight * width for weight, width in zip(weights, widths, strict=True)))}

    def figures(self, sums: Mapping[str, Sum], subject: Subject) -> Mapping[str, JSON]:
        """Add what was left out, and divide."""
        columns = subject.columns
        ncp = float(sums["widths"]) + subject.left_out * len(columns)
        # A sum of shares may exceed the number of cells by a rounding; a mean width does not exceed 1.
        return {"ncp": ncp, "gcp": min(ncp / (subject.accounted * len(columns)), 1.0)}
