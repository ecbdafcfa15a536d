"""Scales: into which cell of its dimension each value falls.

A scale is made of values, not of codes: codes are ranks of one release, and a file of regions lasts over several. A
later release puts its values into the same cells, new ones too: a number or a date falls into the cell of the next
lower value that starts one, or into the first cell; a category that the scale does not know falls into the cell behind
the known ones if there is a free one, else into the last. A missing value is in the last cell.

Scales look at quasi values and, with ``quantile``, at how many records have them; never at a sensitive value (*blind*).
"""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import ConfigError, shown
from reveil.core.json_values import list_in, object_in, text_in, whole_in
from reveil.core.threads import each
from reveil.models.encoding import Attribute, Codes, FloatArray, Kind, distances
from reveil.tables.hierarchy import value_text
from reveil.tables.notation import Form, from_text
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reveil.core.arrays import CodeArray, IntArray
    from reveil.core.json_values import JSON

FINE = 10  # bits of a dimension that has more values than cells


@dataclass(frozen=True)
class Scale:
    """The cells of one attribute.

    Of an interval attribute ``texts`` are the values at which cells start, ascending; of others all the categories.
    ``cells`` are the cells they start or are in. Texts are canonical, so that equal values have equal texts.
    """

    name: str
    interval: bool
    bits: int
    texts: tuple[str, ...] = field(repr=False)
    cells: tuple[int, ...] = field(repr=False)

    @property
    def last(self) -> int:
        """The cell of missing values."""
        return (1 << self.bits) - 1

    def of_codes(self, attribute: Attribute) -> CodeArray:
        """Return the cell of each code of an attribute, that of a missing value included."""
        out = np.full(len(attribute.domain) + 1, self.last, np.int32)
        if len(attribute.domain):
            cells = np.array([0, *self.cells], np.int32)
            if self.interval:
                starts, values = _ranked(pl.Series(self.texts, dtype=pl.String), attribute.domain)
                out[:-1] = cells[np.searchsorted(starts, values, side="right")]
            else:
                unseen = min(max(self.cells, default=-1) + 1, self.last)
                known = pl.DataFrame({"text": pl.Series(self.texts, dtype=pl.String), "cell": cells[1:]})
                texts = canonical_text(attribute.domain).rename("text").to_frame()
                joined = texts.join(known, on="text", how="left", maintain_order="left")
                out[:-1] = joined["cell"].fill_null(unseen).to_numpy()
        return out


