"""Expressions on raw tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from reveil.tables.alike import folded
from reveil.tables.expressions.binding import Among, Between, Missing, Test, bind, fields_of
from reveil.tables.expressions.positions import LineCut, on_line
from reveil.tables.expressions.syntax import Expression, Leaf, fold, parse
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from reveil.tables.schema import Schema

_LINES: dict[bool, tuple[type[pl.DataType], int]] = {True: (pl.Int64, 2**63), False: (pl.Int128, 2**127)}


def matches(expression: str | Expression, frame: pl.DataFrame, schema: Schema | None = None) -> pl.Series:
    """Return for each row of a raw table whether it satisfies the expression.

    The schema gives hierarchies, so that a label means all the values under it, and orders.
    """
    parsed = parse(expression) if isinstance(expression, str) else expression
    bound = bind(parsed, fields_of(frame, schema))
    columns: dict[str, pl.Series] = {}

    def leaf(node: Leaf) -> pl.Expr:
        return _condition(bound.tests[node], frame[node.column.text], columns)

    condition = fold(parsed.root, leaf, pl.all_horizontal, pl.any_horizontal, lambda part: ~part)
    return pl.DataFrame(columns).select(condition.alias("matches")).to_series()


def _condition(test: Test, values: pl.Series, columns: dict[str, pl.Series]) -> pl.Expr:
    """Build the condition of one test; the columns it reads, in the form it reads, are added to ``columns``."""
    if isinstance(test, Missing):
        value = _noted(values, "null", columns)
        return value.is_not_null() if test.negated else value.is_null()
    if isinstance(test, Among):
        text = _noted(values, "fold" if test.folded else "text", columns)
        found = [text.is_in(sorted(test.texts)), *(text.str.starts_with(start) for start in test.beginnings)]
        among = pl.any_horizontal(found).fill_null(value=False)
        return text.is_not_null() & ~among if test.negated else among
    return _between(test, _noted(values, "line", columns), values.dtype)


def _noted(values: pl.Series, form: str, columns: dict[str, pl.Series]) -> pl.Expr:
    key = f"{form} {values.name}"
    if key not in columns:
        if form == "text":
            columns[key] = canonical_text(values)
        elif form == "fold":
            columns[key] = folded(canonical_text(values))
        elif values.dtype.is_float():
            columns[key] = on_line(values)
        else:
            columns[key] = values if form == "null" else on_line(values).cast(_line(values.dtype)[0])
    return pl.col(key)


def _line(dtype: pl.DataType) -> tuple[type[pl.DataType], int]:
    """Return the integers on which a type is compared, and the first one that they do not hold."""
    return _LINES[not (dtype.is_decimal() or dtype in (pl.UInt64, pl.Int128) or str(dtype) == "UInt128")]


def _between(test: Between, value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Compare with each span; a cut beyond all integers of the line is as good as none."""
    if dtype.is_float():
        inside = [
            (value > start.value if start.after else value >= start.value)
            & (value <= end.value if end.after else value < end.value)
            for start, end in test.spans
        ]
    else:
        kind, limit = _line(dtype)

        def at(cut: LineCut) -> pl.Expr:
            return pl.lit(int(max(min(cut.value, limit - 1), -limit)), dtype=kind)

        inside = [
            (pl.lit(start.value < limit) & (value >= at(start))) & (pl.lit(end.value >= limit) | (value < at(end)))
            for start, end in test.spans
        ]
    return pl.any_horizontal([*inside, pl.lit(value=False)]).fill_null(value=False)
