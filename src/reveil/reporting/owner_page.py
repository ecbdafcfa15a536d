"""The page for the owner alone: distributions before and after, cross tables, and the riskiest records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from reveil.reporting import charts
from reveil.reporting.page import Page
from reveil.reporting.parts import Chapter, Number, PageTable, Parts, TableColumn
from reveil.reporting.templating import fill

if TYPE_CHECKING:
    from reveil.core.json_values import JSON
    from reveil.reporting.drawing import Chart

_RISKIEST = (
    TableColumn("row", "row"),
    TableColumn("rows alike", "alike"),
    TableColumn("prosecutor", "prosecutor", "number"),
    TableColumn("journalist", "journalist", "number"),
    TableColumn("score of special uniques", "score", "number"),
)


@dataclass(frozen=True)
class OwnerPage(Page):
    """The page: when and by what it was made."""

    created: Number
    reveil: Number
    format: Number


@dataclass(frozen=True)
class DrawnColumn:
    """One column before and after."""

    name: str
    moved: Number
    chart: Chart
    table: PageTable


@dataclass(frozen=True)
class DistributionsChapter(Chapter):
    """Every column of the last release."""

    key: ClassVar[str] = "distributions"
    title: ClassVar[str] = "Every column, before and after"
    template: ClassVar[str] = "owner/distributions.html.j2"
    release: Number
    columns: tuple[DrawnColumn, ...]
    not_drawn: str | None


@dataclass(frozen=True)
class CrossedChapter(Chapter):
    """Two columns at a time."""

    key: ClassVar[str] = "crossed"
    title: ClassVar[str] = "Two columns together"
    template: ClassVar[str] = "owner/crossed.html.j2"
    tables: tuple[PageTable, ...]


@dataclass(frozen=True)
class RiskiestChapter(Chapter):
    """The records that are most easily found."""

    key: ClassVar[str] = "riskiest"
    title: ClassVar[str] = "The records that are found most easily"
    template: ClassVar[str] = "owner/riskiest.html.j2"
    before: PageTable
    after: PageTable


def render_owner(content: dict[str, JSON]) -> str:
    """Draw the page."""
    parts = Parts(content)
    name = parts.content["series"] or "A series"
    page = OwnerPage(
        title=f"{name}: for the owner alone",
        heading=f"{name}: for the owner alone",
        chapters=tuple(chapter for chapter in (_columns(parts), _crossed(parts), _riskiest(parts)) if chapter),
        created=parts.number("created", "time"),
        reveil=parts.number("reveil", "text"),
        format=parts.number("format"),
    )
    return fill("owner/page.html.j2", page=page)


def _columns(parts: Parts) -> DistributionsChapter:
    drawn = []
    for n, column in enumerate(parts.content["columns"]):
        bars = column["bars"]
        values = {key: [bar[key] for bar in bars] for key in ("before", "after")}
        chart = charts.sideways(f"{column['name']}, before and after", [bar["label"] for bar in bars], values)
        heads = [TableColumn(column["name"], "label", "text"), TableColumn("before", "before")]
        heads.append(TableColumn("after", "after"))
        rows = [f"columns.{n}.bars.{place}" for place in range(len(bars))]
        table = parts.table(f"Records by {column['name']}", heads, rows)
        drawn.append(DrawnColumn(column["name"], parts.number(f"columns.{n}.moved", "share"), chart, table))
    return DistributionsChapter(parts.number("release"), tuple(drawn), parts.content["not_drawn"])


def _crossed(parts: Parts) -> CrossedChapter | None:
    tables = []
    for n, crossed in enumerate(parts.content["crossed"]):
        heads = [TableColumn(crossed["down"], "label", "text")]
        for place, label in enumerate(crossed["columns"]):
            heads += [TableColumn(label, f"before.{place}"), TableColumn("after", f"after.{place}")]
        caption = f"{crossed['down']} by {crossed['across']}: records before, and after beside them"
        tables.append(parts.table(caption, heads, [f"crossed.{n}.rows.{row}" for row in range(len(crossed["rows"]))]))
    return CrossedChapter(tuple(tables)) if tables else None


def _riskiest(parts: Parts) -> RiskiestChapter | None:
    risks = parts.content["riskiest"]
    if not risks:
        return None
    last = len(risks) - 1
    before, after = (
        parts.table(
            f"{whose} of release {risks[last]['release']}, numbered from 1 without the head",
            _RISKIEST,
            [f"riskiest.{last}.{key}.{n}" for n in range(len(risks[last][key]))],
        )
        for whose, key in (("Records of the snapshot", "before"), ("Rows", "after"))
    )
    return RiskiestChapter(before, after)
