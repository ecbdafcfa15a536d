"""Charts: pure functions from numbers to pictures, which a page puts into its text as SVG.

They need no library and no style sheet. Every chart is ``role="img"`` with a title and a description that says its
numbers in words, for those who do not see it. How a picture is drawn is said in ``templates/chart.svg.j2``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reveil.reporting.axes import LEFT, RIGHT, WIDTH, Axis, number
from reveil.reporting.drawing import LONG, MANY, Chart, Plot, SidewaysPlot
from reveil.reporting.templating import fill

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["LONG", "Chart", "bars", "lines", "number", "sideways", "svg", "timeline"]

LARGE = 1e12  # beyond it, and below one over it, nothing is drawn
SPOKEN = 24  # numbers that a description still lists
Number = float | int | None


def svg(chart: Chart, *, file: bool = False) -> str:
    """Return a chart as text: SVG as it stands inside a page, or as a file of its own."""
    return fill("svg.j2", chart=chart, file=file)


def lines(
    title: str,
    x: Sequence[float],
    series: Mapping[str, Sequence[float | None]],
    *,
    x_label: str,
    y_label: str,
    log_x: bool = False,
    log_y: bool = False,
    bound: float | None = None,
) -> Chart:
    """Draw lines over common places ``x``; a None is a gap, and so is what a logarithm or a picture does not have.

    ``bound`` is a level that is drawn across. The axis of ``y`` begins at 0 where nothing is below it and it is not
    logarithmic.
    """
    places = [_given(value, log=log_x) for value in x]
    drawn = {name: [_given(value, log=log_y) for value in values] for name, values in series.items()}
    level = _given(bound, log=log_y)
    heights = [value for values in drawn.values() for value in values if value is not None]
    heights += [] if level is None else [level, level if log_y else level * 1.1]  # its name stands above it
    across = Axis.of([p for p in places if p is not None], log=log_x, zero=False)
    up = Axis.of(heights, log=log_y, zero=True)
    plot = Plot(legend=list(drawn), across=across.placed(LEFT, WIDTH - RIGHT, inset=14.0))
    stops = sorted({p for p in places if p is not None})
    plot.grid(up, stops if 0 < len(stops) <= MANY and not log_x else across.ticks(8), x_label, y_label)
    at_x, at_y = plot.across.at, plot.height_of(up)
    if level is not None:
        plot.bound(at_y(level), f"bound {number(level)}")
    for place, values in enumerate(drawn.values()):
        points = [
            None if one is None or value is None else (at_x(one), at_y(value))
            for one, value in zip(places, values, strict=True)
        ]
        plot.line(place, points)
    told = [_spoken_numbers(name, x, values) for name, values in series.items()]
    return plot.chart(title, [*told, *([] if bound is None else [f"The bound is {number(bound)}."])])


def bars(
    title: str,
    labels: Sequence[str],
    values: Sequence[float | None] | Mapping[str, Sequence[float | None]],
    *,
    y_label: str,
    x_label: str = "",
) -> Chart:
    """Draw a bar for each label, or one for each series beside each other where ``values`` is a mapping."""
    series = {y_label: values} if not hasattr(values, "items") else dict(values.items())
    shown = {name: [_given(value, log=False) for value in numbers] for name, numbers in series.items()}
    up = Axis.of([value for numbers in shown.values() for value in numbers if value is not None], log=False, zero=True)
    plot = Plot(legend=list(series) if len(series) > 1 else [], across=Axis(0.0, max(len(labels), 1)))
    plot.grid(up, [], x_label, y_label)
    plot.names(labels)
    at_y = plot.height_of(up)
    step = plot.across.at(1) - plot.across.at(0)
    width = step * (0.8 if len(labels) < MANY else 0.92) / max(len(series), 1)
    for place, drawn in enumerate(shown.values()):
        for spot, value in enumerate(drawn):
            if value is not None:
                left = plot.across.at(spot + 0.5) - width * len(series) / 2 + place * width
                plot.bar(place, left, width, at_y(0.0), at_y(value))
    return plot.chart(title, [_spoken_numbers(name, labels, numbers) for name, numbers in series.items()])


def sideways(title: str, labels: Sequence[str], values: Mapping[str, Sequence[float | None]]) -> Chart:
    """Draw bars that lie, with their labels in full above them: for names, of which there may be many and long ones."""
    shown = {name: [_given(value, log=False) for value in numbers] for name, numbers in values.items()}
    most = max((value for numbers in shown.values() for value in numbers if value is not None), default=0.0)
    plot = SidewaysPlot(list(shown), most or 1.0)
    for place, label in enumerate(labels):
        plot.name(place, label)
        for series, numbers in enumerate(shown.values()):
            value = numbers[place]
            if value is not None:
                plot.bar(place, series, value)
    return plot.chart(title, len(labels), [_spoken_numbers(name, labels, numbers) for name, numbers in values.items()])


def timeline(
    title: str,
    labels: Sequence[str],
    up: Mapping[str, Sequence[float | None]],
    down: Mapping[str, Sequence[float | None]],
    beside: Mapping[str, Sequence[float | None]],
    *,
    y_label: str,
    x_label: str = "",
) -> Chart:
    """Draw what came to something (stacked upwards), what went (downwards) and what happened to the rest (a mark)."""
    every = {**up, **down, **beside}
    tops = [sum(_or_zero(values[i]) for values in up.values()) for i in range(len(labels))]
    deep = [-sum(_or_zero(values[i]) for values in down.values()) for i in range(len(labels))]
    more = [value for values in beside.values() for value in values if value is not None]
    scale = Axis.of([*tops, *deep, *more], log=False, zero=True)
    plot = Plot(legend=list(every), across=Axis(0.0, max(len(labels), 1)))
    plot.grid(scale, [], x_label, y_label, magnitude=True)
    plot.names(labels)
    at_y = plot.height_of(scale)
    width = (plot.across.at(1) - plot.across.at(0)) * 0.5
    plot.rule(at_y(0.0))
    for sign, stack, first in ((1.0, up, 0), (-1.0, down, len(up))):
        base = [0.0] * len(labels)
        for place, values in enumerate(stack.values(), start=first):
            for spot, value in enumerate(values):
                top = base[spot] + sign * _or_zero(value)
                plot.bar(place, plot.across.at(spot + 0.5) - width / 2, width, at_y(base[spot]), at_y(top))
                base[spot] = top
    for place, values in enumerate(beside.values(), start=len(up) + len(down)):
        points = [None if v is None else (plot.across.at(i + 0.5), at_y(v)) for i, v in enumerate(values)]
        plot.line(place, points)
    return plot.chart(title, [_spoken_numbers(name, labels, values) for name, values in every.items()])


def _given(value: Number, *, log: bool) -> float | None:
    """Return a number that can be drawn: neither so large nor so small that differences are lost in rounding."""
    if value is None or not abs(value) <= LARGE or (log and value < 1 / LARGE):
        return None
    return float(value) if abs(value) >= 1 / LARGE else 0.0


def _or_zero(value: Number) -> float:
    return 0.0 if value is None else float(value)


def _spoken_numbers(name: str, places: Sequence[object], values: Sequence[float | None]) -> str:
    """Say the numbers of a series: all where they are few, else its ends and what lies between."""
    known = [(place, value) for place, value in zip(places, values, strict=True) if value is not None]
    if not known:
        return f"{name}: no number."
    if len(known) <= SPOKEN:
        return f"{name}: " + ", ".join(f"{number(value)} at {_place(place)}" for place, value in known) + "."
    low, high = min(value for _, value in known), max(value for _, value in known)
    ends = f"from {number(known[0][1])} at {_place(known[0][0])} to {number(known[-1][1])} at {_place(known[-1][0])}"
    return f"{name}: {ends}, between {number(low)} and {number(high)}."


def _place(place: object) -> str:
    return number(place) if isinstance(place, int | float) else str(place)