@dataclass(frozen=True)
class Scales:
    """The cells of all quasi attributes; ``bits`` says how often each dimension can be halved.

    By default an attribute with at most 2**10 values has a cell for each, and one for missing values; an attribute
    with more has 2**10 - 1 cells of equal width (of equally many values, where the values have no widths) and one for
    missing values. Every cell starts at a value that occurs.
    """

    scales: tuple[Scale, ...]

    @classmethod
    def of(cls, codes: Codes, given: Mapping[str, Sequence[object]] | None = None, *, quantile: bool = False) -> Scales:
        """Make scales for a table.

        ``given`` are cut points of some attributes: the values at which a new cell starts, in ascending order (for
        categories in the order of the codes). A release of some columns has no use for those of the others.
        ``quantile``: cells of equally many records instead of equal width, in attributes with more values than cells.
        """
        wanted = given or {}
        return cls(
            tuple(_cut(a, wanted[a.name]) if a.name in wanted else _spread(a, quantile=quantile) for a in codes.quasi)
        )

    @property
    def bits(self) -> tuple[int, ...]:
        """How often each dimension can be halved."""
        return tuple(scale.bits for scale in self.scales)

    def of_codes(self, codes: Codes) -> tuple[CodeArray, ...]:
        """Return for each attribute the cell of each code, that of a missing value last."""
        names = tuple(a.name for a in codes.quasi)
        if names != tuple(scale.name for scale in self.scales):
            raise ValueError("scales and codes are not of the same attributes")
        return tuple(scale.of_codes(a) for scale, a in zip(self.scales, codes.quasi, strict=True))

    def cells(self, codes: Codes) -> CodeArray:
        """Return the cell of each record in each dimension, stored column by column."""
        tables = self.of_codes(codes)
        out = np.empty((len(tables), codes.n), np.int32)
        each(lambda a: np.take(tables[a], codes.quasi[a].codes, out=out[a], mode="clip"), range(len(tables)), codes.n)
        return out.T

    def codes_of_cells(self, codes: Codes) -> list[tuple[CodeArray, CodeArray]]:
        """Return for each attribute the first and the last code of each cell; the first is larger where there is none.

        Numbers, dates, declared orders and taxonomies keep their order, so that the codes of a run of cells are all
        those from the first to the last. The codes of unordered categories are ranked anew in each release: in a later
        release the codes between the first and the last of a cell may lie elsewhere, see :meth:`of_codes`.
        """
        out = []
        for scale, table in zip(self.scales, self.of_codes(codes), strict=True):
            first = np.full(2**scale.bits, len(table), np.int32)
            last = np.full(2**scale.bits, -1, np.int32)
            places = np.arange(len(table), dtype=np.int32)
            np.minimum.at(first, table, places)
            np.maximum.at(last, table, places)
            out.append((first, last))
        return out

    def state(self) -> dict[str, JSON]:
        """Return the scales as plain values that JSON can hold."""
        return {
            scale.name: {
                "interval": scale.interval,
                "bits": scale.bits,
                "values": list(scale.texts),
                "cells": list(scale.cells),
            }
            for scale in self.scales
        }

    @classmethod
    def from_state(cls, state: Mapping[str, JSON]) -> Scales:
        """Undo :meth:`state`."""
        return cls(
            tuple(
                Scale(
                    name,
                    bool(scale["interval"]),
                    whole_in(scale["bits"]),
                    tuple(map(text_in, list_in(scale["values"]))),
                    tuple(map(whole_in, list_in(scale["cells"]))),
                )
                for name, scale in zip(state, map(object_in, state.values()), strict=True)
            )
        )


def _spread(attribute: Attribute, *, quantile: bool) -> Scale:
    """Return the scale that an attribute has by default."""
    size = len(attribute.domain)
    interval = attribute.kind is Kind.INTERVAL
    if size <= 2**FINE:
        cells = np.arange(size)
        bits = size.bit_length()  # room for the values and a missing one
    else:
        bits = FINE
        share = _before(attribute) if quantile else _along(attribute)
        cells = np.minimum((share * (2**bits - 1)).astype(np.int64), 2**bits - 2)
    starts = np.flatnonzero(np.diff(cells, prepend=-1)) if interval else np.arange(size)
    texts = canonical_text(attribute.domain.gather(starts)).to_list()
    return Scale(attribute.name, interval, bits, tuple(texts), tuple(cells[starts].tolist()))


def _along(attribute: Attribute) -> FloatArray:
    """Return where each value lies between the first and the last, 0 to 1: by distance, by rank where there is none."""
    size = len(attribute.domain)
    if attribute.kind is Kind.INTERVAL:
        away = distances(attribute.domain)
        if away[-1] > 0:  # it is 0 where all the values lie closer together than floats can tell
            return np.asarray(away / away[-1], np.float64)
    return np.arange(size) / size


def _before(attribute: Attribute) -> FloatArray:
    """Return for each value the share of the records that have a smaller one, missing values aside."""
    size = len(attribute.domain)
    counts = np.bincount(attribute.codes, minlength=size + 1)[:size]
    return np.asarray((np.cumsum(counts) - counts) / max(int(counts.sum()), 1), np.float64)


