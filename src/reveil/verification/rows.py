"""Each row against the record it publishes, where the publisher says which that is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import VerificationError
from reveil.releases.table import COUNT, GROUP

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reveil.releases.release import Release
    from reveil.tables.snapshot import Snapshot
    from reveil.verification.arrays import AnyInts, Bools, Codes
    from reveil.verification.cells import QuasiColumn
    from reveil.verification.counting import PublishedGroups


_PIECE = 1 << 18  # rows that are compared at once


def check_placement(release: Release, records: int, placement: AnyInts, groups: PublishedGroups) -> None:
    """Check that the placement is of this table, each record in it once, and that the other rows are counterfeits."""
    if len(placement) != len(release.classes):
        raise VerificationError("the placement has another number of rows than the table")
    if placement.min(initial=0) < -1 or placement.max(initial=-1) >= records:
        raise VerificationError("the placement names a record that the snapshot does not have")
    fake = placement < 0
    if (np.bincount(groups.of_row[fake], minlength=len(groups.fakes)) != groups.fakes).any():
        raise VerificationError("the rows without a record are not the counterfeits that the manifest counts")
    if np.bincount(placement[~fake], minlength=1).max() > 1:
        raise VerificationError("a record is published twice")


def check_rows(
    release: Release,
    snapshot: Snapshot,
    lines: Iterable[QuasiColumn],
    placement: AnyInts,
    groups: PublishedGroups,
    deepest: Codes | None = None,
    excused: Bools | None = None,
) -> None:
    """Check each row that is not counterfeit against the record it publishes.

    ``deepest``: where boxes are nested, the level of the innermost box that holds each record. ``excused`` rows may
    show another sensitive value than the snapshot has, by the rule of the series.
    """
    fake = placement < 0
    real = np.flatnonzero(~fake) if fake.any() else None
    records = placement if real is None else placement[real]
    classes = release.classes if real is None else release.classes[real]
    pieces = [slice(start, start + _PIECE) for start in range(0, len(records), _PIECE)]
    for line in lines:
        cells = release.cells[line.name].index
        for piece in pieces:
            inside = line.admits(cells[classes[piece]], line.codes[records[piece]])
            if not inside.all():
                raise VerificationError(
                    f"row {_row(inside, real, piece.start)} is outside its box in column {line.name!r}",
                    column=line.name,
                )
    if deepest is not None and release.levels is not None:
        right = deepest[records] == release.levels[classes]
        if not right.all():
            raise VerificationError(
                f"row {_row(right, real)} belongs to a box further inside its own",
                hint="A record is published with the innermost box that holds it.",
            )
    for name in release.values.columns:
        free = excused if excused is not None and name in snapshot.schema.sensitive else None
        for piece in pieces:
            rows = slice(piece.start, piece.start + _PIECE) if real is None else real[piece]
            published, raw = release.values[name][rows], snapshot.frame[name].gather(records[piece])
            if published.equals(raw, null_equal=True):
                continue
            if (
                free is None
                or published.dtype != raw.dtype
                or not (published.eq_missing(raw).to_numpy() | free[rows]).all()
            ):
                raise VerificationError(f"column {name!r} was altered", column=name)
    if release.batch is not None:
        _check_batch(release.batch, snapshot, groups, records, real)


def _row(good: Bools, real: AnyInts | None, first: int = 0) -> int:
    """Return the first row that is not good, counted from 1; ``first``: so many rows stand before these."""
    at = first + int(np.flatnonzero(~good)[0])
    return (at if real is None else int(real[at])) + 1


def _check_batch(
    batch: pl.DataFrame, snapshot: Snapshot, groups: PublishedGroups, records: AnyInts, real: AnyInts | None
) -> None:
    """Check that the second table holds the values of each group's records, and beside them its counterfeits'."""
    place = groups.of_row if real is None else groups.of_row[real]
    names = batch.columns[1:-1]
    told = pl.DataFrame({GROUP: pl.Series(groups.numbers[place]).cast(batch[GROUP].dtype)})
    told = told.with_columns(snapshot.frame[name].gather(records) for name in names)
    counted = told.group_by(told.columns).agg(pl.len().cast(pl.Int64).alias("own"))
    try:
        both = batch.join(counted, on=[GROUP, *names], how="full", nulls_equal=True, coalesce=True)
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
