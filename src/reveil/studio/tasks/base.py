"""What every task has: fields as the options of its command, which of them are paths, and what comes of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, ClassVar, TypeVar

from reveil.core.errors import ConfigError
from reveil.core.settings import Section, build
from reveil.tables.formats import readable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from reveil.core.json_values import JSON
    from reveil.series.published import Stage
    from reveil.studio.folder import StudioFolder

T = TypeVar("T", bound="StudioTask")
TABLE, CONFIG, NEW, TEXT = "a table", "a config", "a new file", "a text"
_MOST_TEXT = 20_000


@dataclass(frozen=True)
class Bench:
    """Where a worker works: the folder, a private folder of the job, and to whom it says how far it is."""

    folder: StudioFolder
    private: Path
    stage: Stage

    def table(self, text: str) -> Path:
        """Return the path of a table: in the folder, or one that was sent to this job."""
        sent = self.private / "sent" / text.removeprefix(SENT)
        return sent if text.startswith(SENT) and "/" not in text.removeprefix(SENT) else self.folder.table(text)


SENT = "sent:"  # before the name of a table that came with the request, and goes with the job


@dataclass(frozen=True)
class TaskResult:
    """What came of a task: what is shown, files to download by their names, and whether all is well."""

    content: Mapping[str, JSON]
    files: Mapping[str, Path] = field(default_factory=dict)
    good: bool = True
    secret: Mapping[str, JSON] = field(default_factory=dict)  # for the server, not for programs


@dataclass(frozen=True)
class StudioTask(ABC):
    """A command with its options. ``paths`` says which fields are paths, and of what."""

    command: ClassVar[str]
    title: ClassVar[str]
    paths: ClassVar[Mapping[str, str]] = {}
    opens_vault: ClassVar[bool] = True

    @property
    def config(self) -> str | None:
        """The config that it is about."""
        found = getattr(self, "config_path", None)
        return found if isinstance(found, str) else None

    @property
    def subject(self) -> str | None:
        """What a list of jobs names: the config, or else the first file."""
        if self.config is not None:
            return self.config
        named = (getattr(self, name) for name in self.paths)
        return next((path for path in named if isinstance(path, str) and path), None)

    @property
    def about(self) -> dict[str, JSON]:
        """What the log says of it: files and switches, never an expression or a person."""
        named = {one.name: getattr(self, one.name) for one in fields(self)}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in named.items()
            if value not in (None, (), False) and (name in self.paths or isinstance(value, bool))
        }

    @abstractmethod
    def run(self, bench: Bench) -> TaskResult:
        """Do it."""


def task_of(cls: type[T], given: Mapping[str, object], folder: StudioFolder) -> T:
    """Build a task from what a form or a program says; every path is checked before anything waits for it."""
    told = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    for name, value in told.items():
        _check_size(name, value)
    task = build(cls, told, Section("the request", f"the command {cls.command!r}"))
    for name, what in cls.paths.items():
        value = getattr(task, name)
        for text in value if isinstance(value, tuple) else () if value is None else (value,):
            if not isinstance(text, str):
                raise ConfigError(f"{name} must be a path", hint="Write the name of a file in the folder.")
            if what == TABLE and not text.startswith(SENT):
                folder.existing(text, *readable())
            elif what == CONFIG:
                folder.config(text)
            elif what == NEW:
                folder.new(text)
            elif what == TEXT:
                folder.existing(text)
    return task


def _check_size(name: str, value: object) -> None:
    parts = value if isinstance(value, tuple) else (value,)
    if any(isinstance(part, str) and len(part) > _MOST_TEXT for part in parts) or len(parts) > 1_000:
        raise ConfigError(f"{name} is too long", hint="Write less.")
