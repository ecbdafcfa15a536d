"""Another tool's cells written as Reveil writes them, in the words of a snapshot: so that they can be measured.

A range of numbers or dates becomes an interval (several of them their hull), everything else the set of values that it
stands for; what stands for anything is the whole column, as far as the snapshot has it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.models.encoding import Attribute, Kind, encode_quasi
from reveil.releases.foreign.cells import Resolved, resolve
from reveil.releases.table import Cells
from reveil.tables.notation import Form
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from reveil.releases.release import Release
    from reveil.tables.snapshot import Snapshot


def translated(release: Release, snapshot: Snapshot) -> Release:
    """Return the release with cells of Reveil's forms; one that has them already is returned as it is."""
    foreign = [name for name, cells in release.cells.items() if cells.form is Form.FOREIGN]
    if not foreign:
        return release
    cells = dict(release.cells)
    for name in foreign:
        cells[name] = _translated(cells[name], encode_quasi(snapshot.frame[name], snapshot.schema[name]))
    columns = tuple(
        replace(column, form=cells[column.name].form.value) if column.name in foreign else column
        for column in release.manifest.columns
    )
    return replace(release, cells=cells, manifest=replace(release.manifest, columns=columns))


def _translated(cells: Cells, attribute: Attribute) -> Cells:
    found = resolve(cells, attribute)
    null = found.null & bool((attribute.codes == attribute.null_code).any())
    if attribute.kind is Kind.INTERVAL:
        empty = found.lo > found.hi
        size = max(len(attribute.domain) - 1, 0)
        ends = [attribute.domain.gather(np.clip(end, 0, size)) for end in (found.lo, found.hi)]
        lo, hi = (pl.select(pl.when(pl.Series(~empty)).then(end)).to_series() for end in ends)
        distinct = pl.DataFrame({"lo": lo, "hi": hi, "null": pl.Series(null)}).to_struct(attribute.name)
        return Cells(Form.INTERVAL, distinct, cells.index)
    lists = [_members(found, cell, attribute) + ([None] if null[cell] else []) for cell in range(len(found.lo))]
    return Cells(Form.SET, pl.Series(attribute.name, lists, dtype=pl.List(pl.String)), cells.index)


def _members(found: Resolved, cell: int, attribute: Attribute) -> list[str | None]:
    """Return the values that a cell stands for, sorted."""
    if found.listed is not None and found.members is not None and found.listed[cell]:
        width = attribute.null_code + 1
        codes = found.members[found.members // width == cell] % width
    else:
        codes = np.arange(found.lo[cell], found.hi[cell] + 1)
    return sorted(canonical_text(attribute.domain.gather(codes)).to_list())
