"""What a question is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Self

from reveil.core.errors import InputError
from reveil.core.errors import shown as listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.analysis.reader import ReleaseReader
    from reveil.releases.answers import Answer
    from reveil.releases.release import Release
    from reveil.tables.expressions import Expression
    from reveil.tables.schema import Schema


class Question(ABC):
    """Something that can be asked of a release about the records that satisfy an expression.

    ``usage`` is how it is written.
    """

    usage: ClassVar[str]

    @classmethod
    @abstractmethod
    def from_arguments(cls, arguments: Sequence[str]) -> Self:
        """Make the question from what stands in its parentheses."""

    @abstractmethod
    def of(self, release: Release, expression: str | Expression | None, schema: Schema | None = None) -> Answer:
        """Answer it; without an expression, about all records. The schema gives hierarchies and orders."""


def check_number(usage: str, arguments: Sequence[str], wanted: int) -> None:
    """Refuse other arguments than a question has."""
    if len(arguments) != wanted:
        raise InputError(
            f"this question has {wanted} argument{'s' * (wanted != 1)}, and {len(arguments)} were given",
            hint=f"Write {usage}.",
        )


def check_column(reader: ReleaseReader, name: str) -> None:
    """Refuse a column that the release does not have."""
    if name not in reader.fields:
        raise InputError(
            f"there is no column {name!r} in this release", hint=f"The columns are {listed(reader.fields)}."
        )
