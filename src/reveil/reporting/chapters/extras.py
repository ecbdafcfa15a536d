"""What was added and left out: made-up rows, and records that are missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from reveil.reporting import charts
from reveil.reporting.parts import Chapter, PageTable, TableColumn

if TYPE_CHECKING:
    from reveil.reporting.charts import Chart
    from reveil.reporting.parts import Parts

NAMES = ("counterfeits", "withheld", "suppressed", "dirty")


@dataclass(frozen=True)
class ExtrasChapter(Chapter):
    """The chapter; without a chart where nothing was added or left out."""

    key: ClassVar[str] = "extras"
    title: ClassVar[str] = "What was added and left out"
    template: ClassVar[str] = "report/extras.html.j2"
    chart: Chart | None
    table: PageTable


def extras(parts: Parts) -> ExtrasChapter:
    """Show which rows were added and which records are missing."""
    chart = None
    series = {name: parts.values(name) for name in NAMES}
    if any(value for values in series.values() for value in values):
        chart = charts.bars("Rows added and records left out", parts.labels, series, y_label="rows", x_label="release")
    columns = [TableColumn("release", "release"), *(TableColumn(name, name) for name in NAMES)]
    if any(parts.values("made_up")):
        by_column = any(parts.values("made_up_in"))
        what = "of the rows made up" if not by_column else "made up of the values of the column that has most"
        columns.append(TableColumn(what, "made_up", "share"))
    return ExtrasChapter(chart, parts.table("Added and left out, release by release", columns, parts.rows))
