"""The page: one HTML file that needs nothing else, made of the report's JSON and of nothing besides.

No script, no network (the page forbids both itself), no raw value. Landmarks, headings in order, tables with captions
and scopes, charts with a title and a description; light and dark as the reader's screen asks; and made to be printed.
Here and in the chapters stands what is shown, in the templates how.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reveil.reporting.chapters import chapters
from reveil.reporting.parts import Chapter, Number, PageTable, Parts, TableColumn
from reveil.reporting.templating import fill


@dataclass(frozen=True)
class Page:
    """What every page has; ``frame.html.j2`` draws it."""

    title: str
    heading: str
    chapters: tuple[Chapter, ...]


@dataclass(frozen=True)
class ReportPage(Page):
    """The page of a report: when and by what it was made, what is claimed, and what is missing."""

    created: Number
    reveil: Number
    format: Number
    claim: str | None
    notes: tuple[str, ...]
    missing: PageTable | None


def render(content: dict[str, Any]) -> str:
    """Draw a report."""
    parts = Parts(content)
    name = content["series"]["name"] or "A series"
    page = ReportPage(
        title=f"{name}: report on the releases",
        heading=name,
        chapters=chapters(parts),
        created=parts.number("created", "time"),
        reveil=parts.number("reveil", "text"),
        format=parts.number("format"),
        claim=content["guarantee"]["claim"],
        notes=tuple(content["notes"]),
        missing=_missing(parts),
    )
    return fill("report/page.html.j2", page=page)


def _missing(parts: Parts) -> PageTable | None:
    """Name what could not be found."""
    rows = [f"missing.{n}" for n in range(len(parts.content["missing"]))]
    columns = [
        TableColumn("release", "release"),
        TableColumn("file", "file", "text"),
        TableColumn("why", "why", "text"),
    ]
    return parts.table("Releases whose files are not at hand", columns, rows) if rows else None
