"""``history``, ``adopt`` and ``forget``: what a vault remembers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from reveil.core.json_values import thawed
from reveil.series import Series
from reveil.studio.tasks.base import CONFIG, TABLE, Bench, StudioTask, TaskResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON


@dataclass(frozen=True)
class HistoryTask(StudioTask):
    """Show the releases; give a pending one up, show what is left of budgets, compare the files with the vault."""

    config_path: str
    abandon: int | None = None
    budget: bool = False
    check: bool = False

    command: ClassVar[str] = "history"
    title: ClassVar[str] = "History"
    paths: ClassVar[Mapping[str, str]] = {"config_path": CONFIG}

    def run(self, bench: Bench) -> TaskResult:
        """Do what is asked for, and return the releases."""
        series = Series.load(bench.folder.config(self.config_path))
        notes: list[JSON] = []
        content: dict[str, JSON] = {"abandoned": self.abandon, "checked": self.check}
        if self.abandon is not None:
            series.abandon(self.abandon)
            notes += series.notes
        if self.budget:
            content["budget"] = thawed(series.budget())
        lacking = series.standing()
        wrong = series.check(bench.folder.root) if self.check else []
        content |= {"releases": thawed(series.history()), "notes": notes, "wrong": list(wrong), "lacking": lacking}
        return TaskResult(content, good=not wrong and lacking is None)


@dataclass(frozen=True)
class AdoptTask(StudioTask):
    """Take a release as told that any tool made of a snapshot."""

    snapshot: str
    release: str
    config_path: str
    columns: tuple[str, ...] | None = None
    where: str | None = None

    command: ClassVar[str] = "adopt"
    title: ClassVar[str] = "Adopt"
    paths: ClassVar[Mapping[str, str]] = {"snapshot": TABLE, "release": TABLE, "config_path": CONFIG}

    def run(self, bench: Bench) -> TaskResult:
        """Adopt it, and say what was found."""
        series = Series.load(bench.folder.config(self.config_path))
        bench.stage("recognising")
        columns = None if self.columns is None else list(self.columns)
        found = series.adopt(bench.table(self.snapshot), bench.table(self.release), columns, self.where)
        return TaskResult({"sentences": list(found.sentences()), "release": found.release, "notes": list(series.notes)})


@dataclass(frozen=True)
class ForgetTask(StudioTask):
    """Erase a person from the vault."""

    person: str
    config_path: str
    tombstone: bool = False

    command: ClassVar[str] = "forget"
    title: ClassVar[str] = "Forget"
    paths: ClassVar[Mapping[str, str]] = {"config_path": CONFIG}

    def __repr__(self) -> str:
        """Leave the person out: this may stand in a log."""
        return f"<ForgetTask {self.config_path}>"

    def run(self, bench: Bench) -> TaskResult:
        """Erase them, and say whether there was anything."""
        series = Series.load(bench.folder.config(self.config_path))
        bench.stage("erasing")
        found = series.forget(self.person, tombstone=self.tombstone)
        return TaskResult({"found": found, "tombstone": self.tombstone, "notes": list(series.notes)}, good=found)
