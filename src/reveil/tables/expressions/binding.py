"""From a tree to tests that fit the columns: every comparison is checked against the type of its column.

A null cell satisfies no comparison, ``!=`` and ``not in`` included; only ``is null`` and what ``not`` turns round.
So ``age != 30`` leaves out who has no age, and ``not age = 30`` does not.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from reveil.core.errors import ExpressionError, shown
from reveil.tables.alike import fold_text
from reveil.tables.expressions.coarse import check_constants
from reveil.tables.expressions.positions import FIRST, LAST, Span, beginning, is_line, span_of
from reveil.tables.expressions.syntax import Compare, Expression, IsNull, Leaf, OneOf, Within, Word, fold
from reveil.tables.snapshot import type_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.tables.coarsening import Coarsening
    from reveil.tables.hierarchy import Taxonomy
    from reveil.tables.schema import Column, Schema


@dataclass(frozen=True)
class Field:
    """What an expression must know of a column.

    ``labels``: the column holds labels of a hierarchy that is not at hand, and these are the published ones.
    ``folds``: texts that look alike are one value. ``coarse``: what was cut and rounded, and cannot be asked for.
    """

    name: str
    dtype: pl.DataType
    taxonomy: Taxonomy | None = None
    order: tuple[str, ...] | None = None
    labels: frozenset[str] | None = None
    folds: bool = False
    coarse: Coarsening | None = None

    @property
    def in_words(self) -> bool:
        """Whether values are compared as text; else they lie on a line."""
        named = self.taxonomy is not None or self.order is not None or self.labels is not None
        return named or not is_line(self.dtype)

    @cached_property
    def leaf_spans(self) -> dict[str, Span]:
        """Where the leaves of a hierarchy over numbers or dates lie on their line."""
        leaves = () if self.taxonomy is None else self.taxonomy.leaves
        return {leaf: at for leaf in leaves if (at := span_of(leaf, self.dtype)) is not None}


@dataclass(frozen=True)
class Between:
    """The value lies in one of the spans."""

    spans: tuple[Span, ...]


@dataclass(frozen=True)
class Among:
    """The text is one of these or begins like one of those; ``negated``: there is a text, and it does not.

    ``folded``: so are these texts, and they are to be compared with folded ones.
    """

    texts: frozenset[str]
    beginnings: tuple[str, ...] = ()
    negated: bool = False
    folded: bool = False


@dataclass(frozen=True)
class Missing:
    """There is no value; ``negated``: there is one."""

    negated: bool = False


Test = Between | Among | Missing


@dataclass(frozen=True)
class BoundExpression:
    """An expression whose leaves have become tests on columns."""

    expression: Expression
    tests: Mapping[Leaf, Test]


def fields_of(frame: pl.DataFrame, schema: Schema | None) -> dict[str, Field]:
    """Describe the columns of a raw table."""
    return {name: described(name, dtype, schema) for name, dtype in frame.schema.items()}


def described(name: str, dtype: pl.DataType, schema: Schema | None) -> Field:
    """Describe a column by its type and, if it is declared, by its hierarchy or order."""
    return described_by(
        name, dtype, None if schema is None else next((c for c in schema.columns if c.name == name), None)
    )


def described_by(name: str, dtype: pl.DataType, column: Column | None) -> Field:
    """Describe a column by its type and its declaration, if there is one."""
    if column is None:
        return Field(name, dtype)
    return Field(
        name, dtype, column.taxonomy, column.order, folds=column.folds and dtype == pl.String, coarse=column.coarse
    )


def bind(expression: Expression, fields: Mapping[str, Field]) -> BoundExpression:
    """Turn the leaves of an expression into tests, or raise with a caret under what does not fit."""
    tests: dict[Leaf, Test] = {}

    def note(leaf: Leaf) -> None:
        field = fields.get(leaf.column.text)
        if field is None:
            raise _unknown_column(expression, leaf, fields)
        if type_of(field.dtype) is None:
            raise expression.error(f"column {field.name!r} holds no single values", leaf.column.position)
        test = _Binder(expression, field).test(leaf)
        if field.coarse is not None:
            check_constants(expression, leaf, field.coarse)
        tests[leaf] = _folded(test) if field.folds and isinstance(test, Among) else test

    def ignore(_: object) -> None:
        """Only the leaves are of interest."""

    fold(expression.root, note, ignore, ignore, ignore)
    return BoundExpression(expression, tests)


def _folded(test: Among) -> Among:
    return Among(
        frozenset(map(fold_text, test.texts)), tuple(map(fold_text, test.beginnings)), test.negated, folded=True
    )


def _unknown_column(expression: Expression, leaf: Leaf, fields: Mapping[str, Field]) -> ExpressionError:
    name = leaf.column.text
    close = get_close_matches(name, fields, n=1)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    if isinstance(leaf, Compare) and leaf.value.text in fields:
        hint = f"The column stands on the left: {leaf.value.text} ... {name}. "
    return expression.error(
        f"there is no column {name!r}", leaf.column.position, hint + f"The columns are {shown(fields)}."
    )


class _Binder:
    """Makes the test of one leaf on one column."""

    def __init__(self, expression: Expression, field: Field) -> None:
        self.expression = expression
        self.field = field

    def test(self, leaf: Leaf) -> Test:
        if isinstance(leaf, IsNull):
            return Missing(leaf.negated)
        if isinstance(leaf, OneOf):
            return self._joined([self._equal(value) for value in leaf.values], negated=leaf.negated)
        if isinstance(leaf, Compare) and leaf.operator in ("=", "!="):
            return self._joined([self._equal(leaf.value)], negated=leaf.operator == "!=")
        if isinstance(leaf, Compare | Within):
            return self._ordered(leaf)
        raise TypeError(leaf)

    def _joined(self, tests: list[Between | Among], *, negated: bool) -> Test:
        """Join the tests of single values; on one column they are of one kind."""
        texts = [test for test in tests if isinstance(test, Among)]
        if texts:
            merged = frozenset().union(*(test.texts for test in texts))
            return Among(merged, tuple(start for test in texts for start in test.beginnings), negated)
        return self._in_spans([s for test in tests if isinstance(test, Between) for s in test.spans], negated=negated)

    def _in_spans(self, spans: list[Span], *, negated: bool = False) -> Between | Among:
        """Return the test for spans; under a hierarchy of numbers or dates, they are the leaves that lie in them."""
        if not self.field.in_words:
            return Between(_outside(spans) if negated else tuple(spans))
        inside = (
            leaf
            for leaf, at in self.field.leaf_spans.items()
            if any(span.start <= at.start and at.end <= span.end for span in spans)
        )
        return Among(frozenset(inside), negated=negated)

    def _equal(self, value: Word) -> Between | Among:
        field, text = self.field, unicodedata.normalize("NFC", value.text)
        if not field.in_words:
            return self._equal_on_line(value)
        if field.labels is not None:
            return self._label(value, text)
        if field.taxonomy is not None:
            return self._node(value, text, field.taxonomy)
        if field.order is not None:
            if value.beginning:
                return Among(frozenset(v for v in field.order if self._begins(v, text)))
            self._rank(value)
        if field.dtype == pl.Boolean:
            text = text.lower()
            if text not in ("true", "false") or value.beginning:
                raise self._error(f"column {field.name!r} is true or false", value, "Write true or false.")
        return Among(frozenset(), (text,)) if value.beginning else Among(frozenset([text]))

    def _equal_on_line(self, value: Word) -> Between:
        if not value.beginning:
            return Between((self._span(value),))
        spans = beginning(value.text) if self.field.dtype.is_integer() or not value.text else None
        if spans is None:
            raise self._error(
                f"column {self.field.name!r} holds {_kind_of_values(self.field.dtype)}, which do not begin like a text",
                value,
                "Write an interval: in [a, b].",
            )
        return Between(spans)

    def _node(self, value: Word, text: str, taxonomy: Taxonomy) -> Between | Among:
        """Take a label as all the leaves under it; a beginning that is itself a label (``441*``) is that label."""
        label = text + "*" * value.beginning
        node = taxonomy.node_of_label.get(label)
        if node is None and self.field.folds:
            node = next(
                (
                    found_node
                    for name, found_node in taxonomy.node_of_label.items()
                    if fold_text(name) == fold_text(label)
                ),
                None,
            )
        if node is not None:
            return Among(frozenset(taxonomy.leaves[taxonomy.lo[node] : taxonomy.hi[node] + 1]))
        if value.beginning:
            return Among(frozenset(leaf for leaf in taxonomy.leaves if self._begins(leaf, text)))
        span = span_of(value.text, self.field.dtype)
        if span is None:
            raise self._error(
                f"the hierarchy of column {self.field.name!r} has no label {text!r}", value, "Check the spelling."
            )
        return self._in_spans([span])

    def _label(self, value: Word, text: str) -> Among:
        """Without the hierarchy nobody knows what lies under a label: only published labels have a meaning."""
        if value.beginning and not text:
            return Among(frozenset(), ("",))
        label = text + "*" * value.beginning
        if self.field.labels is None or label not in self.field.labels:
            raise self._error(
                f"column {self.field.name!r} is published as labels of a hierarchy, and {label!r} is none of them",
                value,
                "Name the config with -c (in Python: schema=...): its hierarchy says what lies under a label.",
            )
        return Among(frozenset([label]))

    def _ordered(self, leaf: Compare | Within) -> Test:
        """Make the test of < <= > >= and of intervals."""
        field = self.field
        ends = (leaf.lo, leaf.hi) if isinstance(leaf, Within) else (leaf.value,)
        for end in ends:
            if end.beginning:
                raise self._error("the beginning of a text has no place in an order", end, "Leave the star out.")
        if field.order is not None:
            return self._in_order(leaf, field.order)
        if not is_line(field.dtype) or field.labels is not None:
            remedy = "Compare with = or in {a, b}; an order for the column can be declared in the config."
            if field.labels is not None:
                remedy = "Name the config with -c (in Python: schema=...): its hierarchy says what lies under a label."
            raise self.expression.error(f"column {field.name!r} has no order", leaf.position, remedy)
        if isinstance(leaf, Compare):
            at = self._span(leaf.value)
            first, last = {
                "<": (FIRST, at.start),
                "<=": (FIRST, at.end),
                ">": (at.end, LAST),
                ">=": (at.start, LAST),
            }[leaf.operator]
            return self._in_spans([Span(first, last)])
        lo, hi = self._span(leaf.lo), self._span(leaf.hi)
        if hi.start < lo.start:
            raise self._upside_down(leaf)
        return self._in_spans([Span(lo.start, hi.end)], negated=leaf.negated)

    def _in_order(self, leaf: Compare | Within, order: tuple[str, ...]) -> Among:
        if isinstance(leaf, Compare):
            rank = self._rank(leaf.value)
            chosen = {
                "<": order[:rank],
                "<=": order[: rank + 1],
                ">": order[rank + 1 :],
                ">=": order[rank:],
            }[leaf.operator]
            return Among(frozenset(chosen))
        lo, hi = self._rank(leaf.lo), self._rank(leaf.hi)
        if hi < lo:
            raise self._upside_down(leaf)
        return Among(frozenset(order[lo : hi + 1]), negated=leaf.negated)

    def _rank(self, value: Word) -> int:
        text = unicodedata.normalize("NFC", value.text)
        order = self.field.order or ()
        if self.field.folds:
            text, order = fold_text(text), tuple(map(fold_text, order))
        if text not in order:
            raise self._error(
                f"the order of column {self.field.name!r} has no value {text!r}", value, "Check the spelling."
            )
        return order.index(text)

    def _begins(self, label: str, text: str) -> bool:
        return fold_text(label).startswith(fold_text(text)) if self.field.folds else label.startswith(text)

    def _span(self, value: Word) -> Span:
        span = span_of(value.text, self.field.dtype)
        if span is None:
            raise self._error(
                f"column {self.field.name!r} holds {_kind_of_values(self.field.dtype)}, and {value.text!r} is none",
                value,
                _example(self.field.dtype),
            )
        return span

    def _upside_down(self, leaf: Within) -> ExpressionError:
        return self._error("this interval ends before it begins", leaf.hi, "Write the smaller end first.")

    def _error(self, message: str, value: Word, hint: str) -> ExpressionError:
        return self.expression.error(message, value.position, hint)


def _outside(spans: list[Span]) -> tuple[Span, ...]:
    """Return the spans between the given ones."""
    found, at = [], FIRST
    for start, end in sorted(span for span in spans if span.start < span.end):
        if at < start:
            found.append(Span(at, start))
        at = max(at, end)
    return (*found, Span(at, LAST))


def _kind_of_values(dtype: pl.DataType) -> str:
    if dtype.is_numeric():
        return "numbers"
    return {"Date": "dates", "Datetime": "dates with times", "Time": "times"}.get(str(dtype.base_type()), "values")


def _example(dtype: pl.DataType) -> str:
    if dtype.is_numeric():
        return "Write numbers as 1234.5, without separators or units."
    if dtype == pl.Date:
        return "Write dates as 2024-12-31."
    if dtype == pl.Time:
        return "Write times as 23:59 or 23:59:00."
    zone = ", if need be with a zone: '2024-12-31T23:59:00+01:00'" if getattr(dtype, "time_zone", None) else ""
    return f"Write a day as 2024-12-31 or a moment as 2024-12-31T23:59:00{zone}."
