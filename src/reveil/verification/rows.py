"""Each row against the record it publishes, where the publisher says which that is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.errors import VerificationError
from reveil.release import COUNT, GROUP
from reveil.threads import each

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.admitted import Admitted
    from reveil.codes import Attribute, Codes
    from reveil.groups import Groups
    from reveil.release import Release
    from reveil.snapshot import Snapshot
    from reveil.statistics import CodeArray

Placement = npt.NDArray[np.integer]


def check_placement(release: Release, snapshot: Snapshot, placement: Placement, groups: Groups) -> None:
    """Check that the placement is of this table, and that the rows without a record are its counterfeits."""
    if len(placement) != len(release.classes):
        raise VerificationError("the placement has another number of rows than the table")
    if placement.min(initial=0) < -1 or placement.max(initial=-1) >= snapshot.frame.height:
        raise VerificationError("the placement names a record that the snapshot does not have")
    if (np.bincount(groups.index[placement < 0], minlength=len(groups.fakes)) != groups.fakes).any():
        raise VerificationError("the rows without a record are not the counterfeits that the manifest counts")


def check_rows(
    release: Release,
    snapshot: Snapshot,
    codes: Codes,
    admitted: Mapping[str, Admitted],
    placement: Placement,
    groups: Groups,
    deepest: CodeArray | None = None,
) -> None:
    """Check each row that is not counterfeit against the record it publishes.

    ``deepest``: where boxes are nested, the level of the innermost box that holds each record.
    """
    fake = placement < 0
    real = np.flatnonzero(~fake) if fake.any() else None
    records = placement if real is None else placement[real]
    _check_cells(release, snapshot.frame.height, codes, admitted, records, real)
    if deepest is not None and release.levels is not None:
        told = release.levels[release.classes if real is None else release.classes[real]]
        further = np.flatnonzero(deepest[records] != told)
        if len(further):
            row = int(further[0] if real is None else real[further[0]])
            raise VerificationError(
                f"row {row + 1} belongs to a box further inside its own",
                hint="A record is published with the innermost box that holds it.",
            )
    for name in release.values.columns:
        own = release.values[name] if real is None else release.values[name].gather(real)
        if not own.equals(snapshot.frame[name].gather(records), null_equal=True):
            raise VerificationError(f"column {name!r} was altered", column=name)
    if release.batch is not None:
        _check_batch(release.batch, snapshot, groups, records, real)


def _check_cells(
    release: Release,
    n: int,
    codes: Codes,
    admitted: Mapping[str, Admitted],
    records: Placement,
    real: npt.NDArray[np.intp] | None,
) -> None:
    """Check that every published record is inside its box, and published once."""
    rows = np.full(n, -1, np.int32)
    rows[records] = np.arange(len(records), dtype=np.int32) if real is None else real
    published = rows >= 0
    if int(published.sum()) != len(records):
        raise VerificationError("a record is published twice")
    # In the order of the records: then only their classes are looked up at random, not every column.
    everybody = bool(published.all())
    rows = rows if everybody else rows[published]
    classes = release.classes[rows]

    def outside(attribute: Attribute) -> int:
        own = attribute.codes if everybody else attribute.codes[published]
        inside = admitted[attribute.name].contains(release.cells[attribute.name].index[classes], own)
        return -1 if inside.all() else int(rows[np.flatnonzero(~inside)[0]])

    for attribute, row in zip(codes.quasi, each(outside, codes.quasi), strict=True):
        if row >= 0:
            raise VerificationError(
                f"row {row + 1} is outside its box in column {attribute.name!r}", column=attribute.name
            )


def _check_batch(
    batch: pl.DataFrame, snapshot: Snapshot, groups: Groups, records: Placement, real: npt.NDArray[np.intp] | None
) -> None:
    """Check that the second table holds the values of each group's records, and beside them its counterfeits'."""
    index = groups.index if real is None else groups.index[real]
    names = batch.columns[1:-1]
    told = pl.DataFrame({GROUP: pl.Series(groups.numbers[index]).cast(batch[GROUP].dtype)})
    told = told.with_columns(snapshot.frame[name].gather(records) for name in names)
    own = told.group_by(told.columns).agg(pl.len().cast(pl.Int64).alias("own"))
    try:
        both = batch.join(own, on=[GROUP, *names], how="full", nulls_equal=True, coalesce=True)
    except pl.exceptions.PolarsError:
        raise VerificationError("the sensitive table has columns of another type than the snapshot") from None
    rest = both.select(GROUP, (pl.col(COUNT).fill_null(0) - pl.col("own").fill_null(0)).alias("rest"))
    left = rest.group_by(GROUP).agg(pl.col("rest").sum()).sort(GROUP)
    if (
        batch.select(pl.struct(GROUP, *names).is_duplicated().any()).item()
        or (batch[COUNT] < 1).any()
        or (rest["rest"] < 0).any()
        or not np.array_equal(left["rest"], groups.fakes)
    ):
        raise VerificationError("the sensitive table was altered")
