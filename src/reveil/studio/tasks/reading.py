"""``verify``, ``measure``, ``query`` and ``report``: what a release is, what it leaves and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from reveil.analysis.measures.listing import measure_lines
from reveil.analysis.questions import ask
from reveil.core.errors import InputError
from reveil.core.json_values import thawed
from reveil.guarantees.comparing import as_chosen
from reveil.releases.answers import as_json
from reveil.releases.release import Release
from reveil.reporting import json_beside, owner_beside, report
from reveil.series.config import load_config
from reveil.series.measuring import measure_file
from reveil.series.publishing import verify_file, verify_series
from reveil.studio.tasks.base import CONFIG, TABLE, TEXT, Bench, StudioTask, TaskResult
from reveil.tables.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class VerifyTask(StudioTask):
    """Check a release against its snapshot, or the whole series from its files."""

    config_path: str
    release_path: str | None = None
    snapshot_path: str | None = None
    whole: bool = False
    truths: tuple[str, ...] = ()
    where: str | None = None

    command: ClassVar[str] = "verify"
    title: ClassVar[str] = "Verify"
    paths: ClassVar[Mapping[str, str]] = {
        "config_path": CONFIG,
        "release_path": TABLE,
        "snapshot_path": TABLE,
        "truths": TABLE,
    }

    def run(self, bench: Bench) -> TaskResult:
        """Verify, and say what was found."""
        config = load_config(bench.folder.config(self.config_path))
        if self.whole:
            truths = [bench.table(text) for text in self.truths]
            found = verify_series(config, truths, where=self.where, stage=bench.stage)
            return TaskResult(
                {
                    "whole": True,
                    "releases": found.releases,
                    "compared": found.truths,
                    "missing": list(found.missing),
                    "broken": list(found.broken),
                },
                good=not found.broken and not found.missing,
            )
        if self.release_path is None or self.snapshot_path is None:
            raise InputError("a release and its snapshot are needed", hint="Choose both, or the whole series.")
        release = verify_file(
            config,
            bench.table(self.release_path),
            bench.table(self.snapshot_path),
            where=self.where,
            stage=bench.stage,
        )
        manifest = release.manifest
        sentence = as_chosen(config.guarantee, manifest).model_for(config.schema).sentence()
        return TaskResult(
            {
                "whole": False,
                "release": self.release_path,
                "rows": manifest.rows,
                "groups": manifest.groups,
                "sentence": sentence,
                "remembered": config.guarantee.traits.remembers and config.vault_path.exists(),
            }
        )


@dataclass(frozen=True)
class MeasureTask(StudioTask):
    """Measure what a release leaves of its table."""

    raw_path: str
    release_path: str
    config_path: str
    queries: int = 0
    queries_file: str | None = None
    dimensions: int | None = None
    selectivity: float = 0.05
    seed: int = 0
    where: str | None = None

    command: ClassVar[str] = "measure"
    title: ClassVar[str] = "Measure"
    paths: ClassVar[Mapping[str, str]] = {
        "raw_path": TABLE,
        "release_path": TABLE,
        "config_path": CONFIG,
        "queries_file": TEXT,
    }

    def run(self, bench: Bench) -> TaskResult:
        """Measure it."""
        found = measure_file(
            load_config(bench.folder.config(self.config_path)),
            bench.table(self.raw_path),
            bench.table(self.release_path),
            queries=self.queries if self.queries_file is None else str(bench.folder.existing(self.queries_file)),
            dimensions=self.dimensions,
            selectivity=self.selectivity,
            seed=self.seed,
            where=self.where,
            stage=bench.stage,
        )
        lines = [list(line) for line in measure_lines(found)]
        return TaskResult({"release": self.release_path, "lines": lines, "measures": thawed(found.to_dict())})


@dataclass(frozen=True)
class QueryTask(StudioTask):
    """Ask a release a question."""

    release_path: str
    question: str
    config_path: str | None = None

    command: ClassVar[str] = "query"
    title: ClassVar[str] = "Ask a release"
    paths: ClassVar[Mapping[str, str]] = {"release_path": TABLE, "config_path": CONFIG}
    opens_vault: ClassVar[bool] = False

    def run(self, bench: Bench) -> TaskResult:
        """Answer it."""
        schema = None if self.config_path is None else Schema.load(bench.folder.config(self.config_path))
        bench.stage("answering")
        found = ask(Release.read(bench.table(self.release_path)), self.question, schema)
        return TaskResult({"question": self.question, "release": self.release_path, **as_json(found)})


@dataclass(frozen=True)
class ReportTask(StudioTask):
    """Write the page about a series."""

    config_path: str
    releases: tuple[str, ...] = ()
    truth: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    values_known: int = 1
    sample: int | None = None
    population_size: int | None = None

    command: ClassVar[str] = "report"
    title: ClassVar[str] = "Report"
    paths: ClassVar[Mapping[str, str]] = {"config_path": CONFIG, "releases": TABLE, "truth": TABLE}

    def run(self, bench: Bench) -> TaskResult:
        """Write the page and its numbers, for a download."""
        page = bench.private / "report.html"
        found = report(
            bench.folder.config(self.config_path),
            [bench.table(text) for text in self.releases] or None,
            [bench.table(text) for text in self.truth] or None,
            page,
            where=self.where,
            values_known=self.values_known,
            sample=self.sample,
            population_size=self.population_size,
            stage=bench.stage,
        )
        risk = found["risk"]
        content = {
            "releases": found["series"]["releases"],
            "missing": thawed(found["missing"]),
            "notes": list(found["notes"]),
            "sentence": None if risk is None else risk["sentence"],
            "held": None if risk is None else risk["held"],
        }
        files = {"report.html": page, "report.json": json_beside(page)}
        if self.truth:
            files["report.owner.html"] = owner_beside(page)
        return TaskResult(content, files, good=risk is None or bool(risk["held"]))
