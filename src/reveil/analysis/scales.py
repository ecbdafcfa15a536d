"""The values of a column as numbers, for means and quantiles, and back: numbers, days and moments, declared orders."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import InputError
from reveil.tables.binning import labels_of
from reveil.tables.expressions.positions import is_line, on_line, span_of

if TYPE_CHECKING:
    from reveil.analysis.reader import ReleaseReader
    from reveil.releases.answers import Value
    from reveil.tables.binning import Edges
    from reveil.tables.expressions.binding import Field
    from reveil.tables.expressions.regions import FloatArray


@dataclass(frozen=True)
class ValueScale:
    """Where the values of a column lie; ``order`` where it is a declared one, ``words`` of numbers under a hierarchy.

    ``whole``: values are one apart, so that an interval from 3 to 5 has three of them.
    """

    dtype: pl.DataType
    whole: bool
    order: tuple[str, ...] | None = None
    edges: Edges | None = None

    def ends(self, values: pl.Series) -> tuple[FloatArray, FloatArray]:
        """Return between which numbers each value lies: itself, or the ends of its bin, which may be open."""
        if self.edges is None:
            at = self.numbers(values)
            return at, at
        known = dict(zip(labels_of(self.edges), _bins(self.edges), strict=True))
        lo, hi = (np.array([known.get(str(v), (np.nan,) * 2)[end] for v in values.to_list()]) for end in (0, 1))
        return lo.astype(np.float64), hi.astype(np.float64)

    def widths(self, values: pl.Series) -> FloatArray:
        """Return how wide the bin of each value is; an open one is taken to be as wide as the one beside it."""
        if self.edges is None:
            return np.zeros(len(values))
        lo, hi = self.ends(values)
        inner = np.diff(np.array(self.edges, np.float64))
        first, last = (inner[0], inner[-1]) if len(inner) else (1.0, 1.0)
        return np.where(np.isneginf(lo), first, np.where(np.isposinf(hi), last, hi - lo))

    def numbers(self, values: pl.Series) -> FloatArray:
        """Return values as numbers, bins by their middle; what is missing is NaN."""
        if self.edges is not None:
            lo, hi = self.ends(values)
            width = self.widths(values)
            return np.where(np.isneginf(lo), hi - width / 2, lo + width / 2)
        if self.order is not None:
            places = {word: place for place, word in enumerate(self.order)}
            return np.array([places.get(str(value), np.nan) for value in values.to_list()], np.float64)
        return on_line(values).cast(pl.Float64).fill_null(float("nan")).to_numpy()

    def of_words(self, words: list[str]) -> FloatArray:
        """Return the numbers of texts, as the cells of a set or a hierarchy have them."""
        if self.order is not None:
            return self.numbers(pl.Series(words, dtype=pl.String))
        spans = [span_of(word, self.dtype) for word in words]
        return np.array([np.nan if span is None else float(span.start.value) for span in spans], np.float64)

    def value(self, number: float | None, *, exact: bool) -> Value | None:
        """Return a number as a value of the column; ``exact``: it is one, and not a mean of some."""
        if number is None or not np.isfinite(number):
            return None
        if self.order is not None:
            return self.order[round(min(max(number, 0), len(self.order) - 1))]
        if self.dtype.is_integer():
            return round(number) if exact else float(number)
        if self.dtype.is_float():
            return float(number)
        if isinstance(self.dtype, pl.Decimal):
            return float(number) / 10.0**self.dtype.scale
        physical = pl.Series([round(number)], dtype=pl.Int32 if self.dtype == pl.Date else pl.Int64)
        found: Value = physical.cast(self.dtype).item()
        return found


def _bins(edges: Edges) -> list[tuple[float, float]]:
    """Return the ends of bins, in their order."""
    return list(pairwise([-np.inf, *map(float, edges), np.inf]))


def scale_of(reader: ReleaseReader, name: str, *, distances: bool) -> ValueScale:
    """Return the scale of a column; ``distances``: an order alone will not do."""
    field: Field = reader.fields[name]
    dtype = reader.dtype(name)
    if field.labels is not None:
        raise InputError(
            f"column {name!r} is published as labels of a hierarchy that is not at hand",
            hint="Name the config with -c (in Python: schema=...): its hierarchy says what lies under a label.",
        )
    if field.order is not None and not distances:
        return ValueScale(dtype, whole=True, order=field.order)
    edges = reader.edges(name)
    if edges is not None:
        return ValueScale(pl.Float64(), whole=False, edges=edges)
    if field.order is not None and not is_line(dtype):
        raise InputError(
            f"column {name!r} has an order and no distances: it has no mean",
            hint=f"Ask quantile({name}, 0.5), or counts.",
        )
    if not is_line(dtype):
        what = "true and false" if dtype == pl.Boolean else "text"
        raise InputError(
            f"column {name!r} holds {what}: it has no {'mean' if distances else 'order, and no quantiles'}",
            hint="Ask for counts or a crosstab; an order for the column can be declared in the config.",
        )
    return ValueScale(dtype, whole=dtype.is_integer() or dtype == pl.Date)
