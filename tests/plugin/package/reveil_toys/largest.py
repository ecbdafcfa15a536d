"""A measure."""

from __future__ import annotations

from typing import ClassVar

from reveil.analysis.measures.base import Meaning, Measure


class Largest(Measure):
    """``largest``: the rows of the largest group, 0 where there is none."""

    meanings: ClassVar = {"largest": Meaning("rows of the largest group", "smaller")}

    def of(self, subject):
        return {"largest": int(subject.group_rows.max(initial=0))}
