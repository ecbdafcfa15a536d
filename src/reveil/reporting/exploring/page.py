"""The page of an exploration: risk against loss, the frontier in words, and every point with its figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from reveil.reporting.charts import lines
from reveil.reporting.page import Page
from reveil.reporting.parts import Chapter, Number, PageTable, Parts, TableColumn
from reveil.reporting.templating import fill

if TYPE_CHECKING:
    from collections.abc import Callable

    from reveil.reporting.drawing import Chart
    from reveil.reporting.exploring.points import Exploration, ExploredPoint

_COLUMNS = (
    TableColumn("point", "n"),
    TableColumn("settings", "named", "text"),
    TableColumn("frontier", "frontier", "answer"),
    TableColumn("highest belief", "risk.highest", "share"),
    TableColumn("mean belief", "risk.mean", "share"),
    TableColumn("right guesses with a learnt prior", "risk.prior", "share"),
    TableColumn("width of a cell", "loss.gcp", "share"),
    TableColumn("error of a count", "loss.query_error", "share"),
    TableColumn("with the sensitive value", "loss.query_error_sensitive", "share"),
    TableColumn("counterfeits", "counterfeits"),
    TableColumn("withheld", "withheld"),
    TableColumn("seconds", "seconds", "number"),
)


@dataclass(frozen=True)
class ExplorePage(Page):
    """The page: when and by what it was made."""

    created: Number
    reveil: Number
    format: Number


@dataclass(frozen=True)
class FrontierPoint:
    """A point of the frontier in words."""

    number: Number
    settings: str
    words: str
    current: bool


@dataclass(frozen=True)
class FrontierChapter(Chapter):
    """The picture and the words."""

    key: ClassVar[str] = "frontier"
    title: ClassVar[str] = "What privacy costs here"
    template: ClassVar[str] = "explore/frontier.html.j2"
    chart: Chart
    choices: tuple[FrontierPoint, ...]
    current: Number | None


@dataclass(frozen=True)
class PointsChapter(Chapter):
    """Every point."""

    key: ClassVar[str] = "points"
    title: ClassVar[str] = "All that was tried"
    template: ClassVar[str] = "explore/points.html.j2"
    points: PageTable
    refused: PageTable | None


def render(content: Exploration) -> str:
    """Draw an exploration."""
    parts = Parts(dict(content))
    page = ExplorePage(
        title="What privacy costs: explored settings",
        heading="What privacy costs here",
        chapters=(_frontier(parts, content), _points(parts, content)),
        created=parts.number("created", "time"),
        reveil=parts.number("reveil", "text"),
        format=parts.number("format"),
    )
    return fill("explore/page.html.j2", page=page)


def _frontier(parts: Parts, content: Exploration) -> FrontierChapter:
    points = content["points"]
    order = sorted(range(len(points)), key=lambda n: points[n]["loss"]["gcp"] or 0.0)
    current = content["current"]
    kinds: dict[str, Callable[[ExploredPoint], bool]] = {
        "the frontier": lambda point: point["frontier"],
        "others": lambda point: not point["frontier"],
        "the present choice": lambda point: point["n"] == current,
    }
    chart = lines(
        "Risk against loss",
        [round(100 * (points[n]["loss"]["gcp"] or 0.0), 1) for n in order],
        {
            name: [_per_cent(points[n]["risk"]["highest"]) if has(points[n]) else None for n in order]
            for name, has in kinds.items()
            if any(has(point) for point in points)
        },
        x_label="mean width of a cell, in per cent",
        y_label="highest belief, in per cent",
    )
    choices = tuple(
        FrontierPoint(parts.number(f"points.{n}.n"), point["named"], point["words"] or "", point["n"] == current)
        for n, point in enumerate(points)
        if point["frontier"]
    )
    return FrontierChapter(chart, choices, None if current is None else parts.number("current"))


def _per_cent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _points(parts: Parts, content: Exploration) -> PointsChapter:
    rows = [f"points.{n}" for n in range(len(content["points"]))]
    refused = [f"refused.{n}" for n in range(len(content["refused"]))]
    why = (TableColumn("point", "n"), TableColumn("settings", "named", "text"), TableColumn("why", "why", "text"))
    return PointsChapter(
        parts.table("Every candidate with its figures", _COLUMNS, rows),
        parts.table("What could not be tried", why, refused) if refused else None,
    )
