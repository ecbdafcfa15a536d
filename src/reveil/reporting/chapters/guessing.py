"""Guesses by what people usually have: beside the promise, in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from reveil.reporting.parts import Chapter, Number, PageTable, TableColumn

if TYPE_CHECKING:
    from reveil.reporting.parts import Parts


@dataclass(frozen=True)
class GuessedColumn:
    """The guesses about one column: who guesses, how many of their beliefs are beyond the bound, and a table."""

    name: str
    attacker: str
    beyond: Number
    belief: Number
    table: PageTable


@dataclass(frozen=True)
class GuessingChapter(Chapter):
    """The chapter."""

    key: ClassVar[str] = "guessing"
    title: ClassVar[str] = "What the promise leaves out: guesses"
    template: ClassVar[str] = "report/guessing.html.j2"
    columns: tuple[GuessedColumn, ...]


def guessing(parts: Parts) -> GuessingChapter | None:
    """Lay out how many guesses are right, release by release."""
    found = parts.content["guessing"]
    if found is None:
        return None
    return GuessingChapter(
        tuple(_column(parts, f"guessing.columns.{place}", column) for place, column in enumerate(found["columns"]))
    )


def _column(parts: Parts, path: str, column: dict[str, object]) -> GuessedColumn:
    releases = column["releases"]
    many = len(releases) if isinstance(releases, list) else 0
    columns = [
        TableColumn("release", "release"),
        TableColumn("guessed right", "attack.rate", "number"),
        TableColumn("at least", "attack.low", "number"),
        TableColumn("at most", "attack.high", "number"),
        TableColumn("without the releases", "baseline.rate", "number"),
    ]
    if many and all(release["control"] is not None for release in releases):  # type: ignore[attr-defined]
        columns.append(TableColumn("people who are not in it", "control.rate", "number"))
    rows = [f"{path}.releases.{n}" for n in range(many)]
    return GuessedColumn(
        name=str(column["name"]),
        attacker=str(column["attacker"]),
        beyond=parts.number(f"{path}.series.beyond.persons"),
        belief=parts.number(f"{path}.series.beyond.belief", "number"),
        table=parts.table(f"Guesses of somebody's {column['name']}, by each release alone", columns, rows),
    )
