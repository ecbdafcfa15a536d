"""What is in the table beside the snapshot's records, and what is missing from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from reveil.analysis.measures.base import Meaning, Subject, Sum, SummedMeasure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON


class Counts(SummedMeasure):
    """``counterfeits``, ``suppressed``, ``withheld`` and ``dirty``: rows that are no record, and records without a row.

    *Definition*: counterfeits are fake rows; suppressed records were left out because of this release, withheld ones
    because of earlier ones; dirty rows are real people, published with their last known record though nobody asked
    for them. *Range*: from 0 up; smaller is better. The number of suppressed records is counted from the snapshot
    where the manifest must not tell it. *Source*: 000, 001, 004.
    """

    meanings: ClassVar = {
        "counterfeits": Meaning("fake rows", "smaller"),
        "suppressed": Meaning("records left out because of this release", "smaller"),
        "withheld": Meaning("records held back because of earlier releases", "smaller"),
        "dirty": Meaning("rows of people who were not asked for", "smaller"),
    }
    place: ClassVar = 110

    def figures(self, sums: Mapping[str, Sum], subject: Subject) -> Mapping[str, JSON]:  # noqa: ARG002
        """Count."""
        return {
            "counterfeits": subject.fakes,
            "suppressed": subject.suppressed,
            "withheld": subject.withheld,
            "dirty": subject.dirty,
        }
