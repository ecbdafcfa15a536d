"""A studio: its folder, its jobs, who is there, and what is noted down."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from reveil.studio.audit_log import NAME, AuditLog
from reveil.studio.folder import StudioFolder
from reveil.studio.histories import Histories
from reveil.studio.jobs import JobBoard
from reveil.studio.responses import prepare_pages
from reveil.studio.sessions import Sessions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.studio.jobs import StudioJob
    from reveil.studio.settings import StudioSettings
    from reveil.studio.tasks.base import StudioTask
    from reveil.studio.trees import TreeDraft


@dataclass
class Studio:
    """Everything that the pages share."""

    settings: StudioSettings
    folder: StudioFolder
    private: Path
    board: JobBoard
    histories: Histories
    sessions: Sessions
    log: AuditLog
    trees: dict[str, TreeDraft] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: StudioSettings) -> Studio:
        """Make one; nothing runs yet."""
        folder = StudioFolder(settings.folder.resolve())
        private = Path(tempfile.mkdtemp(prefix="reveil-studio-"))  # for nobody but this user
        board = JobBoard(folder, private, workers=settings.workers, most_waiting=settings.most_waiting)
        return cls(
            settings,
            folder,
            private,
            board,
            Histories(folder, board),
            Sessions(settings.tokens),
            AuditLog(folder.root / NAME),
        )

    def warm(self) -> None:
        """Read the vaults and make the first page once, so that nobody waits for that."""
        for found in self.folder.series():
            self.histories.get(found)
        prepare_pages()

    def begin(self, task: StudioTask, who: str, sent: Mapping[str, Path] | None = None) -> StudioJob:
        """Let a worker do a task, and note who asked for it; ``sent`` are tables that came with it."""
        job = self.board.add(task, who, sent or {})
        self.log.add(who, task.command, job=job.id, **task.about)
        return job

    def close(self) -> None:
        """End the jobs and remove what was sent."""
        self.board.close()
        shutil.rmtree(self.private, ignore_errors=True)
