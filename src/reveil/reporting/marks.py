"""The small parts of a page: numbers that say where they come from, tables, figures, folded texts.

A number gets on the page only by its place in the JSON: ``data-key`` is the path, ``data-as`` how it is written. So the
page cannot say another number than the JSON, and a test can compare all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NOTHING = "–"


def display(value: Any, how: str) -> str:
    """Write a value of the JSON: a ``count``, a ``share`` of one, a ``number``, a ``time``, or ``text``.

    >>> display(12345, "count"), display(0.3171, "share"), display(0.25, "number"), display(None, "count")
    ('12,345', '31.7%', '0.25', '–')
    >>> display("2026-01-31T08:30:00+00:00", "time")
    '2026-01-31'
    """
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "true" if value else "false"  # as in the config
    if how == "count":
        return f"{value:,}"
    if how == "share":
        return f"{value:.1%}"
    if how == "number" and isinstance(value, int | float):  # what a model says it reached may be anything
        return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
    return str(value)[:10] if how == "time" else str(value)


def at(content: Any, path: str) -> Any:
    """Return what stands at a path of the JSON: names and places in lists, with dots between them."""
    for part in path.split("."):
        content = content[int(part)] if isinstance(content, list) else content[part]
    return content


@dataclass(frozen=True)
class Column:
    """A column of a table: its head, where its cells stand below a row's path, and how they are written."""

    head: str
    key: str
    how: str = "count"


class Marks:
    """Writes parts of a page about one report."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.content = content

    def get(self, path: str) -> Any:
        """Return what stands at a path."""
        return at(self.content, path)

    def value(self, path: str, how: str = "count", tag: str = "span", more: str = "") -> str:
        """Write what stands at a path, and say where."""
        text = escape(display(self.get(path), how))
        return f'<{tag} data-key="{escape(path)}" data-as="{how}"{more}>{text}</{tag}>'

    def table(self, caption: str, columns: Sequence[Column], rows: Iterable[str]) -> str:
        """Lay out rows, each given by its path; the first column names the row."""
        words = ["" if column.how in ("text", "time") else ' class="n"' for column in columns]
        classes = ["", *words[1:]]  # the first column names the row, and stands at the left
        head = "".join(
            f'<th scope="col"{own}>{escape(column.head)}</th>' for column, own in zip(columns, classes, strict=True)
        )
        body = []
        for row in rows:
            cells = [
                self.value(
                    f"{row}.{column.key}", column.how, "td" if place else "th", own + ("" if place else ' scope="row"')
                )
                for place, (column, own) in enumerate(zip(columns, classes, strict=True))
            ]
            body.append(f"<tr>{''.join(cells)}</tr>")
        inside = (
            f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{''.join(body)}</tbody></table>"
        )
        return _scrolling(caption, inside)

    @property
    def rows(self) -> list[str]:
        """The paths of all releases."""
        return [f"releases.{n}" for n in range(len(self.content["releases"]))]

    @property
    def numbers(self) -> list[int]:
        """The numbers of all releases."""
        return [own["release"] for own in self.content["releases"]]

    @property
    def labels(self) -> list[str]:
        """The numbers of all releases as words."""
        return [str(number) for number in self.numbers]

    def values(self, key: str) -> list[Any]:
        """Return one thing of each release."""
        return [own[key] for own in self.content["releases"]]

    def card(self, label: str, path: str, how: str = "count") -> str:
        """Show one number large."""
        return f"<div><dt>{escape(label)}</dt>{self.value(path, how, 'dd')}</div>"


def section(key: str, title: str, *parts: str) -> str:
    """Put a part of the page together."""
    inside = "\n".join(part for part in parts if part)
    return f'<section aria-labelledby="{key}">\n<h2 id="{key}">{escape(title)}</h2>\n{inside}\n</section>'


def figure(caption: str, drawing: str) -> str:
    """Put a chart under what it shows; where it is wider than the screen, it scrolls by itself."""
    return f"<figure><figcaption>{escape(caption)}</figcaption>{_scrolling(f'Chart: {caption}', drawing)}</figure>"


def _scrolling(name: str, inside: str) -> str:
    """Let something wide scroll by itself, with the keyboard, too; a group, for a page of landmarks has none."""
    return f'<div class="scroll" role="group" aria-label="{escape(name)}" tabindex="0">{inside}</div>'


def folded(title: str, inside: str) -> str:
    """Fold a part away until somebody asks."""
    return f"<details><summary>{escape(title)}</summary>{inside}</details>"


def paragraph(text: str, kind: str = "") -> str:
    """Write a paragraph of words."""
    named = f' class="{kind}"' if kind else ""
    return f"<p{named}>{escape(text)}</p>"


def listed(texts: Iterable[str]) -> str:
    """Write a list of words."""
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>"


def terms(pairs: Iterable[tuple[str, str]]) -> str:
    """Write terms and what they mean."""
    inside = "".join(f"<dt>{escape(term)}</dt><dd>{escape(text)}</dd>" for term, text in pairs)
    return f'<dl class="terms">{inside}</dl>'
