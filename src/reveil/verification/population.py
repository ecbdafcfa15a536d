"""How many people of a registration list, who are not in the table, lie in the box of each group."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from reveil.errors import VerificationError
from reveil.notation import parsed
from reveil.schema import Role, Schema
from reveil.snapshot import canonical_text, read_snapshot
from reveil.verification.cells import line_of
from reveil.verification.geometry import points_in_boxes

if TYPE_CHECKING:
    from reveil.verification.arrays import Ints
    from reveil.verification.shown import Shown


def absent_in(shown: Shown) -> Ints:
    """Count the listed people who are not in the table, group by group; one in two boxes would dilute neither."""
    snapshot, release, groups = shown.snapshot, shown.release, shown.groups
    if snapshot is None or snapshot.schema.person is None:
        raise VerificationError(
            "a release that a registration list dilutes can be judged beside its snapshot only",
            hint="Give the snapshot it was made of.",
        )
    schema, person = snapshot.schema, snapshot.schema.person
    columns = [column for column in schema.columns if column.role is Role.PERSON or column.name in release.cells]
    listed = read_snapshot(
        _selected(shown.population, [column.name for column in columns]), Schema.of(columns, schema.null_values)
    ).frame
    here = canonical_text(snapshot.frame[person])
    listed = listed.filter(~canonical_text(listed[person]).is_in(here.implode()))
    if not listed.height:
        return np.zeros(len(groups.numbers), np.int64)
    lines = []
    for name, cells in release.cells.items():
        values, dtype = listed[name], snapshot.frame[name].dtype
        if values.dtype != dtype:
            values = parsed(canonical_text(values), dtype)
        # Cells may name values that nobody on the list has.
        lines.append((line_of(pl.concat([values, snapshot.frame[name]]), schema[name], cells), cells.index))
    many = listed.height
    points = np.stack([line.codes[:many] for line, _ in lines], axis=1)
    lo = np.stack([line.hull[0][index] for line, index in lines], axis=1)
    hi = np.stack([line.hull[1][index] for line, index in lines], axis=1)
    point, box = points_in_boxes(points, lo, hi)
    good = np.ones(len(point), np.bool_)
    for at, (line, index) in enumerate(lines):
        good &= line.admits(index[box], points[point, at])
    point, box = point[good], box[good]
    of_box = pl.DataFrame({"box": release.classes.astype(np.int64), "group": groups.of_row.astype(np.int64)}).unique()
    inside = pl.DataFrame({"point": point, "box": box}).join(of_box, on="box")
    if inside["point"].is_duplicated().any():
        raise VerificationError("a person of the registration list lies in the boxes of two groups")
    return np.bincount(inside["group"].to_numpy(), minlength=len(groups.numbers)).astype(np.int64)


def _selected(population: Any, names: list[str]) -> pl.DataFrame:
    """Return the columns of a list that a release has, as texts where they come from a CSV file."""
    try:
        if isinstance(population, str | Path):
            path = Path(population)
            csv = path.suffix.lower() != ".parquet"
            frame = pl.read_csv(path, infer_schema=False) if csv else pl.read_parquet(path)
        else:
            frame = population if isinstance(population, pl.DataFrame) else pl.DataFrame(population)
        return frame.select(names)
    except (OSError, pl.exceptions.PolarsError):
        raise VerificationError("the registration list cannot be read, or lacks a column") from None
