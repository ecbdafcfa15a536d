"""What somebody gains who knows a sensitive value of their target: a chapter where a row has several of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reveil.adversary import audit
from reveil.reporting.marks import Column

if TYPE_CHECKING:
    from collections.abc import Callable

    from reveil.reporting.chapters import Part
    from reveil.reporting.holdings import Holdings
    from reveil.reporting.marks import Marks

KNOWN = 1


def knowing(about: Holdings, *, stage: Callable[[str], None]) -> dict[str, Any] | None:
    """Attack the last release with one known value; None where a row has one sensitive value, or nobody is known."""
    able = [held for held in about.at_hand if held.truth is not None]
    if len(about.schema.sensitive) < 2 or not able:
        return None
    last = able[-1]
    stage("attacking with a known value")
    source = last.source if last.adopted else last.release
    found = audit(source, about.schema, truth=last.truth, known="values", values_known=KNOWN, attacks="values")
    columns = [{"name": name, **own} for name, own in found.attacks["values"].items()]
    keys = ("name", "rows_found", "certain", "mean", "mean_without")
    return {
        "release": last.number,
        "values_known": KNOWN,
        "persons": found.summary["persons"],
        "certain": found.summary["certain"],
        "columns": [{key: own.get(key) for key in keys} for own in columns],
    }


def chapter(marks: Marks) -> Part | None:
    """Say what one known value gives, column by column."""
    found = marks.content["knowing"]
    if found is None:
        return None
    words = (
        "<p>Each sensitive column is protected by itself. Whoever knows "
        f"{marks.value('knowing.values_known')} sensitive value of somebody looks for the row that has it: of "
        f"{marks.value('knowing.persons')} people in release {marks.value('knowing.release')}, "
        f"{marks.value('knowing.certain')} then have another value that can be read off. No guarantee bounds this.</p>"
    )
    columns = [
        Column("column", "name", "text"),
        Column("people whose row is found", "rows_found"),
        Column("value certain", "certain"),
        Column("mean belief", "mean", "number"),
        Column("without the known value", "mean_without", "number"),
    ]
    rows = [f"knowing.columns.{n}" for n in range(len(found["columns"]))]
    table = marks.table("What one known value of another column gives", columns, rows)
    return "knowing", "If one sensitive value is known", words + table
