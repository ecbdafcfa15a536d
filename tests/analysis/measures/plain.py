"""The measures as they are defined, slowly: one row, one cell, one value after another, in exact fractions."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import log2, prod
from statistics import mean, median
from typing import TYPE_CHECKING, Any

import polars as pl

from reveil.tables.notation import split_label
from reveil.tables.snapshot import canonical_text, read_snapshot

if TYPE_CHECKING:
    from reveil.tables.hierarchy import Taxonomy

EPOCH = dt.datetime(1970, 1, 1)


@dataclass(frozen=True)
class Cell:
    """One published cell: the values of the domain it admits (None is null), all its values, and its ends."""

    admits: frozenset[Any]
    values: int  # non-null ones of a set or node, known to the snapshot or not
    ends: tuple[Any, Any] | None = None  # of an interval; None: null alone, or no interval


class Column:
    """A quasi column: raw values, domain and published cells, row by row."""

    def __init__(self, raw: pl.Series, declared: Any, published: pl.Series) -> None:
        self.dtype = raw.dtype
        self.taxonomy: Taxonomy | None = declared.taxonomy
        self.interval = declared.taxonomy is None and declared.order is None and _on_a_line(raw.dtype)
        self.fine = not (raw.dtype.is_integer() or raw.dtype == pl.Date)
        self.continuous = raw.dtype.is_float()
        self.raw = raw.to_list() if self.interval else canonical_text(raw).to_list()
        self.occurring = sorted({v for v in self.raw if v is not None}) if self.interval else {*self.raw} - {None}
        if self.taxonomy is not None:
            self.domain = list(self.taxonomy.leaves)
        elif declared.order is not None:
            self.domain = list(declared.order)
        else:
            self.domain = list(self.occurring)
        self.nulls = [None] if None in self.raw else []
        self.counts = Counter(self.raw)
        self.tight = self.taxonomy is not None and published.dtype != pl.String  # sets of the leaves that occur
        self.cells = [self._cell(cell) for cell in self._typed(published)]
        self.published_ends = {end for cell in self.cells if cell.ends for end in cell.ends}

    def _typed(self, published: pl.Series) -> list[Any]:
        if self.taxonomy is None or self.tight:
            return published.to_list()
        labels, null = split_label(published)
        return list(zip(labels.to_list(), null.to_list(), strict=True))

    def _cell(self, cell: Any) -> Cell:
        if self.interval:
            null = {None} if cell["null"] else set()
            if cell["lo"] is None:
                return Cell(frozenset(null), 0)
            inside = {v for v in self.domain if cell["lo"] <= v <= cell["hi"]}
            return Cell(frozenset(inside | null), 0, (cell["lo"], cell["hi"]))
        if isinstance(cell, tuple):
            label, has_null = cell
            inside = set()
            if label is not None:
                node = self.taxonomy.node_of_label[label]
                inside = set(self.taxonomy.leaves[self.taxonomy.lo[node] : self.taxonomy.hi[node] + 1])
            return Cell(frozenset(inside | ({None} if has_null else set())), len(inside))
        values = set(cell) - {None}
        return Cell(frozenset({v for v in cell if v is None or v in self.domain}), len(values))

    def width(self, cell: Cell) -> Fraction:
        values = cell.admits - {None}
        width = Fraction(0)
        if self.interval and len(self.domain) > 1 and cell.ends:
            lo, hi, least, most = map(number, (*cell.ends, self.domain[0], self.domain[-1]))
            width = (hi - lo) / (most - least)
        elif not self.interval and len(self.domain) > 1:
            width = Fraction(max(len(values) - 1, 0), len(self.domain) - 1)
        if None in cell.admits and values:
            width += Fraction(1, len(self.occurring) or 1)
        return min(width, Fraction(1))

    def bits(self, admitted: Any) -> float:
        """The entropy of a raw value given that it is one of these."""
        total = sum(self.counts[v] for v in admitted)
        shares = [self.counts[v] / total for v in admitted if self.counts[v]]
        return -sum(p * log2(p) for p in shares)

    @cached_property
    def spanned(self) -> int:
        """How many codes the box of all raw values admits."""
        places = [self.domain.index(v) for v in self.occurring]
        if not places:
            return len(self.nulls)
        if self.tight and all(cell.admits <= {*self.raw} for cell in self.cells):
            return len(places) + len(self.nulls)
        lo, hi = min(places), max(places)
        if self.taxonomy is not None:
            over = [
                (int(self.taxonomy.hi[n]) - int(self.taxonomy.lo[n]) + 1)
                for n in range(len(self.taxonomy.labels))
                if self.taxonomy.lo[n] <= lo and self.taxonomy.hi[n] >= hi
            ]
            return min(over) + len(self.nulls)
        return hi - lo + 1 + len(self.nulls)

    def share(self, cell: Cell, wanted: list[Any]) -> Fraction:
        """The share of a cell inside a run of values of the domain."""
        null = int(None in cell.admits)
        if not self.interval:
            return Fraction(len(cell.admits & set(wanted)), max(cell.values + null, 1))
        if cell.ends is None:
            return Fraction(0)
        lo, hi, first, last = map(number, (*cell.ends, wanted[0], wanted[-1]))
        step = 0 if self.continuous else 1
        length = hi - lo + step
        start, end = max(lo, first), min(hi, last)
        part = Fraction(0) if end < start else Fraction(1) if length == 0 else (end - start + step) / length
        beside = length
        if self.fine:
            beside = Fraction(sum(cell.ends[0] <= e <= cell.ends[1] for e in self.published_ends))
        return part * (1 - (1 / (1 + beside) if null else Fraction(0)))


class Plain:
    """A raw table and its release, row by row."""

    def __init__(self, frame: pl.DataFrame, release: Any, schema: Any, groups: list[int] | None = None) -> None:
        self.frame, self.manifest = read_snapshot(frame, schema).frame, release.manifest
        typed = release.typed
        self.columns = {name: Column(self.frame[name], schema[name], typed[name]) for name in schema.quasi}
        self.n, self.rows = self.frame.height, typed.height
        self.boxes = list(zip(*(c.cells for c in self.columns.values()), strict=True))
        self.groups = list(typed.select(schema.quasi).hash_rows()) if groups is None else groups
        fakes = self.manifest["counterfeits"]
        self.fakes = {g: fakes["per_group"].get(str(g), 0) for g in self.groups}
        self.sizes = Counter(self.groups)
        self.left_out = self.manifest["suppressed"] + self.manifest["withheld"]
        self.somebodys = self.n + self.manifest["dirty"]
        self.real = {g: 1 - Fraction(self.fakes[g], self.sizes[g]) for g in self.groups}

    def dcp(self) -> int:
        return sum(size**2 for size in self.sizes.values()) + self.left_out * self.n

    def ncp(self) -> float:
        published = sum(
            self.real[g] * c.width(cell)
            for c in self.columns.values()
            for g, cell in zip(self.groups, c.cells, strict=True)
        )
        return float(published + self.left_out * len(self.columns))

    def gcp(self) -> float:
        return self.ncp() / (self.somebodys * len(self.columns))

    def em(self) -> float:
        published = sum(
            float(self.real[g]) * c.bits(cell.admits)
            for c in self.columns.values()
            for g, cell in zip(self.groups, c.cells, strict=True)
        )
        return published + self.left_out * sum(c.bits([*c.domain, *c.nulls]) for c in self.columns.values())

    def em_mean(self) -> float:
        return self.em() / (self.somebodys * len(self.columns))

    def kl(self) -> float:
        columns = list(self.columns.values())
        total = self.rows + self.left_out
        whole = prod(len(c.domain) + len(c.nulls) for c in columns)
        points = Counter(zip(*(c.raw for c in columns), strict=True))
        kl = 0.0
        for point, records in points.items():
            q = Fraction(self.left_out, total * whole)
            for box in self.boxes:
                if all(value in cell.admits for value, cell in zip(point, box, strict=True)):
                    q += Fraction(1, total * prod(len(cell.admits) for cell in box))
            p = Fraction(records, self.n)
            kl += float(p) * log2(p / q)
        return kl

    def c_avg(self, least: float) -> float:
        return self.rows / least / len(self.sizes)

    def ail(self) -> float:
        lost = dict.fromkeys(self.sizes, Fraction(0))
        for row, group in enumerate(self.groups):
            lost[group] += sum(c.width(c.cells[row]) for c in self.columns.values())
        return float(mean(lost.values()))

    def fem(self) -> float:
        fakes = self.manifest["counterfeits"]["total"] + self.manifest["dirty"]  # rows beyond the records
        return sum(-(size - self.fakes[g]) / (self.n + fakes) * log2(size / self.n) for g, size in self.sizes.items())

    def vem(self, name: str | None = None) -> float:
        columns = [c for own, c in self.columns.items() if name in (own, None)]
        fakes = self.manifest["counterfeits"]["total"] + self.manifest["dirty"]  # rows beyond the records
        vem = 0.0
        for row, group in enumerate(self.groups):
            volume = Fraction(1)
            for column in columns:
                volume *= Fraction(max(len(column.cells[row].admits), 1), column.spanned)
            vem -= float(self.real[group]) / (self.n + fakes) * log2(volume)
        return vem

    def query_error(self, attributes: Any, windows: Any) -> dict[str, Any]:
        errors = []
        for lo, hi, used in zip(windows.lo, windows.hi, windows.used, strict=True):
            asked = {
                a.name: a.domain[int(first) : int(last) + 1].to_list()
                for a, first, last, u in zip(attributes, lo, hi, used, strict=True)
                if u
            }
            truth = sum(all(self.columns[q].raw[i] in values for q, values in asked.items()) for i in range(self.n))
            clean = Fraction(self.n - self.left_out, self.n - self.left_out + self.manifest["dirty"] or 1)
            guess = clean * sum(
                self.real[group] * prod(self.columns[q].share(self.columns[q].cells[row], v) for q, v in asked.items())
                for row, group in enumerate(self.groups)
            )
            errors.append(None if truth == 0 else float(abs(guess - truth) / truth))
        known = [e for e in errors if e is not None]
        return {
            "mean": mean(known) if known else None,
            "median": median(known) if known else None,
            "skipped": len(errors) - len(known),
        }


def number(value: Any) -> Fraction:
    """A value on its line, exactly."""
    if isinstance(value, dt.datetime):
        return Fraction((value - EPOCH) // dt.timedelta(microseconds=1))
    if isinstance(value, dt.date):
        return Fraction(value.toordinal())
    return Fraction(value)


def _on_a_line(dtype: pl.DataType) -> bool:
    return dtype.is_numeric() or dtype.is_temporal()
