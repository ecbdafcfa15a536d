"""If one sensitive value is known: a chapter where a row has several of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from reveil.reporting.parts import Chapter, Number, PageTable, TableColumn

if TYPE_CHECKING:
    from reveil.reporting.parts import Parts


@dataclass(frozen=True)
class KnowingChapter(Chapter):
    """The chapter."""

    key: ClassVar[str] = "knowing"
    title: ClassVar[str] = "If one sensitive value is known"
    template: ClassVar[str] = "report/knowing.html.j2"
    values_known: Number
    persons: Number
    release: Number
    certain: Number
    table: PageTable


def knowing(parts: Parts) -> KnowingChapter | None:
    """Say what one known value gives, column by column."""
    found = parts.content["knowing"]
    if found is None:
        return None
    columns = [
        TableColumn("column", "name", "text"),
        TableColumn("people whose row is found", "rows_found"),
        TableColumn("value certain", "certain"),
        TableColumn("mean belief", "mean", "number"),
        TableColumn("without the known value", "mean_without", "number"),
    ]
    rows = [f"knowing.columns.{n}" for n in range(len(found["columns"]))]
    return KnowingChapter(
        values_known=parts.number("knowing.values_known"),
        persons=parts.number("knowing.persons"),
        release=parts.number("knowing.release"),
        certain=parts.number("knowing.certain"),
        table=parts.table("What one known value of another column gives", columns, rows),
    )
