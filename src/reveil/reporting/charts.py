"""Charts as inline SVG: pure functions from numbers to text.

They need no library and no style sheet. Colours are CSS variables with a fallback (``--chart-1`` to ``--chart-6``,
``--chart-bound``), and words and axes take the colour of the text around them, so that a page decides what is light and
what is dark. A series is told from another by its dashes and its marks, too, not by colour alone. Every chart is
``role="img"`` with a title and a description that says its numbers in words, for those who do not see it.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

WIDTH = 640.0
HEIGHT = 220.0
LEFT, RIGHT, TOP = 64.0, 16.0, 22.0
FOOT = 44.0
LETTER = 6.4  # about the width of a letter at this size
LINE = 18.0
LONG = 72  # letters of a name that fit into a line
MANY = 16  # labels of an axis that still stand beside each other
LARGE = 1e12  # beyond it, and below one over it, nothing is drawn
SPOKEN = 24  # numbers that a description still lists
FALLBACK = ("#1f6f8b", "#b5541c", "#5b7f3a", "#7a4f9a", "#a8325e", "#56616e")
BOUND = "#a61e2d"
DASHES = ("", "7 4", "2 4", "10 3 2 3", "5 2", "1 3")
Number = float | int | None


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
) -> str:
    """Draw lines over common places ``x``; a None is a gap, and so is what a logarithm or a picture does not have.

    ``bound`` is a level that is drawn across. The axis of ``y`` begins at 0 where nothing is below it and it is not
    logarithmic.
    """
    places = [_given(value, log=log_x) for value in x]
    drawn = {name: [_given(value, log=log_y) for value in values] for name, values in series.items()}
    level = _given(bound, log=log_y)
    heights = [value for values in drawn.values() for value in values if value is not None]
    heights += [] if level is None else [level, level if log_y else level * 1.1]  # its name stands above it
    across = _Scale.of([p for p in places if p is not None], log=log_x, zero=False)
    up = _Scale.of(heights, log=log_y, zero=True)
    plot = _Plot(legend=list(drawn), across=across.placed(LEFT, WIDTH - RIGHT, inset=14.0))
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
    told = [_told(name, x, values) for name, values in series.items()]
    return plot.svg(title, [*told, *([] if bound is None else [f"The bound is {number(bound)}."])])


def bars(
    title: str,
    labels: Sequence[str],
    values: Sequence[float | None] | Mapping[str, Sequence[float | None]],
    *,
    y_label: str,
    x_label: str = "",
) -> str:
    """Draw a bar for each label, or one for each series beside each other where ``values`` is a mapping."""
    series = {y_label: values} if not hasattr(values, "items") else dict(values.items())
    shown = {name: [_given(value, log=False) for value in own] for name, own in series.items()}
    up = _Scale.of([value for own in shown.values() for value in own if value is not None], log=False, zero=True)
    plot = _Plot(legend=list(series) if len(series) > 1 else [], across=_Scale(0.0, max(len(labels), 1)))
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
    return plot.svg(title, [_told(name, labels, own) for name, own in series.items()])


def timeline(
    title: str,
    labels: Sequence[str],
    up: Mapping[str, Sequence[float | None]],
    down: Mapping[str, Sequence[float | None]],
    beside: Mapping[str, Sequence[float | None]],
    *,
    y_label: str,
    x_label: str = "",
) -> str:
    """Draw what came to something (stacked upwards), what went (downwards) and what happened to the rest (a mark)."""
    every = {**up, **down, **beside}
    tops = [sum(_or_zero(own[i]) for own in up.values()) for i in range(len(labels))]
    deep = [-sum(_or_zero(own[i]) for own in down.values()) for i in range(len(labels))]
    more = [value for own in beside.values() for value in own if value is not None]
    scale = _Scale.of([*tops, *deep, *more], log=False, zero=True)
    plot = _Plot(legend=list(every), across=_Scale(0.0, max(len(labels), 1)))
    plot.grid(scale, [], x_label, y_label, magnitude=True)
    plot.names(labels)
    at_y = plot.height_of(scale)
    width = (plot.across.at(1) - plot.across.at(0)) * 0.5
    plot.rule(at_y(0.0))
    for sign, stack, first in ((1.0, up, 0), (-1.0, down, len(up))):
        base = [0.0] * len(labels)
        for place, own in enumerate(stack.values(), start=first):
            for spot, value in enumerate(own):
                top = base[spot] + sign * _or_zero(value)
                plot.bar(place, plot.across.at(spot + 0.5) - width / 2, width, at_y(base[spot]), at_y(top))
                base[spot] = top
    for place, own in enumerate(beside.values(), start=len(up) + len(down)):
        points = [None if v is None else (plot.across.at(i + 0.5), at_y(v)) for i, v in enumerate(own)]
        plot.line(place, points)
    return plot.svg(title, [_told(name, labels, own) for name, own in every.items()])


def number(value: float) -> str:
    """Write a number as it stands at an axis: short, and no more digits than are read.

    >>> [number(v) for v in (0, 0.25, 1234567, 12.5, 1e-7, 1e12)]
    ['0', '0.25', '1,234,567', '12.5', '1e-07', '1e+12']
    """
    if value == 0:
        return "0"
    if abs(value) >= 1e9 or abs(value) < 1e-4:
        return f"{value:.3g}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


@dataclass(frozen=True)
class _Scale:
    """A stretch of numbers, and where it lies on the page."""

    low: float
    high: float
    log: bool = False
    start: float = LEFT
    end: float = WIDTH - RIGHT

    @classmethod
    def of(cls, values: Sequence[float], *, log: bool, zero: bool) -> _Scale:
        """Find the stretch of these numbers; nothing at all, and one number alone, have one, too."""
        low, high = (min(values), max(values)) if values else (0.1 if log else 0.0, 1.0)
        if log:
            return cls(low / 2, high * 2, log=True) if high <= low * 1.001 else cls(low, high, log=True)
        low, high = (min(low, 0.0), max(high, 0.0)) if zero else (low, high)
        if high - low <= 1e-9 * max(abs(low), abs(high)):
            low, high = (0.0, 1.0) if zero else (low - 0.5 - abs(low) / 2, high + 0.5 + abs(high) / 2)
        if zero:  # the axis ends at marks
            step = _step(high - low, 5)
            low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
        return cls(low, high)

    def placed(self, start: float, end: float, *, inset: float = 0.0) -> _Scale:
        """Return the same stretch at another place."""
        sign = 1.0 if end >= start else -1.0
        return _Scale(self.low, self.high, self.log, start + sign * inset, end - sign * inset)

    def at(self, value: float) -> float:
        """Return where a number lies."""
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        own = math.log(value) if self.log else value
        return self.start + (self.end - self.start) * (own - low) / (high - low)

    def ticks(self, about: int) -> list[float]:
        """Return round numbers inside."""
        if not self.log:
            step = _step(self.high - self.low, about)
            first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
            return [place * step for place in range(first, last + 1)]
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        every = max(1, math.ceil(len(decades) / about))
        near = (1.0, 2.0, 5.0) if len(decades) <= 3 else (1.0,)
        found = [part * 10.0**power for power in decades[::every] for part in near]
        return [value for value in found if self.low * (1 - 1e-9) <= value <= self.high * (1 + 1e-9)]


class _Plot:
    """The parts of one picture."""

    def __init__(self, *, legend: Sequence[str], across: _Scale) -> None:
        self.across = across
        self.parts: list[str] = []
        self.legend = list(legend)
        self.bottom = HEIGHT - FOOT

    def height_of(self, scale: _Scale) -> Callable[[float], float]:
        """Return where a number lies in height."""
        return scale.placed(self.bottom, TOP).at

    def grid(self, up: _Scale, stops: Sequence[float], x_label: str, y_label: str, *, magnitude: bool = False) -> None:
        """Draw the axes, their numbers and what they mean; ``magnitude`` writes what is below zero without a sign."""
        at_y = self.height_of(up)
        for tick in up.ticks(5):
            y = at_y(tick)
            self.parts.append(
                f'<path d="M{LEFT:g} {y:.1f}H{WIDTH - RIGHT:g}" stroke="currentColor" stroke-opacity=".15"/>'
            )
            self.text(LEFT - 8, y + 4, number(abs(tick) if magnitude else tick), anchor="end")
        for stop in stops:
            self.text(self.across.at(stop), self.bottom + 18, number(stop), anchor="middle")
        self.rule(self.bottom)
        self.text(LEFT, TOP - 9, y_label, strong=True)
        if x_label:
            self.text(WIDTH - RIGHT, self.bottom + 36, x_label, anchor="end", strong=True)

    def names(self, labels: Sequence[str]) -> None:
        """Write the labels below, as many as have room."""
        step = self.across.at(1) - self.across.at(0)
        room = max((len(label) for label in labels), default=1) * LETTER + 2
        every = max(1, math.ceil(room / step)) if len(labels) > 1 else 1
        for place, label in enumerate(labels):
            if place % every == 0:
                self.text(self.across.at(place + 0.5), self.bottom + 18, label, anchor="middle")

    def rule(self, y: float) -> None:
        """Draw a line across."""
        self.parts.append(f'<path d="M{LEFT:g} {y:.1f}H{WIDTH - RIGHT:g}" stroke="currentColor" stroke-opacity=".6"/>')

    def bound(self, y: float, words: str) -> None:
        """Draw a level that must not be crossed."""
        colour = f"var(--chart-bound, {BOUND})"
        self.parts.append(
            f'<path d="M{LEFT:g} {y:.1f}H{WIDTH - RIGHT:g}" stroke="{colour}" stroke-width="1.5"/>'
            f'<text x="{LEFT + 6:g}" y="{y - 5:.1f}" fill="{colour}">{escape(words)}</text>'
        )

    def line(self, place: int, points: Sequence[tuple[float, float] | None]) -> None:
        """Draw a line with gaps, and a mark at each of its points."""
        path, pen = [], "M"
        for point in points:
            if point is None:
                pen = "M"
            else:
                path.append(f"{pen}{point[0]:.1f} {point[1]:.1f}")
                pen = "L"
        colour, dash = _colour(place), DASHES[place % len(DASHES)]
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<path d="{"".join(path)}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>')
        shown = [point for point in points if point is not None]
        if len(shown) <= 4 * MANY:
            self.parts += [_mark(place, *point) for point in shown]

    def bar(self, place: int, left: float, width: float, one: float, other: float) -> None:
        """Draw a bar between two heights."""
        top, tall = min(one, other), abs(one - other)
        self.parts.append(
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{tall:.1f}" fill="{_colour(place)}"/>'
        )

    def text(self, x: float, y: float, words: str, *, anchor: str = "start", strong: bool = False) -> None:
        """Write words."""
        weight = "" if strong else ' fill-opacity=".8"'
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="currentColor"{weight}>{escape(words)}</text>'
        )

    def svg(self, title: str, told: Sequence[str]) -> str:
        """Return the picture with its legend, its title and what it says."""
        height = HEIGHT
        x, y = LEFT, HEIGHT + 8
        for place, full in enumerate(self.legend):
            name = full if len(full) <= LONG else full[: LONG - 1] + "…"  # the description has it in full
            long = 26 + len(name) * LETTER + 16
            if x > LEFT and x + long > WIDTH:
                x, y = LEFT, y + LINE
            dash = DASHES[place % len(DASHES)]
            dashes = f' stroke-dasharray="{dash}"' if dash else ""
            stroke = f'stroke="{_colour(place)}" stroke-width="2"{dashes}'
            self.parts.append(f'<path d="M{x:.1f} {y - 4:.1f}h20" {stroke}/>{_mark(place, x + 10, y - 4)}')
            self.text(x + 26, y, name)
            x, height = x + long, y + 10
        words = " ".join(told)
        key = "c" + hashlib.sha256("\0".join([title, words, *self.parts]).encode()).hexdigest()[:10]
        return (
            f'<svg class="chart" role="img" aria-labelledby="{key}t {key}d" viewBox="0 0 {WIDTH:g} {height:g}" '
            f'width="100%" font-family="inherit" font-size="12">'
            f'<title id="{key}t">{escape(title)}</title><desc id="{key}d">{escape(words)}</desc>'
            f"{''.join(self.parts)}</svg>"
        )


def _step(stretch: float, about: int) -> float:
    """Return 1, 2 or 5 times a power of ten, so that about so many fit."""
    rough = stretch / about
    power = 10.0 ** math.floor(math.log10(rough))
    return next((part * power for part in (1.0, 2.0, 5.0) if part * power >= rough * (1 - 1e-9)), 10.0 * power)


def _given(value: Number, *, log: bool) -> float | None:
    """Return a number that can be drawn: neither so large nor so small that differences are lost in rounding."""
    if value is None or not abs(value) <= LARGE or (log and value < 1 / LARGE):
        return None
    return float(value) if abs(value) >= 1 / LARGE else 0.0


def _or_zero(value: Number) -> float:
    return 0.0 if value is None else float(value)


def _colour(place: int) -> str:
    own = place % len(FALLBACK)
    return f"var(--chart-{own + 1}, {FALLBACK[own]})"


def _mark(place: int, x: float, y: float) -> str:
    """Draw the mark of a series: a disc, a square, a diamond or a triangle."""
    shape = (
        f"M{x - 3.5:.1f} {y:.1f}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0Z",
        f"M{x - 3:.1f} {y - 3:.1f}h6v6h-6Z",
        f"M{x:.1f} {y - 4.2:.1f}l4.2 4.2l-4.2 4.2l-4.2 -4.2Z",
        f"M{x:.1f} {y - 4:.1f}l4 7h-8Z",
    )[place % 4]
    return f'<path d="{shape}" fill="{_colour(place)}"/>'


def _told(name: str, places: Sequence[object], values: Sequence[float | None]) -> str:
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