def _cut(attribute: Attribute, points: Sequence[object]) -> Scale:
    """Return the scale that somebody gave by its cut points."""
    where = f"the scale of {attribute.name!r}"
    if isinstance(points, str) or not len(points):
        raise ConfigError(f"{where} has no cut points", hint=f"Write a list: {attribute.name} = [18, 30, 65].")
    if len(points) >= 2**16:
        raise ConfigError(f"{where} has {len(points):,} cut points", hint="Give at most 65,535.")
    bits = (len(points) + 1).bit_length()  # one cell more than cut points, and one for missing values
    if attribute.kind is Kind.INTERVAL:
        texts = _interval_texts(attribute, points, where)
        ranks, _ = _ranked(texts, attribute.domain)
        cells = range(1, len(points) + 1)
    else:
        order = {text: place for place, text in enumerate(canonical_text(attribute.domain).to_list())}
        named = canonical_text(pl.Series([value_text(point) for point in points], dtype=pl.String)).to_list()
        strange = [point for point in named if point not in order]
        if strange:
            raise ConfigError(
                f"{where} names {shown(strange)}, which do not occur",
                hint="Cut points of categories are values: a new cell starts at each.",
            )
        ranks = np.array([order[point] for point in named], np.int64)
        texts = pl.Series(list(order), dtype=pl.String)
        cells = np.searchsorted(ranks, np.arange(len(order)), side="right").tolist()
    if (np.diff(ranks) <= 0).any():
        raise ConfigError(f"{where} does not ascend", hint="Write the cut points in ascending order, each once.")
    return Scale(attribute.name, attribute.kind is Kind.INTERVAL, bits, tuple(texts.to_list()), tuple(cells))


def _interval_texts(attribute: Attribute, points: Sequence[object], where: str) -> pl.Series:
    """Return the canonical texts of cut points of numbers, dates or times."""
    dtype = attribute.domain.dtype
    if dtype.is_numeric():
        numbers = [p for p in points if isinstance(p, int | float) and not isinstance(p, bool) and math.isfinite(p)]
        if len(numbers) != len(points):
            raise ConfigError(f"{where} must be numbers", hint=f"Write them as {attribute.name} = [18, 30, 65].")
        # Of whole numbers those from 17.5 on are those from 18 on.
        whole = [math.ceil(p) for p in numbers] if dtype.is_integer() else numbers
        return canonical_text(pl.Series(whole, dtype=pl.Int128 if dtype.is_integer() else pl.Float64))
    known = datetime.date | datetime.time
    texts = pl.Series([p.isoformat() if isinstance(p, known) else p for p in points], dtype=pl.String, strict=False)
    if isinstance(dtype, pl.Datetime):
        texts = texts.str.replace(r"^(\d{4}-\d{2}-\d{2})$", "${1}T00:00:00")  # a day begins at midnight
    readable = all(isinstance(p, known | str) for p in points)
    try:
        typed = from_text(texts, Form.VALUE, dtype) if readable else None
    except (ValueError, pl.exceptions.PolarsError):
        typed = None
    if typed is None or typed.null_count():
        kind = str(dtype.base_type()).lower()
        raise ConfigError(
            f"{where} must be of the column's type ({kind})",
            hint="Write them as 2024-12-31, 2024-12-31T23:59:00 or 23:59:00.",
        )
    return canonical_text(typed)


def _ranked(texts: pl.Series, domain: pl.Series) -> tuple[IntArray, IntArray]:
    """Return common dense ranks of cut points and of the values of a column, by value."""
    if domain.dtype.is_integer():
        # A column of another release may be wider, and a cut point may lie beyond what a narrow one can hold.
        read, values = texts.cast(pl.Int128, strict=False), domain.cast(pl.Int128)
        if read.null_count():
            read, values = texts.cast(pl.Float64), domain.cast(pl.Float64)
    elif domain.dtype.is_float() or domain.dtype.is_decimal():
        read, values = texts.cast(pl.Float64), domain.cast(pl.Float64)
    else:
        read, values = from_text(texts, Form.VALUE, domain.dtype), domain
    ranks = pl.concat([read, values.rename(read.name)]).rank("dense").cast(pl.Int64).to_numpy()
    return ranks[: len(texts)], ranks[len(texts) :]
