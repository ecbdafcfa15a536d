"""What the cells of a column admit, and where records lie: each quasi column as a line of numbers.

Values of a snapshot are numbered: numbers and dates by size, declared values in their order, leaves of a hierarchy from
left to right, other texts in any order; a missing value comes last. A cell admits the numbers from ``lo`` to ``hi``, or
of these the ones that it lists, and the last one where it admits null.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import VerificationError
from reveil.tables.notation import Form, split_label
from reveil.tables.schema import LABEL
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from reveil.releases.table import Cells
    from reveil.tables.schema import Column
    from reveil.verification.arrays import AnyInts, Bools, Codes, Ints

_TABLE = 1 << 24  # cells of a table of booleans up to which one is made


@dataclass(frozen=True)
class QuasiColumn:
    """A quasi column: the number of each record, and what each distinct cell admits."""

    name: str
    codes: Codes = field(repr=False)
    size: int  # of the line; this number is that of a missing value
    lo: Codes = field(repr=False)
    hi: Codes = field(repr=False)
    null: Bools = field(repr=False)
    listed: Ints | None = field(
        repr=False, default=None
    )  # sorted pairs cell * (size + 1) + number, where cells have gaps
    beyond: Bools | None = field(
        default=None, repr=False
    )  # cells with values that nobody has, where they were let pass

    def admits(self, cells: AnyInts, codes: AnyInts) -> Bools:
        """Return whether each cell admits the number beside it."""
        inside: Bools = (codes >= self.lo[cells]) & (codes <= self.hi[cells])
        if self.listed is not None:
            inside &= self._in_list(cells, codes)
        if self.null.any():
            inside |= self.null[cells] & (codes == self.size)
        return inside

    def _in_list(self, cells: AnyInts, codes: AnyInts) -> Bools:
        listed = self.listed if self.listed is not None else np.zeros(0, np.int64)
        wide = self.size + 1
        key = cells.astype(np.int64) * wide + codes
        if self._table is not None:
            return np.asarray(self._table[key], np.bool_)
        place = np.minimum(np.searchsorted(listed, key), max(len(listed) - 1, 0))
        return np.asarray(listed[place] == key, np.bool_) if len(listed) else np.zeros(len(key), np.bool_)

    @cached_property
    def _table(self) -> Bools | None:
        """What is listed as a table over all pairs, where it is small."""
        size = len(self.lo) * (self.size + 1)
        if self.listed is None or size > _TABLE:
            return None
        table = np.zeros(size, np.bool_)
        table[self.listed] = True
        return table

    @property
    def hull(self) -> tuple[Codes, Codes]:
        """The first and the last number that each cell may admit, over gaps, up to null where it admits that."""
        only_null = self.lo > self.hi
        low = np.where(self.null & only_null, self.size, self.lo).astype(np.int32)
        return low, np.where(self.null, self.size, self.hi).astype(np.int32)

    def exact(self) -> Codes | None:
        """Return the one number that each cell admits, or None if a cell admits several."""
        one = np.where(self.null, self.lo > self.hi, self.lo == self.hi).all()
        return np.where(self.lo <= self.hi, self.lo, self.size).astype(np.int32) if one else None


def line_of(values: pl.Series, column: Column, cells: Cells, *, beyond: bool = False) -> QuasiColumn:
    """Number the values of a column, and find what its published cells admit.

    ``beyond``: sets may have values that nobody has here; they admit nothing.
    """
    if cells.form is Form.INTERVAL:
        return _numbers(values, column, cells)
    if cells.form is Form.LABEL and column.taxonomy is not None:
        return _labels(values, column, cells)
    if cells.form is Form.SET:
        return _sets(values, column, cells, beyond=beyond)
    raise otherwise(column.name)


def otherwise(name: str) -> VerificationError:
    """Return the refusal of a column in another form than its type asks for."""
    return VerificationError(
        f"column {name!r} was published in another form than its type or hierarchy asks for now",
        column=name,
        hint="Give the column the type, the order or the hierarchy that it was published with.",
    )


def wanted_forms(values: pl.Series, column: Column, *, nested: bool, sampled: bool = False) -> tuple[Form, ...]:
    """Return the forms in which a quasi column may be published."""
    if column.taxonomy is not None:
        if nested:
            return (Form.SET,)  # a label would cover more than a nested region
        if sampled or column.cells == LABEL:
            return (Form.LABEL,)
        # Where nothing is said, an older release has one label.
        return (Form.SET, Form.LABEL) if column.cells is None else (Form.SET,)
    if column.order is None and (values.dtype.is_numeric() or values.dtype.is_temporal()):
        return (Form.INTERVAL,)
    return (Form.SET,)


def _numbers(values: pl.Series, column: Column, cells: Cells) -> QuasiColumn:
    lo, hi, null = (cells.distinct.struct.field(name) for name in ("lo", "hi", "null"))
    if lo.dtype != values.dtype or wanted_forms(values, column, nested=False) != (Form.INTERVAL,):
        raise otherwise(column.name)
    codes, domain = _ranked(values)
    only_null, missing = _is_null(lo), _is_null(hi)
    if (only_null != missing).any() or (lo > hi).any():
        raise VerificationError(f"column {column.name!r} has intervals that end before they begin", column=column.name)
    if only_null.any():
        lo, hi = lo.fill_null(strategy="zero"), hi.fill_null(strategy="zero")
    low = domain.search_sorted(lo, side="left").to_numpy()
    high = domain.search_sorted(hi, side="right").to_numpy().astype(np.int64) - 1
    return QuasiColumn(
        column.name,
        codes,
        len(domain),
        np.where(only_null, 1, low).astype(np.int32),
        np.where(only_null, 0, high).astype(np.int32),
        null.to_numpy(),
    )


def _is_null(values: pl.Series) -> Bools:
    return values.is_null().to_numpy() if values.null_count() else np.zeros(len(values), np.bool_)


def _ranked(values: pl.Series) -> tuple[Codes, pl.Series]:
    """Return the rank of each value among the different ones, nulls last, and these in order."""
    physical = values.to_physical()
    present, physical = (values.drop_nulls(), physical.drop_nulls()) if values.null_count() else (values, physical)
    if physical.dtype.is_integer() and physical.dtype not in (pl.Int128, pl.UInt128) and len(present):
        numbers = physical.to_numpy()
        least, most = int(numbers.min()), int(numbers.max())
        if most < 2**62 and least > -(2**62) and most - least <= 8 * len(numbers) + 1024:
            seen = np.zeros(most - least + 1, np.bool_)
            seen[numbers.astype(np.int64) - least] = True
            rank = (np.cumsum(seen, dtype=np.int32) - np.int32(1))[numbers.astype(np.int64) - least]
            domain = pl.Series(np.flatnonzero(seen) + least).cast(physical.dtype).cast(values.dtype)
            return _with_nulls(rank, values, len(domain)), domain
    domain = present.unique().sort()
    rank = (
        domain.search_sorted(present, side="left").to_numpy().astype(np.int32)
        if len(present)
        else np.zeros(0, np.int32)
    )
    return _with_nulls(rank, values, len(domain)), domain


def _with_nulls(rank: Codes, values: pl.Series, null: int) -> Codes:
    if not values.null_count():
        return rank
    codes = np.full(len(values), null, np.int32)
    codes[values.is_not_null().to_numpy()] = rank
    return codes


def _named(values: pl.Series, names: list[str]) -> Codes:
    """Return the place of each text among some names; -1 for none of them, and one behind the last for null."""
    known = pl.DataFrame({"text": pl.Series(names, dtype=pl.String)}).with_row_index("place").cast({"place": pl.Int32})
    rows = canonical_text(values).to_frame("text")
    place = rows.join(known, on="text", how="left", maintain_order="left").select_seq(
        pl.when(pl.col("text").is_null()).then(len(names)).otherwise(pl.col("place").fill_null(-1)).cast(pl.Int32)
    )
    return place.to_series().to_numpy()


def _labels(values: pl.Series, column: Column, cells: Cells) -> QuasiColumn:
    taxonomy = column.taxonomy
    assert taxonomy is not None  # noqa: S101 -- asked before
    labels, null = split_label(cells.distinct)
    place = {label: node for node, label in enumerate(taxonomy.labels)}
    node = np.array(
        [-1 if label is None else taxonomy.node_of_label.get(label, place.get(label, -2)) for label in labels],
        np.int64,
    )
    if (node == -2).any():
        raise VerificationError(f"column {column.name!r} has labels that its hierarchy does not", column=column.name)
    return QuasiColumn(
        column.name,
        _named(values, list(taxonomy.leaves)),
        len(taxonomy.leaves),
        np.where(node < 0, 1, taxonomy.lo[node]).astype(np.int32),
        np.where(node < 0, 0, taxonomy.hi[node]).astype(np.int32),
        null.to_numpy(),
    )


def _sets(values: pl.Series, column: Column, cells: Cells, *, beyond: bool) -> QuasiColumn:
    if wanted_forms(values, column, nested=True) != (Form.SET,):
        raise otherwise(column.name)
    declared = column.taxonomy.leaves if column.taxonomy is not None else column.order
    names = list(declared) if declared is not None else canonical_text(values).drop_nulls().unique().sort().to_list()
    members = pl.DataFrame({"cell": np.arange(len(cells.distinct)), "value": cells.distinct}).explode("value")
    code = _named(members["value"], names)
    many = len(cells.distinct)
    unknown = np.zeros(many, np.bool_)
    unknown[members["cell"].to_numpy()[code < 0]] = True
    if unknown.any() and not (beyond and declared is None):
        raise VerificationError(f"column {column.name!r} has values that the snapshot does not", column=column.name)
    cell, code = members["cell"].to_numpy()[code >= 0], code[code >= 0]
    present = code < len(names)
    lo, hi = np.full(many, len(names), np.int32), np.full(many, -1, np.int32)
    np.minimum.at(lo, cell[present], code[present])
    np.maximum.at(hi, cell[present], code[present])
    null = np.zeros(many, np.bool_)
    null[cell[~present]] = True
    listed = np.unique(cell[present].astype(np.int64) * (len(names) + 1) + code[present]).astype(np.int64)
    return QuasiColumn(column.name, _named(values, names), len(names), lo, hi, null, listed, unknown)
