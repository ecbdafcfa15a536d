"""The query language: from text to a tree.

::

    expression  = conjunction { "or" conjunction }
    conjunction = negation { "and" negation }
    negation    = { "not" } ( "(" expression ")" | comparison )
    comparison  = column ( "=" | "!=" | "<" | "<=" | ">" | ">=" ) value
                | column [ "not" ] "in" "[" value "," value "]"            both ends belong to it
                | column [ "not" ] "in" "{" value { "," value } "}"
                | column "is" [ "not" ] "null"

A bare value or column is any run of characters without spaces, quotes, brackets, commas and comparison signs. Others
stand in quotes, ``'North-West'`` or ``"North-West"``, column names also in backticks; inside, the quote itself is
written twice, and a backslash is a character like any other. A value that ends in a star outside of quotes is a
beginning: ``4410*``, ``'New Y'*``. Keywords are read in any case.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NoReturn, TypeAlias, TypeVar

from reveil.core.errors import ExpressionError

if TYPE_CHECKING:
    from collections.abc import Callable

DEEPEST = 100  # nested parentheses and nots; beyond it nobody has written the expression by hand
OPERATORS = ("=", "!=", "<", "<=", ">", ">=")
L = TypeVar("L")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Word:
    """A column or a value as written. ``proposing``: it stands for every text that begins so."""

    text: str
    position: int
    beginning: bool = False


@dataclass(frozen=True, slots=True)
class Leaf:
    """A question about one column."""

    column: Word


@dataclass(frozen=True, slots=True)
class Compare(Leaf):
    """``column operator value``."""

    operator: str
    position: int
    value: Word


@dataclass(frozen=True, slots=True)
class Within(Leaf):
    """``column in [lo, hi]``."""

    lo: Word
    hi: Word
    position: int
    negated: bool


@dataclass(frozen=True, slots=True)
class OneOf(Leaf):
    """``column in {a, b}``."""

    values: tuple[Word, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class IsNull(Leaf):
    """``column is null``."""

    negated: bool


@dataclass(frozen=True, slots=True)
class And(Generic[L]):
    """All of the parts."""

    parts: tuple[Tree[L], ...]


@dataclass(frozen=True, slots=True)
class Or(Generic[L]):
    """At least one of the parts."""

    parts: tuple[Tree[L], ...]


@dataclass(frozen=True, slots=True)
class Not(Generic[L]):
    """Not the part. Plain complement: what does not satisfy the part satisfies this, null or not."""

    part: Tree[L]


Tree: TypeAlias = L | And[L] | Or[L] | Not[L]
Node: TypeAlias = Tree[Leaf]


@dataclass(frozen=True, slots=True)
class Expression:
    """A query that was read: the text, for carets, and the tree."""

    text: str
    root: Node

    def columns(self) -> set[str]:
        """Return the names of the columns that it reads."""
        return fold(self.root, lambda leaf: {leaf.column.text}, _union, _union, lambda part: part)

    def error(self, message: str, position: int, hint: str | None = None) -> ExpressionError:
        """Return an error with a caret under the place."""
        return _error(self.text, message, position, hint)


def _union(parts: list[set[str]]) -> set[str]:
    return set().union(*parts)


def fold(
    node: Tree[L],
    leaf: Callable[[L], T],
    every: Callable[[list[T]], T],
    some: Callable[[list[T]], T],
    opposite: Callable[[T], T],
) -> T:
    """Compute something of a tree from its leaves up; the parser has limited the depth."""
    if isinstance(node, And):
        return every([fold(part, leaf, every, some, opposite) for part in node.parts])
    if isinstance(node, Or):
        return some([fold(part, leaf, every, some, opposite) for part in node.parts])
    if isinstance(node, Not):
        return opposite(fold(node.part, leaf, every, some, opposite))
    return leaf(node)


def parse(text: str) -> Expression:
    """Read an expression, or raise :class:`ExpressionError` with the place.

    >>> parse("age in [30, 40] and not sex = f").root.parts[0].hi.text
    '40'
    """
    return Expression(text, _Parser(text).read())


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # "word", "quoted", "sign" or "end"
    text: str
    position: int
    beginning: bool = False

    def is_keyword(self, *words: str) -> bool:
        return self.kind == "word" and self.text.lower() in words

    def is_sign(self, *signs: str) -> bool:
        return self.kind == "sign" and self.text in signs


_TOKEN = re.compile(
    r"""\s*(?:(?P<sign><=|>=|!=|<>|==|[=<>()\[\]{},])|(?P<quote>['"`])|(?P<word>[^\s()\[\]{},=<>!'"`]+))"""
)
_MISSPELT = {"==": "=", "<>": "!="}


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            place = at + len(text[at:]) - len(text[at:].lstrip())
            raise _error(text, "this character has no meaning here", place, "Comparisons are = != < <= > >=.")
        at, start = match.end(), match.start(match.lastgroup or 0)
        if match.lastgroup == "quote":
            token, at = _quoted(text, start)
            found.append(token)
        else:
            found.append(_Token(match.lastgroup or "", match[match.lastgroup or 0], start))
    return [*found, _Token("end", "", end)]


def _quoted(text: str, start: int) -> tuple[_Token, int]:
    """Read quoted text from its opening quote; also return where reading goes on."""
    quote, at = text[start], start + 1
    parts = []
    while True:
        close = text.find(quote, at)
        if close < 0:
            raise _error(text, "this quote is not closed", start, f"Inside quotes, write {quote} as {quote * 2}.")
        parts.append(text[at:close])
        at = close + 1
        if not text.startswith(quote, at):
            break
        parts.append(quote)
        at += 1
    beginning = text.startswith("*", at)
    return _Token("quoted", "".join(parts), start, beginning), at + beginning


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.place = 0
        self.depth = 0

    def read(self) -> Node:
        if len(self.tokens) == 1:
            self.fail("the expression is empty", hint="For example: age in [30, 40] and sex = f")
        node = self.disjunction()
        if self.next.kind != "end":
            if self.next.is_sign(")"):
                self.fail("this parenthesis closes nothing")
            self.fail("expected 'and', 'or' or the end here", hint="Put text with spaces in quotes: 'New York'.")
        return node

    @property
    def next(self) -> _Token:
        return self.tokens[self.place]

    def take(self) -> _Token:
        token = self.tokens[self.place]
        self.place += 1
        return token

    def fail(self, message: str, token: _Token | None = None, hint: str | None = None) -> NoReturn:
        raise _error(self.text, message, (token or self.next).position, hint)

    def disjunction(self) -> Node:
        parts = [self.conjunction()]
        while self.next.is_keyword("or"):
            self.take()
            parts.append(self.conjunction())
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def conjunction(self) -> Node:
        parts = [self.negation()]
        while self.next.is_keyword("and"):
            self.take()
            parts.append(self.negation())
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def negation(self) -> Node:
        if not self.next.is_keyword("not") and not self.next.is_sign("("):
            return self.comparison()
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(f"the expression is nested more than {DEEPEST} deep", hint="Take parentheses and nots out.")
        opening = self.take()
        if opening.is_keyword("not"):
            node: Node = Not(self.negation())
        else:
            node = self.disjunction()
            if not self.next.is_sign(")"):
                self.fail("this parenthesis is not closed", opening, hint="Add ) where it ends.")
            self.take()
        self.depth -= 1
        return node

    def comparison(self) -> Node:
        column = self.column()
        if self.next.is_keyword("is"):
            self.take()
            negated = self.accept("not")
            if not self.next.is_keyword("null"):
                self.fail("expected 'null' here", hint="Write: is null, or: is not null.")
            self.take()
            return IsNull(column, negated)
        if self.next.is_keyword("not", "in"):
            negated = self.accept("not")
            if not self.next.is_keyword("in"):
                self.fail("expected 'in' here", hint="Write: not in [30, 40], or: not in {a, b}.")
            return self.membership(column, self.take().position, negated=negated)
        if not self.next.is_sign(*OPERATORS):
            if self.next.text in _MISSPELT:
                self.fail("this comparison is spelt differently", hint=f"Write {_MISSPELT[self.next.text]}.")
            self.fail(
                f"expected a comparison of {column.text!r} here",
                hint="Comparisons are = != < <= > >=, in [a, b], in {a, b} and is null.",
            )
        operator = self.take()
        return Compare(column, operator.text, operator.position, self.value())

    def accept(self, word: str) -> bool:
        if self.next.is_keyword(word):
            self.take()
            return True
        return False

    def column(self) -> Word:
        token = self.next
        if token.kind not in ("word", "quoted") or token.is_keyword("and", "or", "in", "is", "null"):
            self.fail(
                "expected a column here", hint=_if_keyword(token, "Put a column of this name in backticks: `in`.")
            )
        self.take()
        return Word(token.text, token.position)

    def membership(self, column: Word, position: int, *, negated: bool) -> Node:
        opening = self.next
        if not opening.is_sign("[", "{"):
            self.fail("expected [ or { here", hint="An interval is written [30, 40], a set {a, b}.")
        self.take()
        values = [self.value()]
        while self.next.is_sign(","):
            self.take()
            values.append(self.value())
        closing = "]" if opening.text == "[" else "}"
        if not self.next.is_sign(closing):
            if self.next.kind == "end":
                self.fail(f"this {opening.text} is not closed", opening, hint=f"Add {closing} where it ends.")
            self.fail(f"expected a comma or {closing} here", hint="Put text with spaces in quotes: 'New York'.")
        if opening.text == "{":
            self.take()
            return OneOf(column, tuple(values), negated)
        if len(values) != 2:
            self.fail("an interval has two ends", opening, hint="Write [30, 40] for an interval, {a, b, c} for a set.")
        self.take()
        return Within(column, values[0], values[1], position, negated)

    def value(self) -> Word:
        token = self.next
        if token.kind not in ("word", "quoted") or token.is_keyword("and", "or", "not"):
            self.fail("expected a value here", hint=_if_keyword(token, "If this word is the value, put it in quotes."))
        if token.is_keyword("null"):
            self.fail("nothing is equal to null", hint="Write: is null. If null is a text, put it in quotes.")
        self.take()
        if token.kind == "quoted":
            return Word(token.text, token.position, token.beginning)
        star = token.text.find("*")
        if 0 <= star < len(token.text) - 1:
            place = _Token("word", "", token.position + star)
            self.fail("a star stands at the end only", place, hint="If the star belongs to the text, put it in quotes.")
        return Word(token.text.removesuffix("*"), token.position, star >= 0)


def _if_keyword(token: _Token, hint: str) -> str | None:
    return hint if token.kind == "word" else None


def _error(text: str, message: str, position: int, hint: str | None) -> ExpressionError:
    # Whatever is not printable would move the caret, or the reader's cursor.
    shown = "".join(ch if ch.isprintable() else " " for ch in text)
    return ExpressionError(message, text=shown, position=position, hint=hint)
