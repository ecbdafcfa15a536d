"""Questions to a release: one file for each, found by its entry point in the group ``reveil.questions``.

A question is written as it is asked: ``age >= 40`` (a count), ``count age >= 40``, ``mean(income) age >= 40``,
``quantile(income, 0.5)``, ``crosstab(sex, diagnosis) ward = surgery``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from reveil.analysis.questions.base import Question
from reveil.core import registry
from reveil.core.errors import InputError

if TYPE_CHECKING:
    from reveil.releases.answers import Answer
    from reveil.releases.release import Release
    from reveil.tables.schema import Schema

_CALL = re.compile(r"\s*(\w+)\s*\(")
_WORD = re.compile(r"\s*(\w+)(?:\s+|$)")
_ARGUMENT = re.compile(
    r"""\s*(?:'((?:[^']|'')*)'|"((?:[^"]|"")*)"|`((?:[^`]|``)*)`|([^,()'"`]*[^,()'"`\s]))\s*([,)])"""
)


def ask(release: Release, text: str, schema: Schema | None = None) -> Answer:
    """Answer a question that is written as text."""
    question, expression = read(text)
    return question.of(release, expression, schema)


def read(text: str) -> tuple[Question, str | None]:
    """Return the question and its expression; None: about all records."""
    known = {name: kind for name, kind in registry.everything("questions").items() if _is_asked(kind)}
    call = _CALL.match(text)
    if call is not None and call[1].lower() in known:
        arguments, rest = _arguments(text, call.end())
        return known[call[1].lower()].from_arguments(arguments), rest.strip() or None
    word = _WORD.match(text)
    if word is not None and word[1].lower() in known:
        rest = text[word.end() :].strip()
        # A column may have the name of a question: "count = 3" is about the column.
        if not re.match(r"(=|!=|<|>|(not\s+)?in\b|is\b)", rest, re.IGNORECASE):
            return known[word[1].lower()].from_arguments([]), rest or None
    if call is not None and call[1].lower() not in ("not", "and", "or", "in"):
        raise InputError(
            f"there is no question {call[1]!r}",
            hint=f"Ask {', '.join(kind.usage for kind in known.values())}; an expression alone is a count.",
        )
    return known["count"].from_arguments([]), text


def _is_asked(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Question)


def _arguments(text: str, at: int) -> tuple[list[str], str]:
    """Return the arguments from behind an opening parenthesis, and what comes behind the closing one."""
    found: list[str] = []
    while True:
        match = _ARGUMENT.match(text, at)
        if match is None:
            raise InputError(
                "the parenthesis of this question is not closed, or an argument in it is missing",
                hint="Write mean(income) or quantile(income, 0.5); names with other characters in backticks.",
            )
        quoted = [(part, quote) for part, quote in zip(match.groups()[:3], "'\"`", strict=True) if part is not None]
        found.append(quoted[0][0].replace(quoted[0][1] * 2, quoted[0][1]) if quoted else match[4])
        at = match.end()
        if match[5] == ")":
            return found, text[at:]
