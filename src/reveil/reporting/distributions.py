"""One column, and two of them crossed, before and after: counts in bins of numbers and dates, or by value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.core.arrays import IntArray
    from reveil.core.json_values import JSON
    from reveil.tables.schema import Schema

Bins = tuple[list[str], npt.NDArray[np.int64], npt.NDArray[np.int64]]  # labels, and the places of before and after
BARS = 12  # of a column
ROWS, COLUMNS = 6, 5  # of a cross table
PAIRS = 6  # cross tables
OTHERS, MISSING = "(others)", "(missing)"


def distribution(name: str, before: pl.Series, after: pl.Series) -> dict[str, JSON]:
    """Return how many records each bin or value had, and has now; ``moved``: the share that is elsewhere."""
    labels, one, other = binned(before, after, BARS)
    was, now = (np.bincount(place, minlength=len(labels)) for place in (one, other))
    share = [many / max(many.sum(), 1) for many in (was, now)]
    return {
        "name": name,
        "moved": float(np.abs(share[0] - share[1]).sum() / 2),
        "bars": [
            {"label": label, "before": int(a), "after": int(b)} for label, a, b in zip(labels, was, now, strict=True)
        ],
    }


def cross_tables(
    before: pl.DataFrame, after: pl.DataFrame, schema: Schema, names: Sequence[str]
) -> list[dict[str, JSON]]:
    """Cross the first sensitive column with the quasi columns; without one, the first quasi column with the others."""
    sensitive = [name for name in schema.sensitive if name in names]
    quasi = [name for name in schema.quasi if name in names]
    across = (sensitive or quasi)[:1]
    return [
        _crossed(name, across[0], before, after)
        for name in [column for column in quasi if column not in across][:PAIRS]
    ]


def _crossed(down: str, across: str, before: pl.DataFrame, after: pl.DataFrame) -> dict[str, JSON]:
    rows, row_before, row_after = binned(before[down], after[down], ROWS)
    columns, column_before, column_after = binned(before[across], after[across], COLUMNS)
    was, now = (
        np.bincount(row * len(columns) + column, minlength=len(rows) * len(columns)).reshape(len(rows), len(columns))
        for row, column in ((row_before, column_before), (row_after, column_after))
    )
    return {
        "down": down,
        "across": across,
        "columns": columns,
        "rows": [{"label": label, "before": was[n].tolist(), "after": now[n].tolist()} for n, label in enumerate(rows)],
    }


def binned(before: pl.Series, after: pl.Series, most: int) -> Bins:
    """Return the labels of bins, and the bin of each record before and after: by value where these are not many."""
    ordered = before.dtype.is_numeric() or before.dtype.is_temporal()
    if ordered and before.n_unique() > most and after.dtype.is_numeric() == before.dtype.is_numeric():
        return _ranges(before, after, most)
    texts = [canonical_text(cells) for cells in (before, after)]
    many = texts[0].drop_nulls().value_counts(sort=True, name="\0n")
    kept = many[before.name].head(most if many.height <= most else most - 1)
    if ordered:
        kept = canonical_text(before.drop_nulls().unique().sort())
    labels = [*kept.to_list(), OTHERS, MISSING]
    places = [
        cells.replace_strict(kept, pl.Series(np.arange(len(kept))), default=len(kept), return_dtype=pl.Int64)
        .set(cells.is_null(), len(kept) + 1)
        .to_numpy()
        for cells in texts
    ]
    return _filled(labels, *places)


def _ranges(before: pl.Series, after: pl.Series, most: int) -> Bins:
    """Cut the range of the records of before into equal parts; what is beyond is in the outer ones."""
    numbers = [cells.to_physical().cast(pl.Float64) for cells in (before, after.cast(before.dtype, strict=False))]
    low, high = float(numbers[0].min() or 0.0), float(numbers[0].max() or 0.0)  # type: ignore[arg-type]
    edges = np.linspace(low, high, most + 1)
    whole = before.dtype.is_integer() or before.dtype == pl.Date
    if whole:
        edges = np.unique(np.floor(edges))
    first, last = edges[:-1], edges[1:].copy()
    if whole:
        last[:-1] -= 1  # a bin ends before the next begins
    starts, ends = (_written(each, before) for each in (first, last))
    labels = [one if one == other else f"{one}–{other}" for one, other in zip(starts, ends, strict=True)] + [MISSING]
    places = []
    for cells in numbers:
        values = cells.fill_null(low).fill_nan(low).to_numpy()
        place = np.clip(np.searchsorted(edges, values, "right") - 1, 0, len(edges) - 2)
        places.append(np.where(cells.is_null().to_numpy(), len(edges) - 1, place))
    return _filled(labels, *places)


def _written(numbers: npt.NDArray[np.float64], like: pl.Series) -> list[str]:
    """Write numbers as the column has its values."""
    if like.dtype.is_temporal():
        return canonical_text(pl.Series(numbers).cast(like.to_physical().dtype).cast(like.dtype)).to_list()
    return [f"{number:.6g}" for number in numbers]


def _filled(labels: list[str], one: IntArray, other: IntArray) -> Bins:
    """Leave out the bins in which nobody is."""
    held = np.bincount(one, minlength=len(labels)) + np.bincount(other, minlength=len(labels)) > 0
    place = np.cumsum(held) - 1
    return [label for label, has in zip(labels, held, strict=True) if has], place[one], place[other]
