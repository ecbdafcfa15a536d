"""Questions about columns whose values were cut and rounded: an expression is about what they became.

Asked for people above 95 where everybody above 90 is published as 90, a count would be 0, and wrong. So the values of
an expression must be ones that the column can have, and nothing can be asked beyond its ends.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from reveil.tables.expressions.syntax import Compare, OneOf, Within

if TYPE_CHECKING:
    from reveil.tables.coarsening import Coarsening, End
    from reveil.tables.expressions.syntax import Expression, Leaf, Word


def check_constants(expression: Expression, leaf: Leaf, coarse: Coarsening) -> None:
    """Raise if a leaf asks for something that was cut or rounded away."""
    words: tuple[Word, ...] = ()
    if isinstance(leaf, Compare):
        words = (leaf.value,)
    elif isinstance(leaf, Within):
        words = (leaf.lo, leaf.hi)
    elif isinstance(leaf, OneOf):
        words = leaf.values
    name = leaf.column.text
    for word in words:
        value = _value(word.text, dates=coarse.dates)
        if value is None:
            continue
        operator = leaf.operator if isinstance(leaf, Compare) else None
        above = coarse.top is not None and (value > coarse.top or (operator == ">" and value == coarse.top))  # type: ignore[operator]
        below = coarse.bottom is not None and (value < coarse.bottom or (operator == "<" and value == coarse.bottom))  # type: ignore[operator]
        if above or below:
            message = f"column {name!r} does not tell values {_ends(coarse)} apart"
            raise expression.error(message, word.position, _hint(name, coarse))
        if not coarse.allows(value):
            raise expression.error(f"the values of column {name!r} are rounded", word.position, _hint(name, coarse))


def _ends(coarse: Coarsening) -> str:
    ends = [f"from {coarse.top} up"] if coarse.top is not None else []
    ends += [f"from {coarse.bottom} down"] if coarse.bottom is not None else []
    return " or ".join(ends)


def _hint(name: str, coarse: Coarsening) -> str:
    said = [f"values from {coarse.top} up are published as {coarse.top}"] if coarse.top is not None else []
    said += [f"those from {coarse.bottom} down as {coarse.bottom}"] if coarse.bottom is not None else []
    if isinstance(coarse.round, str):
        said.append(f"dates as the first day of their {coarse.round}")
    elif coarse.round is not None:
        said.append(f"numbers are rounded to multiples of {coarse.round:g}")
    example = f" Ask for {name} >= {coarse.top}, say." if coarse.top is not None else ""
    return f"In this column {', '.join(said)}.{example}"


def _value(text: str, *, dates: bool) -> End | None:
    """Return a constant as a number or a date; None where it is none, which is said elsewhere."""
    try:
        return dt.date.fromisoformat(text) if dates else float(text)
    except ValueError:
        return None
