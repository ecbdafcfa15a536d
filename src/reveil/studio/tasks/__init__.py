"""What the studio can: one task for each command, done by a worker process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reveil.studio.tasks.attacking import AuditTask
from reveil.studio.tasks.beginning import InitTask
from reveil.studio.tasks.exploring import ExploreTask
from reveil.studio.tasks.hierarchies import HierarchyTask
from reveil.studio.tasks.publishing import PublishTask
from reveil.studio.tasks.reading import MeasureTask, QueryTask, ReportTask, VerifyTask
from reveil.studio.tasks.remembering import AdoptTask, ForgetTask, HistoryTask

if TYPE_CHECKING:
    from reveil.studio.tasks.base import StudioTask

TASKS: dict[str, type[StudioTask]] = {
    task.command: task
    for task in (
        AdoptTask,
        AuditTask,
        ExploreTask,
        ForgetTask,
        HierarchyTask,
        HistoryTask,
        InitTask,
        MeasureTask,
        PublishTask,
        QueryTask,
        ReportTask,
        VerifyTask,
    )
}
