"""If sensitive values are known: a chapter where a row has several of them."""

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
    title: ClassVar[str] = "If sensitive values are known"
    template: ClassVar[str] = "report/knowing.html.j2"
    attacker: str
    values_known: Number
    persons: Number
    release: Number
    certain: Number
    table: PageTable


def knowing(parts: Parts) -> KnowingChapter | None:
    """Say what known values give, column by column."""
    found = parts.content["knowing"]
    if found is None:
        return None
    columns = [
        TableColumn("column", "name", "text"),
        TableColumn("people whose row is found", "rows_found"),
        TableColumn("value certain", "certain"),
        TableColumn("mean belief", "mean", "number"),
        TableColumn("without the known values", "mean_without", "number"),
    ]
    rows = [f"knowing.columns.{n}" for n in range(len(found["columns"]))]
    return KnowingChapter(
        attacker=found["attacker"],
        values_known=parts.number("knowing.values_known"),
        persons=parts.number("knowing.persons"),
        release=parts.number("knowing.release"),
        certain=parts.number("knowing.certain"),
        table=parts.table("What known values of other columns give", columns, rows),
    )
