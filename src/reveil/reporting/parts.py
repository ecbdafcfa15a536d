"""The small parts of a page as views: numbers that say where they come from, cards and tables of them.

A number gets on the page only by its place in the JSON: ``data-key`` is the path, ``data-as`` how it is written. So the
page cannot say another number than the JSON, and a test can compare all of them. ``parts.html.j2`` draws the parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NOTHING = "–"


def display(value: object, how: str) -> str:
    """Write a value of the JSON: count, whole part, share of one, number, time, answer (yes or no) or text.

    >>> display(12345, "count"), display(0.3171, "share"), display(0.25, "number"), display(None, "count")
    ('12,345', '31.7%', '0.25', '–')
    >>> display("2026-01-31T08:30:00+00:00", "time")
    '2026-01-31'
    >>> display(True, "answer"), display(True, "text")
    ('yes', 'true')
    """
    if value is None:
        return NOTHING
    if how == "answer":
        return "yes" if value else "no"
    if isinstance(value, bool):
        return "true" if value else "false"  # as in the config
    if how == "count":
        return f"{value:,}"
    if how == "whole" and isinstance(value, int | float):
        return f"{value:,.0f}"
    if how == "share":
        return f"{value:.1%}"
    if how == "number" and isinstance(value, int | float):  # what a model says it reached may be anything
        return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
    return str(value)[:10] if how == "time" else str(value)


def at(content: Any, path: str) -> Any:
    """Return what stands at a path of the JSON: names and places in lists, with dots between them."""
    for part in path.split("."):
        if content is None:  # nothing is said below it either
            return None
        content = content[int(part)] if isinstance(content, list) else content[part]
    return content


class Chapter:
    """What a chapter of a page shows; its template says how.

    ``key`` is its anchor on the page, ``title`` its heading.
    """

    key: ClassVar[str]
    title: ClassVar[str]
    template: ClassVar[str]


@dataclass(frozen=True)
class Number:
    """What stands at a path of the JSON, as it is written on the page."""

    path: str
    how: str
    text: str


@dataclass(frozen=True)
class Card:
    """One number, shown large."""

    label: str
    number: Number


@dataclass(frozen=True)
class TableColumn:
    """A column of a table: its head, where its cells stand below a row's path, and how they are written."""

    head: str
    key: str
    how: str = "count"

    @property
    def numeric(self) -> bool:
        """Whether its cells are numbers, which stand at the right."""
        return self.how not in ("answer", "text", "time")


@dataclass(frozen=True)
class PageTable:
    """Rows of numbers; the first column names the row."""

    caption: str
    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[Number, ...], ...]


class Parts:
    """Makes the parts of a page about one report."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.content = content

    def number(self, path: str, how: str = "count") -> Number:
        """Return what stands at a path, with the path."""
        return Number(path, how, display(at(self.content, path), how))

    def card(self, label: str, path: str, how: str = "count") -> Card:
        """Return a number to be shown large."""
        return Card(label, self.number(path, how))

    def table(self, caption: str, columns: Sequence[TableColumn], rows: Iterable[str]) -> PageTable:
        """Lay out rows, each given by its path."""
        cells = (tuple(self.number(f"{row}.{column.key}", column.how) for column in columns) for row in rows)
        return PageTable(caption, tuple(columns), tuple(cells))

    @property
    def rows(self) -> list[str]:
        """The paths of all releases."""
        return [f"releases.{n}" for n in range(len(self.content["releases"]))]

    @property
    def numbers(self) -> list[int]:
        """The numbers of all releases."""
        return [release["release"] for release in self.content["releases"]]

    @property
    def labels(self) -> list[str]:
        """The numbers of all releases as words."""
        return [str(number) for number in self.numbers]

    def values(self, key: str) -> list[Any]:
        """Return one thing of each release."""
        return [release[key] for release in self.content["releases"]]
