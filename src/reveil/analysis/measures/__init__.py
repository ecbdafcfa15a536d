"""Measures of what a release leaves of the table it was made from.

Each measure is one file, found by its entry point in the group ``reveil.analysis.measures``; adding one is that file
and that line. All of them read a :class:`~reveil.analysis.measures.base.Subject`: the raw snapshot and the release,
nothing else.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from reveil.analysis.measures.base import Meaning, Measure, Subject, Workload
from reveil.analysis.measures.privacy_loss import PrivacyLoss
from reveil.analysis.measures.query_error_sensitive import SensitiveQueryError
from reveil.analysis.workload import SELECTIVITY, written_queries
from reveil.core import registry
from reveil.core.errors import ConfigError
from reveil.core.json_values import JSON, object_in
from reveil.releases.column_views import column_views
from reveil.releases.domains import with_told_edges
from reveil.releases.foreign import read_release, translated
from reveil.releases.respelling import respelled
from reveil.tables.snapshot import read_snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from reveil.engines.shards import Engine
    from reveil.models.encoding import Domains
    from reveil.releases.manifest import Manifest
    from reveil.releases.release import Release
    from reveil.tables.pieces import TablePieces
    from reveil.tables.schema import Schema
    from reveil.tables.snapshot import Snapshot

__all__ = ["FORMAT", "Meaning", "Measure", "Measures", "Subject", "meanings", "measure"]

FORMAT = 1


class Measures(Mapping[str, JSON]):
    """The measures of one release by key: numbers, mappings of numbers, or None where there is nothing to measure.

    ``records`` and ``rows`` are those of the snapshot and of the release, ``whole`` is what counterfeits are
    counted among: the rows, or the values in all tables of sensitive columns. ``not_measured`` says why a measure of a
    release that one memory does not hold is None.
    """

    def __init__(
        self,
        values: Mapping[str, JSON],
        *,
        records: int,
        rows: int,
        whole: int | None = None,
        not_measured: Mapping[str, str] | None = None,
    ) -> None:
        self._values = dict(values)
        self.not_measured = dict(not_measured or {})
        self.records = records
        self.rows = rows
        self.whole = rows if whole is None else whole

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        shown = ", ".join(f"{key}={value:.6g}" for key, value in self.items() if isinstance(value, int | float))
        return f"<Measures: {shown}>"

    @property
    def shares(self) -> dict[str, float]:
        """The counts as shares: of the published rows or values what was added, of the records what is missing."""
        whole = {"counterfeits": self.whole, "suppressed": self.records, "withheld": self.records, "dirty": self.rows}
        return {key: self[key] / max(size, 1) for key, size in whole.items() if key in self}

    def to_dict(self) -> dict[str, JSON]:
        """Return what is written as JSON."""
        said: dict[str, JSON] = {"format": FORMAT, "measures": {key: _plain(value) for key, value in self.items()}}
        return {**said, "not_measured": dict(self.not_measured)} if self.not_measured else said


def measure(
    frame: object,
    release: Release | str | os.PathLike[str],
    schema: Schema,
    queries: int | str | os.PathLike[str] = 0,
    seed: int = 0,
    *,
    dimensionality: int | None = None,
    selectivity: float = SELECTIVITY,
) -> Measures:
    """Measure what ``release`` leaves of the raw table ``frame`` it was made from.

    ``frame`` is a frame or the path of a file, ``release`` a release or its path, of any tool. With ``queries`` above
    0 the answers to as many random COUNT windows are compared, and to as many that ask for sensitive values, too;
    ``dimensionality`` attributes in each (None: any number) and about ``selectivity`` of the records. ``queries`` may
    be the path of a workload instead: one expression a line. The result is for the owner's eyes: it is computed from
    the raw table.
    """
    published = read_release(release, schema)
    # Where the manifest promises a bound for a sample, the types of its columns must not depend on the table.
    schema = with_told_edges(schema, published.manifest)
    snapshot = read_snapshot(frame, schema.steadied() if "beta" in published.manifest.promise.settings else schema)
    published = respelled(translated(published, snapshot), snapshot)
    workload = workload_of(queries, seed, dimensionality, selectivity)
    subject = Subject(snapshot, published, workload)
    found = _together(each.of(subject) for each in _measures())
    whole = subject.rows
    if published.seconds:
        whole = whole * len(published.seconds) + published.manifest.counterfeits.total
        views = [Subject(snapshot, view, workload) for view in column_views(published, joint=False)]
        found |= _by_column(views, published)
    return Measures(found, records=subject.records, rows=subject.rows, whole=whole)


def measure_in_shards(
    engine: Engine,
    folder: Path,
    manifest: Manifest,
    pieces: TablePieces,
    domains: Domains,
    example: Snapshot,
    workload: Workload,
) -> Measures:
    """Measure a release in parts beside its table in pieces; ``example`` has the columns of the table, as read."""
    from reveil.analysis.measures.in_shards import measured_in_shards

    subject, told, reasons = measured_in_shards(
        engine, folder, manifest, pieces, domains, example, workload, _measures()
    )
    found = _together(told)
    ordered = {key: found[key] for key in meanings()}
    return Measures(ordered, records=subject.records, rows=subject.rows, not_measured=reasons)


def workload_of(
    queries: int | str | os.PathLike[str], seed: int, dimensionality: int | None, selectivity: float
) -> Workload:
    """Return the queries that are asked: so many random ones, or those of a file."""
    written = written_queries(queries) if isinstance(queries, str | os.PathLike) else ()
    number = 0 if isinstance(queries, str | os.PathLike) else queries
    return Workload(number, seed, dimensionality, selectivity, written)


def _together(told: Iterable[Mapping[str, JSON]]) -> dict[str, JSON]:
    """Put the figures of all measures together."""
    found: dict[str, JSON] = {}
    for figures in told:
        for key, value in figures.items():
            if key in found:
                raise ConfigError(
                    f"two measures are called {key!r}", hint="Uninstall one of the packages that add them."
                )
            found[key] = value
    return found


def _by_column(views: list[Subject], whole: Release) -> dict[str, JSON]:
    """Return what is measured of the values, where each sensitive column has groups of its own."""
    errors: dict[str, Any] = {}
    loss: dict[str, JSON] = {}
    for view, second in zip(views, whole.seconds, strict=True):
        loss |= object_in(PrivacyLoss().of(view)["privacy_loss"])
        errors[second.name] = SensitiveQueryError().of(view)["query_error_sensitive"]
    asked = {name: error for name, error in errors.items() if error is not None}
    worst = max(asked, key=lambda name: asked[name]["mean"] or 0.0, default=None)
    error = None if worst is None else {**asked[worst], "columns": asked}
    counterfeits = whole.manifest.counterfeits.total
    return {"privacy_loss": loss, "query_error_sensitive": error, "counterfeits": counterfeits}


def meanings() -> dict[str, Meaning]:
    """Return what each key says, in the order in which they are shown."""
    return {key: meaning for each in _measures() for key, meaning in each.meanings.items()}


def _measures() -> list[Measure]:
    return sorted((cls() for cls in registry.everything("measures").values()), key=lambda each: each.place)


def _plain(value: object) -> Any:
    """Return numbers that JSON has: an infinite one is none."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
