"""What is left of the table: widths of cells, and answers to counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from reveil.reporting import charts
from reveil.reporting.parts import Chapter, PageTable, TableColumn

if TYPE_CHECKING:
    from reveil.reporting.charts import Chart
    from reveil.reporting.parts import Parts

SIX = 6  # lines that a chart still tells apart


@dataclass(frozen=True)
class CountErrors:
    """How wrong counts are, release by release."""

    chart: Chart
    table: PageTable


@dataclass(frozen=True)
class Measured:
    """How wide cells are: over the releases, and column by column in the last one that was measured."""

    widths: Chart
    counts: CountErrors | None
    releases: PageTable
    columns: PageTable


@dataclass(frozen=True)
class UtilityChapter(Chapter):
    """The chapter."""

    key: ClassVar[str] = "utility"
    title: ClassVar[str] = "What is left of the table"
    template: ClassVar[str] = "report/utility.html.j2"
    measured: Measured | None


def utility(parts: Parts) -> UtilityChapter:
    """Show what is left of the table."""
    releases = parts.content["releases"]
    if all(release["gcp"] is None for release in releases):
        return UtilityChapter(None)
    names = list(dict.fromkeys(column["name"] for release in releases for column in release["columns"]))
    by_column = {name: [_width(release, name) for release in releases] for name in names[:SIX]}
    columns = [TableColumn("release", "release"), TableColumn("mean width", "gcp", "share")]
    if any(release["em_mean"] is not None for release in releases):
        columns.append(TableColumn("bits that a cell leaves open", "em_mean", "number"))
    last = max(n for n, release in enumerate(releases) if release["gcp"] is not None)
    measured = Measured(
        widths=charts.lines(
            "Mean width of a cell", parts.numbers, by_column, x_label="release", y_label="share of the range"
        ),
        counts=_counts(parts) if any(release["query_error"] for release in releases) else None,
        releases=parts.table("The mean width of a cell, over all columns", columns, parts.rows),
        columns=parts.table(
            f"The columns of release {parts.labels[last]}",
            [TableColumn("column", "name", "text"), TableColumn("mean width", "gcp", "share")],
            [f"releases.{last}.columns.{n}" for n in range(len(releases[last]["columns"]))],
        ),
    )
    return UtilityChapter(measured)


def _width(release: dict[str, Any], name: str) -> float | None:
    return next((column["gcp"] for column in release["columns"] if column["name"] == name), None)


def _counts(parts: Parts) -> CountErrors:
    """Draw how wrong counts are."""
    errors = parts.values("query_error")
    lines = {key: [None if error is None else error[key] for error in errors] for key in ("mean", "median")}
    columns = [
        TableColumn("release", "release"),
        TableColumn("mean", "query_error.mean", "share"),
        TableColumn("median", "query_error.median", "share"),
        TableColumn("empty windows", "query_error.skipped"),
    ]
    rows = [f"releases.{n}" for n, error in enumerate(errors) if error is not None]
    return CountErrors(
        charts.lines("Relative error of counts", parts.numbers, lines, x_label="release", y_label="relative error"),
        parts.table("Relative error of random counts", columns, rows),
    )
