"""``crosstab(A, B)``: how many records there are for every value of one column together with every value of another.

Each cell is a count with its own estimate, bounds and interval. Columns of one row may be crossed whatever they are. In
a release with a second table, its columns belong to groups: crossed with a column of the first table, a cell is a share
of groups (what a group hides, it hides here), and two columns that stand in one line of the second table are crossed as
they stand. Values that no published row can have together are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from reveil.analysis.asking import put
from reveil.analysis.by_column import asked_part
from reveil.analysis.questions.base import Question, check_column, check_number
from reveil.analysis.questions.count import counted
from reveil.analysis.reader import reader_of
from reveil.core.errors import InputError
from reveil.releases.answers import Crosstab, CrosstabCell
from reveil.tables.expressions.lines import Intervals
from reveil.tables.expressions.syntax import And, Compare, Expression, IsNull, Node, Word, parse
from reveil.tables.expressions.word_sets import WordSets
from reveil.tables.notation import SUPPRESSED_VALUE
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.analysis.asking import AskedRows
    from reveil.analysis.reader import ReleaseReader
    from reveil.releases.release import Release
    from reveil.tables.schema import Schema

MOST_CELLS = 2_000
MOST_NUMBERS = 120  # values of a column of ranges, one by one


@dataclass(frozen=True)
class CrosstabQuestion(Question):
    """A cross table of two columns."""

    usage: ClassVar[str] = "crosstab(A, B) EXPR"
    rows: str
    columns: str

    @classmethod
    def from_arguments(cls, arguments: Sequence[str]) -> Self:
        """Take the two columns."""
        check_number(cls.usage, arguments, 2)
        return cls(arguments[0], arguments[1])

    def of(self, release: Release, expression: str | Expression | None, schema: Schema | None = None) -> Crosstab:
        """Count every pair of values."""
        reader = reader_of(asked_part(release, expression, (self.rows, self.columns)), schema)
        for name in (self.rows, self.columns):
            check_column(reader, name)
        if self.rows == self.columns:
            raise InputError("a crosstab is of two different columns", hint=f"Write {self.usage}.")
        parsed = parse(expression) if isinstance(expression, str) else expression
        one, other = (
            [value for value in values_of(reader, name) if _some(put(reader, _joined(parsed, [(name, value)])))]
            for name in (self.rows, self.columns)
        )
        if len(one) * len(other) > MOST_CELLS:
            raise InputError(
                f"this crosstab has {len(one) * len(other):,} cells, and {MOST_CELLS:,} are the most",
                hint="Ask about fewer values: crosstab(A, B) A in {a, b, c}.",
            )
        cells = []
        for a in one:
            for b in other:
                asked = put(reader, _joined(parsed, [(self.rows, a), (self.columns, b)]))
                if _some(asked):
                    cells.append(CrosstabCell((a, b), counted(asked)))
        return Crosstab((self.rows, self.columns), tuple(cells))


def _some(asked: AskedRows) -> bool:
    """Return whether some published row can satisfy."""
    return bool(asked.reached(asked.answers())[1].any())


def values_of(reader: ReleaseReader, name: str) -> list[str | None]:
    """Return the values that the cells of a column admit, null last."""
    cells = reader.column(name)
    if name not in reader.release.cells:
        texts = canonical_text(reader.point_values(name)[0].sort(nulls_last=True)).to_list()
        role = reader.release.manifest.column(name).role
        return [text for text in texts if not (role == "sensitive" and text == SUPPRESSED_VALUE)]
    if isinstance(cells, WordSets):
        order = reader.fields[name].order
        words: list[str | None] = [*(order if order is not None else cells.words)]
        held = set(cells.words)
        return [*(word for word in words if word in held), None]
    if isinstance(cells, Intervals) and reader.dtype(name).is_integer() and (cells.lo <= cells.hi).any():
        there = cells.lo <= cells.hi
        first, last = int(cells.lo[there].min()), int(cells.hi[there].max())
        if last - first < MOST_NUMBERS:
            return [*map(str, range(first, last + 1)), None]
    if isinstance(cells, Intervals):
        raise InputError(
            f"column {name!r} is published in ranges, with more than {MOST_NUMBERS} values",
            hint=f"Ask one crosstab or count for each range: count {name} in [a, b].",
        )
    raise InputError(
        f"column {name!r} is published as labels of a hierarchy that is not at hand",
        hint="Name the config with -c (in Python: schema=...): its hierarchy says what lies under a label.",
    )


def _joined(parsed: Expression | None, pairs: list[tuple[str, str | None]]) -> Expression:
    """Return an expression that asks for values, too."""
    leaves: list[Node] = [
        IsNull(Word(name, 0), negated=False) if value is None else Compare(Word(name, 0), "=", 0, Word(value, 0))
        for name, value in pairs
    ]
    nodes = tuple(leaves) if parsed is None else (*leaves, parsed.root)
    return Expression("" if parsed is None else parsed.text, nodes[0] if len(nodes) == 1 else And(nodes))
