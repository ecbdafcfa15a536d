"""Exploring: what privacy costs here, and taking a choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from reveil.core.json_values import JSON, object_in, objects_in
from reveil.reporting.axes import LEFT, RIGHT, WIDTH, Axis
from reveil.reporting.drawing import Chart, Plot
from reveil.studio.forms import form_values
from reveil.studio.problems import Problem, StudioError
from reveil.studio.tasks.exploring import ExploreTask, take_again

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response

    from reveil.studio.visiting import Visit


@dataclass(frozen=True)
class PlacedPoint:
    """A point of the chart: its number, its place, and what it is."""

    n: int
    x: float
    y: float
    name: str
    frontier: bool
    current: bool


@dataclass(frozen=True)
class FrontierChart:
    """The axes, and the points on them."""

    chart: Chart
    points: tuple[PlacedPoint, ...]
    line: str


def show(visit: Visit) -> Response:
    """Show the form; chosen is the table that is asked for, or else the one published last."""
    state, tables = visit.state(), visit.raw_tables()
    wanted = visit.query.get("data") or visit.studio.log.last("publish", config_path=state.found.path).get("data")
    there = [one.path for one in tables]
    return visit.page(
        "explore.html.j2",
        title="Explore",
        here="explore",
        state=state,
        tables=tables,
        chosen=[wanted] if wanted in there else there[:1],
    )


def start(visit: Visit) -> Response:
    """Try settings."""
    return visit.begin_and_go(ExploreTask, form_values(ExploreTask, visit.form))


def take(visit: Visit) -> Response:
    """Write a point of an exploration into the config, whose comments stay."""
    job = visit.studio.board.get(visit.form.get("job") or "")
    if not isinstance(job.task, ExploreTask):
        raise StudioError(Problem(400, "This job explored nothing.", None, "Go back to the series."))
    path = visit.studio.folder.config(job.task.config_path)
    take_again(path, job.task.tries, visit.form.number("n") or 0)
    visit.studio.log.add(visit.session.who, "take point", config_path=job.task.config_path, n=visit.form.number("n"))
    return visit.go(f"/series?config={quote(job.task.config_path)}&taken={visit.form.number('n')}")


def frontier_chart(content: Mapping[str, JSON]) -> FrontierChart | None:
    """Place the points: to the left less is lost, below less can be found out."""
    rows = [(point, *_place(point)) for point in objects_in(content["points"])]
    known = [(point, 100 * loss, 100 * risk) for point, loss, risk in rows if loss is not None and risk is not None]
    if not known:
        return None
    across = Axis.of([loss for _, loss, _ in known], log=False, zero=True)
    up = Axis.of([risk for _, _, risk in known], log=False, zero=True)
    plot = Plot(legend=[], across=across.placed(LEFT, WIDTH - RIGHT, inset=14.0))
    plot.grid(up, across.ticks(6), "mean width of a cell, in per cent", "highest belief, in per cent")
    at_y = plot.height_of(up)
    points = tuple(
        PlacedPoint(
            int(str(point["n"])),
            plot.across.at(loss),
            at_y(risk),
            f"{point['named']}: a cell is {loss:.0f}% of its column wide, attacks believe {risk:.3g}% at most",
            bool(point["frontier"]),
            point["n"] == content["current"],
        )
        for point, loss, risk in known
    )
    front = sorted((one for one in points if one.frontier), key=lambda one: one.x)
    line = "".join(f"{'L' if place else 'M'}{one.x:.1f} {one.y:.1f}" for place, one in enumerate(front))
    return FrontierChart(plot.chart("Risk against loss", [one.name for one in points]), points, line)


def _place(point: Mapping[str, JSON]) -> tuple[float | None, float | None]:
    loss, risk = object_in(point["loss"])["gcp"], object_in(point["risk"])["highest"]
    return (
        float(loss) if isinstance(loss, int | float) else None,
        float(risk) if isinstance(risk, int | float) else None,
    )
