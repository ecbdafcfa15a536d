"""``explore``: what privacy costs here, and what the cells of each choice look like."""

from __future__ import annotations

import csv
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from reveil.core.errors import ConfigError, InputError, RefusedError
from reveil.core.json_values import thawed
from reveil.releases.files import KeptFiles, write_file
from reveil.reporting.exploring import explored
from reveil.reporting.exploring.candidates import Candidate, asked, of_config
from reveil.reporting.exploring.choosing import take_point
from reveil.reporting.exploring.page import render
from reveil.reporting.exploring.trying import sampled
from reveil.series import Series
from reveil.series.config import load_config
from reveil.studio.tasks.base import CONFIG, TABLE, Bench, StudioTask, TaskResult
from reveil.tables.settings import read_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON
    from reveil.series.config import Config

_EXAMPLES = 10  # rows
_TRIED_ON = 2_000  # persons, for the examples


@dataclass(frozen=True)
class ExploreTask(StudioTask):
    """Try settings on tables; nothing is published. ``choose`` writes a point into the config."""

    data: tuple[str, ...]
    config_path: str
    tries: tuple[str, ...] = ()
    sample: int | None = None
    minutes: float | None = None
    choose: int | None = None

    command: ClassVar[str] = "explore"
    title: ClassVar[str] = "Explore"
    paths: ClassVar[Mapping[str, str]] = {"data": TABLE, "config_path": CONFIG}
    opens_vault: ClassVar[bool] = False

    def run(self, bench: Bench) -> TaskResult:
        """Try them, and show examples; or take a point."""
        config = load_config(bench.folder.config(self.config_path))
        candidates = of_config(config, read_settings(config.path), asked(self.tries))
        if self.choose is not None:
            return TaskResult({"said": take(config.path, candidates, self.choose).replace(f"{bench.folder.root}/", "")})
        if not self.data:
            raise InputError("there is no table to try on", hint="Choose one, or several as a series.")
        tables = [bench.table(text) for text in self.data]
        found = explored(
            tables,
            config.schema,
            candidates,
            len(candidates),
            sample=self.sample,
            minutes=self.minutes,
            seed=config.seed,
            stage=bench.stage,
        )
        bench.stage("drawing examples")
        page = bench.private / "explore.html"
        write_file(page, render(found).encode(), KeptFiles())
        tried = {point["n"] for point in found["points"]}
        frames = sampled(tables[:1], config.schema, _TRIED_ON)
        examples: dict[str, JSON] = {
            str(n): _example(config, one, frames[0], bench.private) for n, one in enumerate(candidates, 1) if n in tried
        }
        content = thawed({**found, "examples": examples, "tries": list(self.tries), "data": list(self.data)})
        return TaskResult(content, {"explore.html": page})  # type: ignore[arg-type]  # thawed from an object


def take(path: Path, candidates: list[Candidate], number: int) -> str:
    """Write a point into a config."""
    if not 1 <= number <= len(candidates):
        raise InputError(f"there is no point {number}", hint=f"There are {len(candidates)}.")
    return take_point(path, candidates[number - 1], number)


def take_again(path: Path, tries: tuple[str, ...], number: int) -> str:
    """Write a point of an exploration into a config: the same tries give the same numbers."""
    config = load_config(path)
    return take(path, of_config(config, read_settings(path), asked(tries)), number)


def _example(config: Config, candidate: Candidate, frame: object, private: Path) -> JSON:
    """Return a few rows as they would be published, of some of the people; nobody is told."""
    try:
        with tempfile.TemporaryDirectory(dir=private) as folder:
            vault = Path(folder) / "trial.vault"
            series = Series.open(vault, config.schema, candidate.guarantee, candidate.method, seed=config.seed)
            release = series.publish(frame, dry_run=True)
            path = Path(folder) / "example.csv"
            release.write(path)
            with path.open(encoding="utf-8", newline="") as lines:
                rows = [row for row, _ in zip(csv.reader(lines), range(_EXAMPLES + 1), strict=False)]
    except (ConfigError, RefusedError) as error:
        return {"why": error.message}
    return {"columns": rows[0], "rows": rows[1:]}
