"""Sensitive numbers by declared bins: the bin is the value that is published, compared and remembered.

Exact numbers would let a row be followed from release to release. Bins lie between *edges*: below the first one, from
each edge up to the next, and from the last one on. They are declared, or round ones that the first release of a series
fixes (:func:`round_edges`).
"""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

Edges = tuple[int | float, ...]
_BELOW, _FROM, _BETWEEN = "below {0}", "{0} or more", "{0} to below {1}"
_NUMBER = r"(-?[0-9.]+(?:e[+-]?[0-9]+)?)"
_READ = re.compile(f"below {_NUMBER}|{_NUMBER} or more|{_NUMBER} to below {_NUMBER}")


def edges_of(name: str, given: object) -> Edges:
    """Return declared edges, ascending; whole ones as whole numbers."""
    wrong = ConfigError(
        f"column {name!r}: bins must be a whole number from 2 up, or a list of ascending edges",
        column=name,
        hint="bins = [0, 10, 20] has four bins: below 0, 0 to below 10, 10 to below 20, 20 or more.",
    )
    if not isinstance(given, list | tuple) or not given:
        raise wrong
    if any(isinstance(edge, bool) or not isinstance(edge, int | float) or not math.isfinite(edge) for edge in given):
        raise wrong
    if any(one >= other for one, other in pairwise(given)):
        raise wrong
    return tuple(_whole(edge) for edge in given)


def labels_of(edges: Edges) -> tuple[str, ...]:
    """Return what the bins are called, in their order.

    >>> labels_of((0, 10))
    ('below 0', '0 to below 10', '10 or more')
    """
    inner = [_BETWEEN.format(_text(one), _text(other)) for one, other in pairwise(edges)]
    return (_BELOW.format(_text(edges[0])), *inner, _FROM.format(_text(edges[-1])))


def in_bins(series: pl.Series, edges: Edges) -> pl.Series:
    """Return the bin of each number, by its name; a missing number has none."""
    place = np.searchsorted(np.array(edges, np.float64), series.cast(pl.Float64).fill_null(0).to_numpy(), side="right")
    binned = pl.Series(labels_of(edges)).gather(place)
    return pl.select(pl.when(series.is_not_null()).then(binned)).to_series().alias(series.name)


def round_edges(series: pl.Series, bins: int) -> Edges:
    """Return edges of about so many bins, with about as many records in each: round numbers near the quantiles.

    Few digits are kept, as many as tell the edges apart; of numbers that repeat a lot there may be fewer bins.
    """
    numbers = series.cast(pl.Float64).drop_nulls().to_numpy()
    if not len(numbers):
        return (0,)
    cuts = np.quantile(numbers, np.arange(1, bins) / bins, method="inverted_cdf")
    spread = float(np.subtract(*np.quantile(numbers, [0.95, 0.05]))) or float(np.ptp(numbers)) or 1.0
    step = 10.0 ** math.floor(math.log10(spread / bins))
    for size in (step, step / 10, step / 100):
        digits = max(0, -round(math.log10(size)))
        found = np.unique(np.round(np.round(cuts / size) * size, digits))
        if len(found) == len(np.unique(cuts)):
            break
    return tuple(_whole(float(edge)) for edge in found)


def ends_of(label: str) -> tuple[float, float]:
    """Return between which numbers a bin lies, by its name; infinite where it is open. No bin: ValueError.

    >>> ends_of("0 to below 10")
    (0.0, 10.0)
    """
    found = _READ.fullmatch(label)
    if found is None:
        raise ValueError("this is no bin")
    below, over, low, high = found.groups()
    if below is not None:
        return -math.inf, float(below)
    return (float(over), math.inf) if over is not None else (float(low), float(high))


def edges_in(labels: Sequence[str]) -> Edges | None:
    """Return the edges of bins by their names in order; None where these are no bins."""
    try:
        ends = [ends_of(label) for label in labels]
    except ValueError:
        return None
    edges = tuple(_whole(low) for low, _ in ends[1:])
    return edges if edges and labels_of(edges) == tuple(labels) else None


def _whole(edge: float) -> int | float:
    return int(edge) if float(edge).is_integer() else float(edge)


def _text(edge: float) -> str:
    return repr(edge)
