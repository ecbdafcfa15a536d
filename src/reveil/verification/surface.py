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
    from collections.abc import Iterable

    from reveil.releases.release import Release
    from reveil.tables.schema import Schema
    from reveil.verification.arrays import AnyInts, Codes

_PIECE = 1 << 18  # rows that are looked at at once
_FEW = 16  # rows in order by chance: less than once in 10**13
_UNLIKELY = 41.0  # chance deals parts like that less than once in exp(41), or 10**17
_DEVIATIONS = 9.0  # of a correlation of so many rows that dice put in order: less than once in 10**18


def check_order(placement: AnyInts) -> None:
    """Refuse rows that lie in the order of the records: whoever knows that order knows whose each row is.

    Rows about nobody that lie at one end are refused, too: they would tell which rows are counterfeits.
    """
    real = placement[placement >= 0]
    n = len(real)
    nobody = np.flatnonzero(placement < 0)
    _check_spread(float((nobody + 0.5).sum()) / max(len(placement), 1), len(nobody))
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


def _check_spread(places: float, rows: int) -> None:
    """Refuse rows about nobody whose places, from 0 to 1 and added up, are not what dice make of them."""
    if abs(places - rows / 2) > _DEVIATIONS * np.sqrt(rows / 12):
        raise VerificationError(
            "the counterfeits lie together",
            hint="Whoever sees where a row lies could tell whether it is a counterfeit.",
        )


def check_parts(placements: Iterable[AnyInts]) -> None:
    """Refuse parts of which one has other records than dice would deal to it, or that together follow the records.

    :func:`check_order` sees what is inside one part. The order is judged here as there, with the numbers of records for
    their ranks. And the mean of a part's records is as far from that of all as chance allows: the squares of these
    distances, each divided by its variance, add up to chi-squared (the bound is that of Laurent and Massart 2000).
    """
    rows = before = nobody = 0
    inside = anywhere = 0.0  # places of rows about nobody in their parts and in all, added up
    total = square = along = places = 0.0
    parts: list[tuple[int, float]] = []
    for placement in placements:
        known = np.flatnonzero(placement >= 0)
        real, place = placement[known].astype(np.float64), (before + known).astype(np.float64)
        parts.append((len(real), float(real.sum())))
        fake = np.flatnonzero(placement < 0)
        nobody += len(fake)
        inside += float((fake + 0.5).sum()) / max(len(placement), 1)
        anywhere += float((fake + before + 0.5).sum())
        rows, before = rows + len(real), before + len(placement)
        total, square = total + float(real.sum()), square + float((real * real).sum())
        along, places = along + float((real * place).sum()), places + float(place.sum())
    _check_spread(inside, nobody)
    _check_spread(anywhere / max(before, 1), nobody)
    parts = [part for part in parts if part[0]]
    spread = square / max(rows, 1) - (total / max(rows, 1)) ** 2  # the variance of the numbers of all records
    if rows < _FEW or len(parts) < 2 or spread <= 0:
        return
    slope = (along - total * places / rows) / np.sqrt(spread * before**3 / 12)
    apart = sum((many * (added / many - total / rows) ** 2) / spread for many, added in parts)
    free = len(parts) - 1
    if abs(slope) > _DEVIATIONS or apart > free + 2 * np.sqrt(free * _UNLIKELY) + 2 * _UNLIKELY:
        raise VerificationError(
            "the parts follow the order of the records",
            hint="Whoever knows the order of the table could tell in which part each record is.",
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
        value, cell = pl.col("value"), pl.col("cell")
        ascending = members.select(((value > value.shift(1)) | (cell != cell.shift(1))).fill_null(True).all()).item()
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
