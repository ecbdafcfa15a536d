"""How much of a release is made up: of its rows, or of the values of the sensitive column that has most.

Where each sensitive column has a table of its own, counterfeits stand in these tables and in no row of the first one: a
number of all of them together says nothing of any row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reveil.releases.table import COUNT

if TYPE_CHECKING:
    from reveil.releases.release import Release


@dataclass(frozen=True)
class MadeUp:
    """So many of ``whole`` rows are counterfeits; or of the values of a ``column`` that has a table of its own."""

    count: int
    whole: int
    column: str | None = None

    @property
    def share(self) -> float:
        """Which part of the whole it is."""
        return self.count / max(self.whole, 1)

    @property
    def sentence(self) -> str:
        """What is counted, in words."""
        of = "rows" if self.column is None else f"values of column {self.column!r}"
        return f"{self.count:,} of {max(self.whole, 1):,} {of} are counterfeits ({self.share:.1%})"


def made_up_of(release: Release) -> MadeUp:
    """Return how much of a release is made up; where sensitive columns have tables, in the one that has most."""
    if not release.seconds:
        return MadeUp(release.manifest.counterfeits.total, release.manifest.rows)
    rows = release.manifest.rows
    values = {second.name: int(second.batch[COUNT].sum()) for second in release.seconds}
    return max((MadeUp(many - rows, many, name) for name, many in values.items()), key=lambda found: found.share)
