"""Hierarchies made from the values of a column: periods, prefixes, nested bins, runs of an order, clusters.

Each maker returns one path for each value, from the value to the root, as an ARX hierarchy file has its lines. Nothing
is looked at but the values of the column itself; clusters also look at the quasi columns that are published beside it,
and never at a sensitive one: what is near in a sensitive column would be told by the labels.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import ConfigError, DataError, shown
from reveil.tables.hierarchy import ROOT, Taxonomy
from reveil.tables.snapshot.types import canonical_text, type_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

Path_ = tuple[str, ...]  # from the value to the root
PERIODS = ("day", "month", "quarter", "year")
_MOST_CLUSTERED = 5_000  # distances between all pairs are kept
_MOST_FILLED = 50_000  # days or numbers that are listed though no record has them
_COMPARED = 20  # values of a column beside it whose shares are compared
_LONGEST_LABEL = 40


def by_periods(values: pl.Series, levels: Sequence[str]) -> list[Path_]:
    """Group dates by day, month, quarter or year."""
    unknown = [level for level in levels if level not in PERIODS]
    places = [PERIODS.index(level) for level in levels if level in PERIODS]
    if unknown or not levels or places != sorted(set(places)):
        raise ConfigError(
            "the levels of dates must be some of day, month, quarter and year, in this order", hint="--dates month,year"
        )
    if values.dtype not in (pl.Date, pl.Datetime):
        raise _wrong(values, "dates", 'declare type = "date" and its format under [input]')
    values = _all_days(values)
    names = {
        "day": values.dt.strftime("%Y-%m-%d"),
        "month": values.dt.strftime("%Y-%m"),
        "quarter": values.dt.strftime("%Y") + "-Q" + values.dt.quarter().cast(pl.String),
        "year": values.dt.strftime("%Y"),
    }
    return _paths(canonical_text(values), [names[level] for level in levels])


def by_prefix(values: pl.Series, lengths: Sequence[int]) -> list[Path_]:
    """Group codes by their first characters: ``44101`` under ``441*``."""
    if not lengths or min(lengths) < 1 or list(lengths) != sorted(set(lengths), reverse=True):
        raise ConfigError("the lengths of prefixes must get shorter", hint="--prefix 3,2,1")
    texts = canonical_text(values)
    return _paths(texts, [texts.str.slice(0, length) + "*" for length in lengths])


def by_bins(values: pl.Series, widths: Sequence[float]) -> list[Path_]:
    """Group numbers in bins that begin at multiples of their width; each width is a multiple of the one before."""
    if not values.dtype.is_numeric():
        raise _wrong(values, "numbers", "declare its decimal sign under [input], or its marks for missing cells")
    nested = all(wide > narrow and _is_multiple(wide, narrow) for narrow, wide in pairwise(widths))
    if not widths or min(widths) <= 0 or not nested:
        raise ConfigError(
            "each width of the bins must be a multiple of the one before",
            hint="--bins 5,10,20: bins lie in each other.",
        )
    whole = values.dtype.is_integer() and all(float(width).is_integer() for width in widths)
    values = _all_numbers(values, int(widths[-1])) if whole else values
    numbers = values.cast(pl.Int64 if whole else pl.Float64)
    levels = []
    for width in widths:
        step = int(width) if whole else width
        low = (numbers // step) * step if whole else (numbers / step).floor() * step
        high = low + step - (1 if whole else 0)
        levels.append(canonical_text(low) + (" to " if whole else " to under ") + canonical_text(high))
    if whole and widths[0] == 1:
        levels = levels[1:]
    return _paths(canonical_text(values), levels)


def by_order(values: pl.Series, order: Sequence[str], sizes: Sequence[int], *, show: bool = True) -> list[Path_]:
    """Group the values of an order in runs of neighbours; values that the order does not have are refused."""
    nested = all(large > small and large % small == 0 for small, large in pairwise(sizes))
    if not order or len(set(order)) < len(order) or not sizes or min(sizes) < 2 or not nested:
        raise ConfigError(
            "an order has a line for each value, and runs whose sizes are multiples of each other", hint="--bins 2,4"
        )
    texts = canonical_text(values)
    missing = texts.filter(~texts.is_in(pl.Series(list(order)).implode()))
    if len(missing):
        seen = f": {shown(missing)}" if show else ""
        raise DataError(
            f"column {values.name!r}: {len(missing):,} different values are not in the order{seen}",
            column=values.name,
            hint="Add a line for each where it belongs.",
        )
    levels = []
    for size in sizes:
        runs = [order[at : at + size] for at in range(0, len(order), size)]
        labels = {value: f"{run[0]} to {run[-1]}" if len(run) > 1 else run[0] for run in runs for value in run}
        levels.append([labels[value] for value in order])
    return [(value, *(level[at] for level in levels), ROOT) for at, value in enumerate(order)]


def by_clusters(values: pl.Series, beside: pl.DataFrame, number: int) -> list[Path_]:
    """Group categories of which the records look alike in the columns that are published beside this one."""
    from scipy.cluster.hierarchy import fcluster, linkage

    texts = canonical_text(values)
    categories = texts.drop_nulls().unique().sort()
    if not 2 <= number < len(categories):
        raise ConfigError(
            f"--cluster must be from 2 to {max(len(categories) - 1, 2):,}: "
            f"the column has {len(categories):,} different values",
            hint="Fewer clusters than values, and at least two.",
        )
    if len(categories) > _MOST_CLUSTERED:
        raise ConfigError(f"more than {_MOST_CLUSTERED:,} values cannot be clustered", hint="Use --prefix or --order.")
    features = [_feature(texts, beside[name], categories) for name in beside.columns]
    if not features:
        raise ConfigError("no other quasi column is published beside this one", hint="Use --prefix or --order.")
    found = fcluster(linkage(np.hstack(features), "ward"), number, "maxclust")
    members: dict[int, list[str]] = {}
    for value, cluster in zip(categories, found, strict=True):
        members.setdefault(int(cluster), []).append(value)
    labels = {cluster: _label(names) for cluster, names in members.items()}
    return [(value, labels[cluster], ROOT) for cluster, names in members.items() for value in names]


def _feature(texts: pl.Series, column: pl.Series, categories: pl.Series) -> npt.NDArray[np.float64]:
    """Return for each category where its records lie in a column: their mean rank, or the shares of its values."""
    rows = pl.DataFrame({"own": texts, "x": column}).drop_nulls()
    base = pl.DataFrame({"own": categories})
    if column.dtype.is_numeric() or column.dtype.is_temporal():
        ranked = rows.with_columns(x=(pl.col("x").rank() / max(rows.height, 1)))
        means = base.join(ranked.group_by("own").agg(pl.col("x").mean()), on="own", how="left", maintain_order="left")
        return means["x"].fill_null(0.5).to_numpy().reshape(-1, 1).astype(np.float64)
    common = rows["x"].cast(pl.String).value_counts(sort=True).head(_COMPARED)["x"].sort()
    shares = [
        base.join(
            rows.group_by("own").agg((pl.col("x").cast(pl.String) == value).mean().alias("x")),
            on="own",
            how="left",
            maintain_order="left",
        )["x"].fill_null(0.0)
        for value in common
    ]
    if not shares:
        return np.zeros((len(categories), 1))
    # Two columns count the same, however many values they have.
    return np.asarray(np.column_stack([share.to_numpy() for share in shares]) / np.sqrt(2), np.float64)


def hierarchy_text(paths: Sequence[Path_]) -> str:
    """Write a hierarchy as ARX reads it: a line for each value, from the value to the root."""
    text = io.StringIO()
    csv.writer(text, delimiter=";", lineterminator="\n").writerows(paths)
    return text.getvalue()


def tree_lines(taxonomy: Taxonomy, most: int = 6) -> list[str]:
    """Draw a hierarchy, a few of its nodes and values."""
    lines: list[str] = []

    def draw(node: int, level: int, indent: str) -> None:
        lo, hi = int(taxonomy.lo[node]), int(taxonomy.hi[node])
        size = hi - lo + 1
        lines.append(f"{indent}{taxonomy.labels[node]}" + (f"  ({size:,} values)" if size > 1 else ""))
        below = level + 1
        while below < taxonomy.levels.shape[0]:
            inner = list(dict.fromkeys(taxonomy.levels[below, lo : hi + 1].tolist()))
            if inner != [node]:
                for one in inner[:most]:
                    draw(one, below, indent + "  ")
                if len(inner) > most:
                    lines.append(f"{indent}  ... {len(inner) - most:,} more")
                return
            below += 1

    draw(int(taxonomy.levels[0, 0]), 0, "")
    return lines


def _all_days(values: pl.Series) -> pl.Series:
    """Return every day of the years of some dates: the file says nothing of who was there, and fits later tables."""
    if values.dtype != pl.Date or values.is_empty():
        return values
    years = values.dt.year()
    first, last = dt.date(int(years.min()), 1, 1), dt.date(int(years.max()), 12, 31)  # type: ignore[arg-type]
    if (last - first).days > _MOST_FILLED:
        return values
    return pl.date_range(first, last, eager=True).alias(values.name)


def _all_numbers(values: pl.Series, width: int) -> pl.Series:
    """Return every whole number of the widest bins that some numbers are in."""
    low, high = values.min(), values.max()
    if not isinstance(low, int) or not isinstance(high, int) or high - low > _MOST_FILLED:
        return values
    return pl.Series(values.name, range(low // width * width, (high // width + 1) * width), dtype=pl.Int64)


def _paths(texts: pl.Series, levels: Sequence[pl.Series]) -> list[Path_]:
    table = pl.DataFrame([texts.alias("0"), *(level.alias(str(n)) for n, level in enumerate(levels, 1))])
    # In the order of the values, so that neighbours are neighbours in the file.
    return [(*row, ROOT) for row in table.drop_nulls().unique(maintain_order=True).iter_rows()]


def _label(names: list[str]) -> str:
    """Name a cluster by its members, as many as fit on a line; a label names one set of values only."""
    whole = " / ".join(names)
    return whole if len(whole) <= _LONGEST_LABEL else f"{names[0]} and {len(names) - 1:,} more"


def _wrong(values: pl.Series, wanted: str, remedy: str) -> DataError:
    return DataError(
        f"column {values.name!r} holds {type_of(values.dtype)}, not {wanted}",
        column=values.name,
        hint=f"To have it read so, {remedy}.",
    )


def _is_multiple(wide: float, narrow: float) -> bool:
    return abs(wide / narrow - round(wide / narrow)) < 1e-9
