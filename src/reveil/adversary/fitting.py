"""Do tables of another tool, as they are read, belong to the people who are known to be in them?

A cell that means something else than it is read as would exclude people who are in the row, and what is concluded
from their absence is wrong. So before anything is attacked, everybody who is known to be there is placed: a row that
can be nobody's record says that a cell was read wrongly, or that the tables do not belong together. Labels that cannot
be read at all stand for anything, which excludes nobody; that is said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import DataError
from reveil.models.encoding import Attribute, Codes
from reveil.releases.folders import place_of
from reveil.releases.foreign.cells import ForeignCells, resolve
from reveil.releases.linking import place
from reveil.tables.notation import SUPPRESSED_VALUE, Form
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.adversary.view import View
    from reveil.releases.release import Release

_HIERARCHY = 'give the hierarchy that they come from: {} = {{ role = "quasi", hierarchy = "FILE.csv" }}'

_LABELS = f"If they are labels, {_HIERARCHY}"


def is_foreign(release: Release) -> bool:
    """Return whether another tool wrote the cells: nobody says then what they mean."""
    return any(cells.form is Form.FOREIGN for cells in release.cells.values())


def unread(releases: Sequence[Release], attributes: Sequence[tuple[Attribute, ...]]) -> dict[str, str]:
    """Say of each column that has some how many of its labels cannot be read, and are taken for anything."""
    labels: dict[str, set[str]] = {}
    rows: dict[str, int] = {}
    for release, known in zip(releases, attributes, strict=True):
        for attribute in known:
            cells = release.cells.get(attribute.name)
            if cells is None or cells.form is not Form.FOREIGN:
                continue
            strange = resolve(cells, attribute).unread
            if not strange.any():
                continue
            name = attribute.name
            labels.setdefault(name, set()).update(canonical_text(cells.distinct).filter(pl.Series(strange)).to_list())
            rows[name] = rows.get(name, 0) + int(strange[cells.index[release.classes]].sum())
    return {
        name: f"column {name!r} has {len(seen):,} label{'' if len(seen) == 1 else 's'} in {rows[name]:,} rows that are "
        "no value of anybody and that no hierarchy explains: they are taken for anything, and whoever can read them "
        f"finds out more; {_HIERARCHY.format(name)}"
        for name, seen in labels.items()
    }


def check_fit(
    number: int, release: Release, known: tuple[Attribute, ...], persons: int, values: pl.DataFrame | None
) -> None:
    """Refuse a table with rows that can be nobody's of those who are known to be in it; ``values`` are what they have.

    A list shorter than the table says nothing: others may be in these rows.
    """
    rows = len(release.classes)
    if persons < rows or not rows:
        return
    lacking = rows - _placed(release, known, persons, values)
    if not lacking:
        return
    mended = {}
    for attribute in known:
        if attribute.name in release.cells:
            rest = tuple(other for other in known if other is not attribute)
            mended[attribute.name] = rows - _placed(release, rest, persons, values)
    column = min(mended, key=lambda name: mended[name], default=None)
    if column is not None and mended[column] == lacking:
        column = None  # no single column is to blame
    cells = None if column is None else release.cells[column]
    file = cells.place.file if isinstance(cells, ForeignCells) else None
    whose = "with this value" if values is not None else "who is known to be there"
    words = f"{lacking:,} of the {rows:,} rows of release {number + 1} can be the record of nobody {whose}"
    if column is None:
        raise DataError(
            f"{words}: the release and the people given do not belong together, or cells mean something else than "
            "they are read as",
            file=file,
            hint="Name releases and snapshots in the same order; give the hierarchies that the release was made with.",
        )
    left = f"{mended[column]:,}" if mended[column] else "none"
    declared = any(attribute.name == column and attribute.taxonomy is not None for attribute in known)
    what = "Give the hierarchy that the release was made with, or none" if declared else _LABELS.format(column)
    raise DataError(
        f"{words}: the cells of column {column!r} mean something else than they are read as (without it {left})",
        file=file,
        column=column,
        hint=f"{what}. Or take the column out of the release: then nothing is concluded from it.",
    )


def check_values(view: View) -> None:
    """Refuse a release of Reveil's with more rows of some values than the people who were in it have.

    Counterfeits and rows that show an older value aside, every row is somebody's.
    """
    release, truth = view.release, view.truth
    if truth is None or not view.promise.is_known:
        return
    known = truth[truth >= 0]
    if len(known) < int(view.real.sum()):  # others may be in these rows
        return
    values = int(max(view.codes.max(initial=0), known.max(initial=0))) + 1
    spare = np.bincount(view.codes, view.counts, values).astype(np.int64) - np.bincount(known, minlength=values)
    manifest = release.manifest
    nobodys = int(np.maximum(spare, 0).sum()) - manifest.counterfeits.total - manifest.dirty - (manifest.stale or 0)
    if nobodys > 0:
        raise DataError(
            f"{nobodys:,} or more rows of release {view.number + 1} have a value that nobody of the snapshot given is "
            "left to have",
            file=None if release.source is None else str(place_of(release.source)),
            hint="Is this the snapshot that it was made of? Name releases and snapshots in the same order.",
        )


def check_certain(wrong: int) -> None:
    """Refuse to call certain what the snapshots contradict."""
    if wrong:
        raise DataError(
            f"{wrong:,} value{' that follows' if wrong == 1 else 's that follow'} with certainty from these releases "
            f"{'is' if wrong == 1 else 'are'} not in the snapshots: cells mean something else than they are read as, "
            "or the tables do not belong together",
            hint="Give the hierarchies that the releases were made with, and releases and snapshots in the same order.",
        )


def tells_all(release: Release, names: Sequence[str]) -> bool:
    """Return whether a release has these sensitive columns, and no value of them is suppressed."""
    _, told = release.group_values()
    return all(
        name in told.columns and not bool((canonical_text(told[name]) == SUPPRESSED_VALUE).any()) for name in names
    )


def _placed(release: Release, known: tuple[Attribute, ...], persons: int, values: pl.DataFrame | None) -> int:
    sensitive = pl.DataFrame() if values is None else values
    return int(np.count_nonzero(place(release, Codes(known, (), persons), sensitive).groups >= 0))
