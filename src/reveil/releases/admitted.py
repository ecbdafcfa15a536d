"""What published cells admit, in codes of a snapshot.

The reverse of recoding, written from the notation alone: whoever judges a release (verification, measures, an
adversary) asks here which values a cell may stand for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.core.errors import VerificationError
from reveil.models.encoding import Attribute, Kind
from reveil.releases.foreign.cells import resolve
from reveil.tables.notation import Form, split_label

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray, CodeArray, IntArray
    from reveil.releases.table import Cells


@dataclass(frozen=True)
class Admitted:
    """What the distinct cells of one column admit, in codes of the snapshot.

    A cell admits the codes ``lo..hi`` that are in it (``members``, if given: cell number times ``codes + 1`` plus code,
    sorted) and the null code where ``null`` is set. Where some cells are runs of codes and others are not, ``listed``
    marks those whose members are given.
    """

    lo: CodeArray
    hi: CodeArray
    null: BoolArray
    members: IntArray | None
    codes: int
    listed: BoolArray | None = None

    def contains(self, cells: npt.NDArray[np.integer], codes: npt.NDArray[np.integer]) -> BoolArray:
        """Return whether each cell admits the code beside it."""
        inside: BoolArray = (codes >= self.lo[cells]) & (codes <= self.hi[cells])
        if self.members is not None:
            key = cells.astype(np.int64) * (self.codes + 1) + codes
            place = np.minimum(np.searchsorted(self.members, key), max(len(self.members) - 1, 0))
            found = self.members[place] == key if len(self.members) else np.zeros(len(key), np.bool_)
            inside &= found if self.listed is None else found | ~self.listed[cells]
        if self.null.any():
            inside |= self.null[cells] & (codes == self.codes)
        return inside


def admitted_codes(cells: Cells, attribute: Attribute) -> Admitted:
    """Turn published cells into codes of the snapshot."""
    size = attribute.null_code
    if cells.form is Form.FOREIGN:
        found = resolve(cells, attribute)
        return Admitted(found.lo, found.hi, found.null, found.members, size, found.listed)
    leaves = cells.form is Form.SET and attribute.kind is Kind.TAXONOMY  # nested boxes list the leaves of a taxonomy
    wanted = {Kind.INTERVAL: Form.INTERVAL, Kind.TAXONOMY: Form.LABEL}.get(attribute.kind, Form.SET)
    if cells.form is not wanted and not leaves:
        raise VerificationError(
            f"column {attribute.name!r} was published in another form than its type or hierarchy asks for now",
            column=attribute.name,
            hint="Give the column the type, the order or the hierarchy that it was published with.",
        )
    if attribute.kind is Kind.INTERVAL:
        lo, hi, null = (cells.distinct.struct.field(name) for name in ("lo", "hi", "null"))
        alone = lo.is_null().to_numpy()
        low = attribute.domain.search_sorted(lo.fill_null(strategy="zero") if alone.any() else lo, side="left")
        high = attribute.domain.search_sorted(hi.fill_null(strategy="zero") if alone.any() else hi, side="right")
        return Admitted(
            np.where(alone, 1, low.to_numpy()).astype(np.int32),
            np.where(alone, 0, high.to_numpy().astype(np.int64) - 1).astype(np.int32),
            null.to_numpy(),
            None,
            size,
        )
    if attribute.taxonomy is not None and not leaves:
        labels, null = split_label(cells.distinct)
        taxonomy = attribute.taxonomy
        nodes = [taxonomy.node_of_label.get(label, -1) if label is not None else -1 for label in labels]
        node = np.array(nodes, np.int64)
        unknown = (node < 0) & labels.is_not_null().to_numpy()
        if unknown.any():
            raise VerificationError(
                f"column {attribute.name!r} has labels that its hierarchy does not", column=attribute.name
            )
        first = np.where(node < 0, 1, taxonomy.lo[node]).astype(np.int32)
        last = np.where(node < 0, 0, taxonomy.hi[node]).astype(np.int32)
        return Admitted(first, last, null.to_numpy(), None, size)
    return _admitted_sets(cells, attribute)


def _admitted_sets(cells: Cells, attribute: Attribute) -> Admitted:
    size = attribute.null_code
    members = pl.DataFrame({"cell": np.arange(len(cells.distinct)), "value": cells.distinct}).explode("value")
    domain = pl.DataFrame({"value": attribute.domain, "code": np.arange(size)})
    known = members.drop_nulls("value").join(domain, on="value", how="left")
    if known["code"].null_count():
        raise VerificationError(
            f"column {attribute.name!r} has values that the snapshot does not", column=attribute.name
        )
    cell, code = known["cell"].to_numpy(), known["code"].to_numpy()
    lo, hi = np.full(len(cells.distinct), size, np.int32), np.full(len(cells.distinct), -1, np.int32)
    np.minimum.at(lo, cell, code.astype(np.int32))
    np.maximum.at(hi, cell, code.astype(np.int32))
    null = np.zeros(len(cells.distinct), np.bool_)
    null[members.filter(pl.col("value").is_null())["cell"].to_numpy()] = True
    return Admitted(lo, hi, null, np.sort(cell.astype(np.int64) * (size + 1) + code), size)
