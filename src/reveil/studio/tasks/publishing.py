"""``publish``: a dry run with its figures, or a release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from reveil.analysis.measures import measure
from reveil.core.errors import RefusedError
from reveil.releases.files import tables_of
from reveil.releases.manifest_files import manifest_path
from reveil.series import Series
from reveil.series.config import load_config
from reveil.series.publishing import publish_file
from reveil.studio.tasks.base import CONFIG, NEW, TABLE, Bench, StudioTask, TaskResult

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from reveil.core.json_values import JSON
    from reveil.releases.manifest import Manifest
    from reveil.series.config import Config
    from reveil.series.published import Published


@dataclass(frozen=True)
class PublishTask(StudioTask):
    """Publish a table; ``expected`` is the number that the release was shown to have."""

    data: str
    config_path: str
    out: str
    columns: tuple[str, ...] | None = None
    where: str | None = None
    dry_run: bool = False
    again: bool = False
    new_series: bool = False
    expected: int | None = None

    command: ClassVar[str] = "publish"
    title: ClassVar[str] = "Publish"
    paths: ClassVar[Mapping[str, str]] = {"data": TABLE, "config_path": CONFIG, "out": NEW}

    def run(self, bench: Bench) -> TaskResult:
        """Publish, or say what would come out."""
        config = load_config(bench.folder.config(self.config_path))
        data, out = bench.table(self.data), bench.folder.new(self.out)
        dry_run = self.dry_run or self._overtaken(config)
        published = self._publish(config, data, out, bench, dry_run=dry_run)
        if dry_run and not self.dry_run:
            if published.how != "already":
                raise RefusedError(
                    f"release {self.expected} of this series was published by somebody else in the meantime",
                    hint="Nothing was published by this. Look at the series, and try it again from there.",
                )
            published = self._publish(config, data, out, bench, dry_run=False)
        manifest, traits = published.release.manifest, config.guarantee.traits
        content: dict[str, JSON] = {
            "how": published.how,
            "dry_run": self.dry_run,
            "out": self.out,
            "data": self.data,
            "notes": [] if published.note is None else published.note.split("\nnote: "),
            "plain": list(config.guarantee.explained.in_plain_words(manifest.promise.bound, traits.settings)),
            **told_of(manifest),
        }
        if self.dry_run:
            if self.columns is None and self.where is None and published.how == "published":
                bench.stage("measuring")
                found = measure(data, published.release, config.schema)
                content["width"] = found["gcp"]
                content["shares"] = {name: float(value) for name, value in found.shares.items()}
            return TaskResult(content)
        files = {path.name: path for path in (*tables_of(out, manifest), manifest_path(out))}
        return TaskResult(content, files)

    def _overtaken(self, config: Config) -> bool:
        """Return whether there are releases that whoever asked has not seen."""
        if self.expected is None or not config.in_series:
            return False
        rows = Series.of(config).history()
        return bool(rows) and rows[-1]["release"] >= self.expected and rows[-1]["state"] != "pending"

    def _publish(self, config: Config, data: Path, out: Path, bench: Bench, *, dry_run: bool) -> Published:
        return publish_file(
            config,
            data,
            out,
            columns=None if self.columns is None else list(self.columns),
            where=self.where,
            dry_run=dry_run,
            again=self.again,
            new_series=self.new_series,
            stage=bench.stage,
        )


def told_of(manifest: Manifest) -> dict[str, JSON]:
    """Return what a manifest tells that a page shows."""
    return {
        "series": manifest.series,
        "release": manifest["release"],
        "rows": manifest.rows,
        "groups": manifest.groups,
        "suppressed": manifest.suppressed,
        "withheld": manifest.withheld,
        "dirty": manifest.dirty,
        "counterfeits": manifest.counterfeits.total,
        "achieved": {str(name): _plain(value) for name, value in manifest.achieved.items()},
        "digest": manifest.digest,
        "claim": manifest.promise.claim,
        "bound": manifest.promise.bound,
        "assumes": list(manifest.promise.assumes),
        "not_covered": list(manifest.promise.not_covered),
    }


def _plain(value: object) -> JSON:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
