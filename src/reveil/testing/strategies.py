"""Hypothesis strategies: small tables and statistics with everything that goes wrong in real ones.

Nulls, ties, constants, skew, huge integers, NaN, dates, text that looks like notation or like a formula, columns
that are all null, hierarchies with values that do not occur.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta

import numpy as np
import polars as pl
from hypothesis import strategies as st

from reveil.core.arrays import Ragged
from reveil.models.statistics import GroupStats, Histogram, Reference
from reveil.tables.hierarchy import Taxonomy
from reveil.tables.schema import Schema

NASTY = ["*", "[1, 2]", "{a}", "a, b", '"q"', "", "x | null", "=1+1", "-3", " pad ", "new\nline", "null", "ü", "a}b"]
REGIONS = {"North": {"Fells": ["f1", "f2"], "Coast": ["c1", "c2", "c3"]}, "South": {"Plain": ["p1", "p2"]}}
GRADES = ["none", "primary", "secondary", "tertiary"]
KINDS = (
    "integer",
    "huge",
    "float",
    "date",
    "moment",
    "boolean",
    "word",
    "nasty",
    "grade",
    "region",
    "constant",
    "empty",
)


@dataclass(frozen=True)
class Table:
    """A raw frame and its schema."""

    frame: pl.DataFrame
    schema: Schema


def _cells(kind: str) -> tuple[st.SearchStrategy[object], pl.DataType]:
    day = date(2020, 1, 1)
    moment = datetime(2020, 1, 1)
    table: dict[str, tuple[st.SearchStrategy[object], pl.DataType]] = {
        "integer": (st.integers(-3, 9), pl.Int64()),
        "huge": (st.sampled_from([2**62, -(2**62), 2**53 + 1, 2**53, 0]), pl.Int64()),
        "float": (st.sampled_from([0.1, 0.2, 0.30000000000000004, 1e20, -2.5, float("nan"), 0.0, -0.0]), pl.Float64()),
        "date": (st.integers(0, 20).map(lambda d: day + timedelta(days=d)), pl.Date()),
        "moment": (st.integers(0, 9).map(lambda s: moment + timedelta(seconds=1.5 * s)), pl.Datetime("us")),
        "boolean": (st.booleans(), pl.Boolean()),
        "word": (st.sampled_from(["flu", "cold", "hiv", "ache", "gout"]), pl.String()),
        "nasty": (st.sampled_from(NASTY), pl.String()),
        "grade": (st.sampled_from(GRADES), pl.String()),
        "region": (st.sampled_from(["f1", "f2", "c1", "c2", "c3", "p1"]), pl.String()),
        "constant": (st.just(7), pl.Int32()),
        "empty": (st.none(), pl.String()),
    }
    return table[kind]


@st.composite
def tables(
    draw: st.DrawFn, *, min_rows: int = 1, max_rows: int = 40, max_quasi: int = 4, max_sensitive: int = 2
) -> Table:
    """Draw a table of ``min_rows`` to ``max_rows`` records with its schema."""
    rows = draw(st.integers(min_rows, max_rows))
    quasi = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=max_quasi))
    sensitive = draw(st.lists(st.sampled_from(("word", "nasty", "integer", "grade", "region")), max_size=max_sensitive))
    columns: dict[str, pl.Series] = {"pid": pl.Series(range(100, 100 + rows))}
    for name, kind in [*((f"q{i}", k) for i, k in enumerate(quasi)), *((f"s{i}", k) for i, k in enumerate(sensitive))]:
        cells, dtype = _cells(kind)
        nulls = draw(st.booleans())
        drawn = draw(st.lists(st.one_of(st.none(), cells) if nulls else cells, min_size=rows, max_size=rows))
        columns[name] = pl.Series(name, drawn, dtype=dtype)
    names = [f"q{i}" for i in range(len(quasi))]
    values = [f"s{i}" for i in range(len(sensitive))]
    kinds = dict(zip([*names, *values], [*quasi, *sensitive], strict=True))
    schema = Schema(
        person="pid",
        quasi=names,
        sensitive=values,
        hierarchies={name: Taxonomy.load(REGIONS) for name, kind in kinds.items() if kind == "region"},
        orders={name: GRADES for name, kind in kinds.items() if kind == "grade"},
    )
    return Table(pl.DataFrame(columns), schema)


@st.composite
def group_statistics(draw: st.DrawFn, *, groups: int = 2, domain: int = 5, most: int = 8) -> GroupStats:
    """Draw the statistics of a few groups, the table being all of them together, in one attribute ``s``."""
    counts = np.array(
        draw(
            st.lists(st.lists(st.integers(0, most), min_size=domain, max_size=domain), min_size=groups, max_size=groups)
        )
    )
    group, code = np.nonzero(counts)
    values = Ragged.of_sorted_owners(group, groups, code.astype(np.int32))
    histogram = Histogram(values, counts[group, code].astype(np.int64), domain)
    halves = np.arange(domain, dtype=np.int32) // 2
    levels = np.stack([np.zeros(domain, np.int32), halves + 1, np.arange(domain, dtype=np.int32) + domain + 1])
    reference = Reference(counts.sum(axis=0).astype(np.int64), ordered=True, levels=levels)
    return GroupStats(counts.sum(axis=1).astype(np.int64), {"s": histogram}, {"s": reference})
