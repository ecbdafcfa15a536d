"""How large the groups are, and how unlike the whole table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from reveil.reporting import charts
from reveil.reporting.parts import Chapter, PageTable, TableColumn

if TYPE_CHECKING:
    from reveil.core.json_values import JSON
    from reveil.reporting.charts import Chart
    from reveil.reporting.parts import Parts


@dataclass(frozen=True)
class GroupSizes:
    """The sizes of the last release whose groups are known, and of each release; distances where they were measured."""

    release: str
    chart: Chart
    bars: PageTable
    releases: PageTable
    distances: PageTable | None


@dataclass(frozen=True)
class GroupsChapter(Chapter):
    """The chapter; without sizes where a guarantee makes no groups."""

    key: ClassVar[str] = "groups"
    title: ClassVar[str] = "How large the groups are"
    template: ClassVar[str] = "report/groups.html.j2"
    sizes: GroupSizes | None


def groups(parts: Parts) -> GroupsChapter | None:
    """Show how large the groups are."""
    if not parts.content["guarantee"]["grouped"]:
        return GroupsChapter(None)
    sized = [n for n, release in enumerate(parts.content["releases"]) if release["group_sizes"]]
    if not sized:
        return None
    last = sized[-1]
    sizes = parts.content["releases"][last]["group_sizes"]
    title = f"Group sizes of release {parts.labels[last]}"
    many = [bar["groups"] for bar in sizes]
    columns = [TableColumn("release", "release"), TableColumn("groups", "groups"), TableColumn("smallest", "smallest")]
    columns += [TableColumn("largest", "largest")]
    bars = [TableColumn("from", "from"), TableColumn("to", "to"), TableColumn("groups", "groups")]
    found = GroupSizes(
        release=parts.labels[last],
        chart=charts.bars(title, [_span(bar) for bar in sizes], many, y_label="groups", x_label="rows in a group"),
        bars=parts.table(title, bars, [f"releases.{last}.group_sizes.{n}" for n in range(len(sizes))]),
        releases=parts.table("Groups of each release, in rows", columns, [f"releases.{n}" for n in sized]),
        distances=_distances(parts),
    )
    return GroupsChapter(found)


def _distances(parts: Parts) -> PageTable | None:
    """Show how far the values of a group are from those of the whole table, where that was measured."""
    found = [
        f"releases.{n}.privacy_loss.{place}"
        for n, release in enumerate(parts.content["releases"])
        for place in range(len(release["privacy_loss"] or ()))
    ]
    columns = [
        TableColumn("release", "release"),
        TableColumn("column", "name", "text"),
        TableColumn("largest distance", "t", "number"),
    ]
    caption = "How far a group's values are from the whole table's at most: t, which only t-closeness bounds"
    return parts.table(caption, columns, found) if found else None


def _span(bar: dict[str, JSON]) -> str:
    return str(bar["from"]) if bar["from"] == bar["to"] else f"{bar['from']}–{bar['to']}"
