"""The releases, one by one: what happened to the people, and what was published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from reveil.reporting import charts
from reveil.reporting.parts import Chapter, PageTable, TableColumn

if TYPE_CHECKING:
    from reveil.reporting.charts import Chart
    from reveil.reporting.parts import Parts


@dataclass(frozen=True)
class ReleasesChapter(Chapter):
    """The chapter; who came and went is known to a vault only."""

    key: ClassVar[str] = "releases"
    title: ClassVar[str] = "The releases"
    template: ClassVar[str] = "report/releases.html.j2"
    people: Chart | None
    table: PageTable


def releases(parts: Parts) -> ReleasesChapter:
    """Show all releases, in order."""
    people = None
    came, went, moved, back = (parts.values(key)[1:] for key in ("inserted", "deleted", "updated", "returned"))
    if any(value is not None for value in came):
        people = charts.timeline(
            "People who came, went and changed, release by release",
            parts.labels[1:],
            {"new": came, "back again": back},
            {"gone": went},
            {"changed": moved},
            y_label="people",
            x_label="release",
        )
    columns = [
        TableColumn("release", "release"),
        TableColumn("created", "created", "time"),
        TableColumn("state", "state", "text"),
    ]
    columns += [TableColumn("people", "persons"), TableColumn("new", "inserted"), TableColumn("gone", "deleted")]
    columns += [TableColumn("changed", "updated"), TableColumn("back", "returned"), TableColumn("rows", "rows")]
    columns += [TableColumn("groups", "groups"), TableColumn("file", "file", "text")]
    if not parts.content["series"]["remembered"]:
        columns = [columns[0], columns[1], *columns[-3:]]
    return ReleasesChapter(people, parts.table("All releases, in order", columns, parts.rows))
