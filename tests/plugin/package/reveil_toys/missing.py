"""A question: how many records have nothing in a column?"""

from dataclasses import dataclass

from reveil.analysis.questions.base import Question, check_number


@dataclass(frozen=True)
class Missing(Question):
    """``missing(COLUMN)``."""

    usage = "missing(COLUMN) EXPR"
    column: str

    @classmethod
    def from_arguments(cls, arguments):
        check_number(cls.usage, arguments, 1)
        return cls(*arguments)

    def of(self, release, expression, schema=None):
        also = "" if expression is None else f" and ({expression})"
        return release.count(f"`{self.column}` is null{also}", schema)
