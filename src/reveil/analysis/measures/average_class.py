"""The normalised average group size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from reveil.analysis.measures.base import Meaning, Subject, Sum, SummedMeasure, Sums
from reveil.core.json_values import JSON, objects_in


class AverageClass(SummedMeasure):
    """``c_avg``: how many times larger the groups are than they would have to be.

    *Definition*: (rows/k) / groups, with the k of the model, else its m, else its l; none of them, no value.
    *Range*: 1 where every group is as small as allowed, at most rows/k (below 1 only where k is an l that is not a
    size); smaller is better. *Suppressed and withheld records* are in no group and not counted. *Counterfeits* are
    rows like others. *Source*: 001, 3 (LeFevre et al. 2006).
    """

    meanings: ClassVar = {"c_avg": Meaning("average group size over the smallest allowed", "smaller")}
    place: ClassVar = 50

    def of_classes(self, subject: Subject) -> Sums:
        """Count the groups."""
        return {"groups": len(subject.group_rows)}

    def figures(self, sums: Mapping[str, Sum], subject: Subject) -> Mapping[str, JSON]:
        """Divide."""
        least = smallest_size(subject.release.manifest.promise.guarantee())
        groups = int(sums["groups"])
        return {"c_avg": None if least is None or not groups else subject.rows / least / groups}


def smallest_size(guarantee: Mapping[str, JSON]) -> float | None:
    """Return k, else m, else l of a guarantee; the largest where it is given for each attribute."""
    for name in ("k", "m", "l"):
        given = [part.get(name) for part in (guarantee, *objects_in(guarantee.get("all")))]
        numbers = [n for each in given for n in (each.values() if isinstance(each, Mapping) else [each])]
        sizes = [float(n) for n in numbers if isinstance(n, int | float) and not isinstance(n, bool) and n > 0]
        if sizes:
            return max(sizes)
    return None
