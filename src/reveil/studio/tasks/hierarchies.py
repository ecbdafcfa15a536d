"""``hierarchy``: broader terms for the values of a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from reveil.releases.files import KeptFiles, file_target, write_file
from reveil.studio.tasks.base import CONFIG, NEW, TABLE, TEXT, Bench, StudioTask, TaskResult
from reveil.tables.hierarchy_requests import HierarchyRequest
from reveil.tables.making_hierarchies import hierarchy_text

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class HierarchyTask(StudioTask):
    """Make a hierarchy of a column; ``out``: and write it."""

    data: str
    column: str
    config_path: str | None = None
    dates: str | None = None
    prefix: str | None = None
    bins: str | None = None
    order_path: str | None = None
    cluster: int | None = None
    out: str | None = None

    command: ClassVar[str] = "hierarchy"
    title: ClassVar[str] = "Hierarchy"
    paths: ClassVar[Mapping[str, str]] = {"data": TABLE, "config_path": CONFIG, "order_path": TEXT, "out": NEW}
    opens_vault: ClassVar[bool] = False

    def run(self, bench: Bench) -> TaskResult:
        """Make it, and write it if that is asked for."""
        data = bench.table(self.data)
        config = None if self.config_path is None else bench.folder.config(self.config_path)
        order = None if self.order_path is None else bench.folder.existing(self.order_path)
        request = HierarchyRequest(
            str(data),
            self.column,
            None if config is None else str(config),
            self.dates,
            self.prefix,
            self.bins,
            None if order is None else str(order),
            self.cluster,
        )
        kept = KeptFiles(tuple(path for path in (data, config, order) if path is not None))
        target = None if self.out is None else file_target(bench.folder.new(self.out), kept)
        bench.stage("making")
        made = request.made(self.out or "the hierarchy")
        if target is not None:
            write_file(target, hierarchy_text(made.paths).encode(), kept)
        return TaskResult(
            {
                "column": self.column,
                "values": len(made.taxonomy.leaves),
                "levels": made.taxonomy.depth,
                "out": self.out,
                "paths": [list(path) for path in made.paths],
            }
        )
