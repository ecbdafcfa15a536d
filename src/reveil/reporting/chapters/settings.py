"""The settings of the series, the digests of its files, and what the last release reaches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from reveil.reporting.parts import Chapter, PageTable, TableColumn

if TYPE_CHECKING:
    from reveil.reporting.parts import Parts


@dataclass(frozen=True)
class SettingsChapter(Chapter):
    """The chapter."""

    key: ClassVar[str] = "settings"
    title: ClassVar[str] = "Settings and digests"
    template: ClassVar[str] = "report/settings.html.j2"
    settings: PageTable
    reached: PageTable
    digests: PageTable


def settings(parts: Parts) -> SettingsChapter:
    """Show what was asked for, and which files came of it."""
    content = parts.content
    last = len(content["releases"]) - 1
    chosen = parts.table(
        "The settings of this series; the seed is not shown",
        [TableColumn("setting", "key", "text"), TableColumn("value", "value", "text")],
        [f"configuration.{n}" for n in range(len(content["configuration"]))],
    )
    reached = parts.table(
        "What every group of the last release reaches",
        [TableColumn("level", "name", "text"), TableColumn("reached", "value", "number")],
        [f"releases.{last}.achieved.{n}" for n in range(len(content["releases"][last]["achieved"]))],
    )
    columns = [TableColumn("release", "release"), TableColumn("table", "digest", "text")]
    columns += [TableColumn("manifest", "manifest_digest", "text")]
    digests = parts.table("Digests of the files, as the series remembers them", columns, parts.rows)
    return SettingsChapter(chosen, reached, digests)
