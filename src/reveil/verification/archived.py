"""An archived placement as a proof that rows are records: looked at row by row, and believed in nothing.

Whoever has only the files searches an assignment. Where a vault still knows which row is whose, that is an assignment
to try first. Rows whose record is not inside the box, or has another value, count as empty; if no more are empty than
the manifest allows, an assignment exists, which is all that a search could find out. If not, nothing is said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reveil.core.errors import VerificationError
from reveil.verification.rows import check_placement, check_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.releases.release import Release
    from reveil.tables.snapshot import Snapshot
    from reveil.verification.arrays import AnyInts, Bools, Codes
    from reveil.verification.cells import QuasiColumn
    from reveil.verification.counting import PublishedGroups


def proves(
    archived: AnyInts,
    release: Release,
    snapshot: Snapshot,
    lines: Sequence[QuasiColumn],
    groups: PublishedGroups,
    *,
    empty: int,
    deepest: Codes | None,
) -> bool:
    """Return whether a placement shows that all rows but counterfeits and ``empty`` ones are records.

    ``archived[row]`` is a record, -1 for none. ``deepest``: where boxes are nested, the level of the innermost box that
    holds each record.
    """
    if release.batch is not None:
        return empty == 0 and _two_tables(archived, release, snapshot, lines, groups, deepest)
    records = snapshot.frame.height
    if len(archived) != len(release.classes) or archived.min(initial=0) < -1 or archived.max(initial=-1) >= records:
        return False
    filled = _fitting(archived, release, snapshot, lines, deepest)
    if np.bincount(archived[filled], minlength=1).max() > 1:
        return False
    left = np.bincount(groups.of_row[~filled], minlength=len(groups.fakes)) - groups.fakes
    return bool((left >= 0).all() and left.sum() <= empty)


def _fitting(
    archived: AnyInts, release: Release, snapshot: Snapshot, lines: Sequence[QuasiColumn], deepest: Codes | None
) -> Bools:
    """Return which rows have a record that is inside their box and has their values."""
    filled: Bools = archived >= 0
    rows = np.flatnonzero(filled)
    record, box = archived[rows], release.classes[rows]
    good = np.ones(len(rows), np.bool_)
    for line in lines:
        good &= line.admits(release.cells[line.name].index[box], line.codes[record])
    if deepest is not None and release.levels is not None:
        good &= deepest[record] == release.levels[box]
    for name in release.values.columns:
        published, raw = release.values[name].gather(rows), snapshot.frame[name].gather(record)
        if published.dtype != raw.dtype:
            good[:] = False
        elif not published.equals(raw, null_equal=True):
            good &= published.eq_missing(raw).to_numpy()
    filled[rows] = good
    return filled


def _two_tables(
    archived: AnyInts,
    release: Release,
    snapshot: Snapshot,
    lines: Sequence[QuasiColumn],
    groups: PublishedGroups,
    deepest: Codes | None,
) -> bool:
    """Return whether a placement fills both tables of a release, the second one group by group."""
    try:
        check_placement(release, snapshot.frame.height, archived, groups)
        check_rows(release, snapshot, lines, archived, groups, deepest)
    except VerificationError:
        return False
    return True
