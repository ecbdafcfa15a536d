"""How releases compare: each with the one before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from reveil.reporting import charts
from reveil.reporting.parts import Chapter, Number, PageTable, TableColumn

if TYPE_CHECKING:
    from reveil.reporting.charts import Chart
    from reveil.reporting.parts import Parts


@dataclass(frozen=True)
class Trend:
    """How far off a trend is that is read off the releases."""

    mean: Number
    median: Number
    queries: Number
    skipped: Number


@dataclass(frozen=True)
class ComparingChapter(Chapter):
    """The chapter; ``churn_lacks``: of some pair it is not known who is in another box."""

    key: ClassVar[str] = "comparing"
    title: ClassVar[str] = "How releases compare"
    template: ClassVar[str] = "report/comparing.html.j2"
    trend: Trend | None
    chart: Chart
    table: PageTable
    churn_lacks: bool


def comparing(parts: Parts) -> ComparingChapter | None:
    """Show how well one release can be compared with the one before it."""
    pairs = parts.content["comparing"]
    if not pairs:
        return None
    lines = {"the same boxes": [pair["comparability"] for pair in pairs]}
    if any(pair["churn"] is not None for pair in pairs):
        lines["unchanged people in another box"] = [pair["churn"] for pair in pairs]
    columns = [
        TableColumn("release", "to"),
        TableColumn("compared with", "from"),
        TableColumn("same boxes", "comparability", "share"),
    ]
    columns += [TableColumn("unchanged people", "unchanged"), TableColumn("of these in another box", "churn", "share")]
    rows = [f"comparing.{n}" for n in range(len(pairs))]
    return ComparingChapter(
        trend=None if parts.content["trend"] is None else _trend(parts),
        chart=charts.lines(
            "Comparing releases", [pair["to"] for pair in pairs], lines, x_label="release", y_label="share"
        ),
        table=parts.table("Releases beside the ones before them", columns, rows),
        churn_lacks=any(pair["churn"] is None for pair in pairs),
    )


def _trend(parts: Parts) -> Trend:
    return Trend(
        mean=parts.number("trend.mean", "share"),
        median=parts.number("trend.median", "share"),
        queries=parts.number("trend.queries"),
        skipped=parts.number("trend.skipped"),
    )
