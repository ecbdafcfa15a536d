"""What a file tells beside its cells: the order of rows, of the members of sets, of the second table, and metadata.

None of it may follow the raw table. Whether dice were rolled no file can show; that rows lie in the order of the
records can be seen, and so can members of a set that are in no order of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import VerificationError
from reveil.releases.files import tables_of
from reveil.tables.formats import find_format
from reveil.tables.notation import Form

if TYPE_CHECKING:
    from reveil.releases.release import Release
    from reveil.tables.schema import Schema
    from reveil.verification.arrays import AnyInts, Codes

_PIECE = 1 << 18  # rows that are looked at at once
_FEW = 16  # rows in order by chance: less than once in 10**13
_DEVIATIONS = 9.0  # of a correlation of so many rows that dice put in order: less than once in 10**18


def check_order(placement: AnyInts) -> None:
    """Refuse rows that lie in the order of the records: whoever knows that order knows whose each row is."""
    real = placement[placement >= 0]
    n = len(real)
    if n < _FEW:
        return
    in_order = bool((real[1:] > real[:-1]).all() or (real[1:] < real[:-1]).all())
    rank, middle = _ranks(real), (n - 1) / 2
    together = spread = 0.0
    for start in range(0, n, _PIECE):
        place = np.arange(start, min(start + _PIECE, n)) - middle
        together += float(((rank[start : start + _PIECE] - middle) * place).sum())
        spread += float((place * place).sum())
    if in_order or abs(together / spread) * np.sqrt(n) > _DEVIATIONS:
        raise VerificationError(
            "the rows lie in the order of the records",
            hint="Whoever knows the order of the table could tell whose each row is.",
        )


def _ranks(records: AnyInts) -> Codes:
    """Return how many of some different records stand before each in the table."""
    seen = np.zeros(int(records.max()) + 1, np.bool_)
    seen[records] = True
    return (np.cumsum(seen, dtype=np.int32) - np.int32(1))[records]


def check_sets(release: Release, schema: Schema) -> None:
    """Refuse sets whose members are in no order of their own: it would be that of the table."""
    for name, cells in release.cells.items():
        if cells.form is not Form.SET or not len(cells.distinct):
            continue
        order = schema[name].order
        members = pl.DataFrame({"cell": np.arange(len(cells.distinct)), "value": cells.distinct}).explode("value")
        members = members.drop_nulls("value")
        if order is not None:
            rank = {value: place for place, value in enumerate(order)}
            members = members.with_columns(pl.col("value").replace_strict(rank, default=-1, return_dtype=pl.Int64))
        ascending = members.select(
            (pl.col("value") > pl.col("value").shift(1).over("cell")).fill_null(True).all()
        ).item()
        last = cells.distinct.list.last().is_null() | ~cells.distinct.list.contains(None, nulls_equal=True)
        if not (ascending and last.fill_null(True).all()):
            raise VerificationError(f"column {name!r} has sets whose members are not in order", column=name)
    batch = release.batch
    if batch is not None and not batch.equals(batch.sort(batch.columns[:-1]), null_equal=True):
        raise VerificationError("the second table is not in order")


def check_files(release: Release) -> None:
    """Refuse files that say more than their cells: metadata of any kind beside the types of columns."""
    if release.source is None:
        return
    for table in tables_of(release.source, release.manifest):
        if find_format(table).says_more(table):
            raise VerificationError("this file carries more than its table", file=table)
