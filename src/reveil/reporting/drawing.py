"""What a chart is made of: lines, marks, bars and words, each with its place; ``chart.svg.j2`` draws them.

A shape says which series it is of (``series``, counted from 0) and never its colour: that is the template's business.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from reveil.reporting.axes import LEFT, RIGHT, WIDTH, Axis, number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HEIGHT = 220.0
TOP = 22.0
FOOT = 44.0
LETTER = 6.4  # about the width of a letter at this size
LINE = 18.0
THICK = 11.0  # a bar that lies
LONG = 54  # letters of a name that fit into a line
MANY = 12  # labels of an axis that still stand beside each other


@dataclass(frozen=True)
class GridLine:
    """A line across the picture: at a number of the axis, or the axis itself."""

    kind: ClassVar[str] = "rule"
    y: float
    axis: bool


@dataclass(frozen=True)
class Level:
    """A level that must not be crossed, and its name."""

    kind: ClassVar[str] = "level"
    y: float
    name: str


@dataclass(frozen=True)
class Label:
    """Words at a place; ``strong`` where they say what an axis means."""

    kind: ClassVar[str] = "label"
    x: float
    y: float
    text: str
    anchor: Literal["start", "middle", "end"] = "start"
    strong: bool = False


@dataclass(frozen=True)
class Trace:
    """The line of a series; None is a gap. ``marked``: there is room for a mark at each point."""

    kind: ClassVar[str] = "trace"
    series: int
    points: tuple[tuple[float, float] | None, ...]
    marked: bool

    @property
    def path(self) -> str:
        """The line in the words of SVG: a gap begins it anew."""
        steps, pen = [], "M"
        for point in self.points:
            if point is None:
                pen = "M"
            else:
                steps.append(f"{pen}{point[0]:.1f} {point[1]:.1f}")
                pen = "L"
        return "".join(steps)


@dataclass(frozen=True)
class Bar:
    """A bar of a series: its left upper corner, and its size."""

    kind: ClassVar[str] = "bar"
    series: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class LegendEntry:
    """A series in the legend."""

    kind: ClassVar[str] = "entry"
    series: int
    x: float
    y: float
    name: str


Shape = GridLine | Level | Label | Trace | Bar | LegendEntry


@dataclass(frozen=True)
class Chart:
    """A picture: its title, what it says in words, how high it is, and its shapes."""

    width: ClassVar[float] = WIDTH
    left: ClassVar[float] = LEFT
    right: ClassVar[float] = WIDTH - RIGHT
    title: str
    words: str
    height: float
    shapes: tuple[Shape, ...]

    @property
    def key(self) -> str:
        """The beginning of the names by which its title and its words are found on a page."""
        return "c" + hashlib.sha256(repr((self.title, self.words, self.shapes)).encode()).hexdigest()[:10]


class Plot:
    """Collects the shapes of one picture."""

    def __init__(self, *, legend: Sequence[str], across: Axis) -> None:
        self.across = across
        self.shapes: list[Shape] = []
        self.legend = list(legend)
        self.bottom = HEIGHT - FOOT

    def height_of(self, axis: Axis) -> Callable[[float], float]:
        """Return where a number lies in height."""
        return axis.placed(self.bottom, TOP).at

    def grid(self, up: Axis, stops: Sequence[float], x_label: str, y_label: str, *, magnitude: bool = False) -> None:
        """Draw the axes, their numbers and what they mean; ``magnitude`` writes what is below zero without a sign."""
        at_y = self.height_of(up)
        for tick in up.ticks(5):
            y = at_y(tick)
            self.shapes.append(GridLine(y, axis=False))
            self.shapes.append(Label(LEFT - 8, y + 4, number(abs(tick) if magnitude else tick), "end"))
        for stop in stops:
            self.shapes.append(Label(self.across.at(stop), self.bottom + 18, number(stop), "middle"))
        self.rule(self.bottom)
        self.shapes.append(Label(LEFT, TOP - 9, y_label, strong=True))
        if x_label:
            self.shapes.append(Label(WIDTH - RIGHT, self.bottom + 36, x_label, "end", strong=True))

    def names(self, labels: Sequence[str]) -> None:
        """Write the labels below, as many as have room."""
        step = self.across.at(1) - self.across.at(0)
        room = max((len(label) for label in labels), default=1) * LETTER + 2
        every = max(1, math.ceil(room / step)) if len(labels) > 1 else 1
        for place, label in enumerate(labels):
            if place % every == 0:
                self.shapes.append(Label(self.across.at(place + 0.5), self.bottom + 18, label, "middle"))

    def rule(self, y: float) -> None:
        """Draw an axis across."""
        self.shapes.append(GridLine(y, axis=True))

    def bound(self, y: float, name: str) -> None:
        """Draw a level that must not be crossed."""
        self.shapes.append(Level(y, name))

    def line(self, series: int, points: Sequence[tuple[float, float] | None]) -> None:
        """Draw a line with gaps, and a mark at each of its points where they are not too many."""
        shown = sum(point is not None for point in points)
        self.shapes.append(Trace(series, tuple(points), marked=shown <= 4 * MANY))

    def bar(self, series: int, left: float, width: float, one: float, other: float) -> None:
        """Draw a bar between two heights."""
        self.shapes.append(Bar(series, left, min(one, other), width, abs(one - other)))

    def chart(self, title: str, told: Sequence[str]) -> Chart:
        """Return the picture with its legend, its title and what it says."""
        entries, height = legend_at(self.legend, LEFT, HEIGHT + 8)
        height = height if self.legend else HEIGHT
        return Chart(title, " ".join(told), height, (*self.shapes, *entries))


class SidewaysPlot:
    """Collects the shapes of a picture with lying bars."""

    def __init__(self, legend: Sequence[str], most: float) -> None:
        self.legend = list(legend)
        self.step = LINE + len(self.legend) * (THICK + 2) + 8
        self.across = Axis(0.0, most, start=8.0, end=WIDTH - 90.0)
        self.shapes: list[Shape] = []

    def name(self, place: int, label: str) -> None:
        """Write the label of some bars."""
        short = label if len(label) <= LONG else label[: LONG - 1] + "…"
        self.shapes.append(Label(8.0, TOP + place * self.step, short, strong=True))

    def bar(self, place: int, series: int, value: float) -> None:
        """Draw a bar and its number."""
        y = TOP + place * self.step + 6 + series * (THICK + 2)
        start, end = self.across.at(0.0), self.across.at(value)
        self.shapes.append(Bar(series, start, y, max(end - start, 0.5), THICK))
        self.shapes.append(Label(end + 6, y + THICK - 1, number(value)))

    def chart(self, title: str, places: int, told: Sequence[str]) -> Chart:
        """Return the picture with its legend, its title and what it says."""
        entries, height = legend_at(self.legend, 8.0, TOP + places * self.step + 4)
        return Chart(title, " ".join(told), height, (*self.shapes, *entries))


def legend_at(names: Sequence[str], left: float, top: float) -> tuple[list[LegendEntry], float]:
    """Return the entries of a legend, beside each other while there is room, and where it ends."""
    entries, x, y = [], left, top
    for series, full in enumerate(names):
        name = full if len(full) <= LONG else full[: LONG - 1] + "…"  # the description has it in full
        long = 26 + len(name) * LETTER + 16
        if x > left and x + long > WIDTH:
            x, y = left, y + LINE
        entries.append(LegendEntry(series, x, y, name))
        x += long
    return entries, y + 10
