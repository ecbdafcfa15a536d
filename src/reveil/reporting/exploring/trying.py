"""One candidate on trial, in a worker process: published into a vault that is thrown away, attacked and measured."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.adversary import audit
from reveil.analysis.measures import measure
from reveil.core.errors import ConfigError, RefusedError
from reveil.series.series import Series
from reveil.tables.formats import read_file
from reveil.tables.snapshot.frames import from_native
from reveil.tables.snapshot.table import ColumnReader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.analysis.measures import Measures
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.base import Guarantee
    from reveil.releases.release import Release
    from reveil.reporting.exploring.points import PointFigures, PointLoss, PointRisk
    from reveil.tables.schema import Schema

QUERIES = 200
PRIOR = "prior"


@dataclass(frozen=True)
class CandidateTask:
    """What a worker is given: settings, and the snapshots in their order, as files or frames."""

    guarantee: Guarantee
    method: Grouper | None
    schema: Schema
    frames: tuple[object, ...] = field(repr=False)
    seed: int | None = None


def try_out(task: CandidateTask) -> PointFigures | str:
    """Return the figures of a candidate, or why it cannot be."""
    began = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as folder:
            series = Series.open(Path(folder) / "trial.vault", task.schema, task.guarantee, task.method, seed=task.seed)
            releases = [series.publish(frame, again=True) for frame in task.frames]
    except (RefusedError, ConfigError) as error:
        return error.message
    seconds = time.monotonic() - began
    return {
        "risk": _risk(releases, task),
        "loss": _loss(releases, task),
        "counterfeits": sum(release.manifest.counterfeits.total for release in releases),
        "withheld": sum(release.manifest.withheld for release in releases),
        "rows": sum(release.manifest.rows for release in releases),
        "seconds": round(seconds, 2),
    }


def _risk(releases: Sequence[Release], task: CandidateTask) -> PointRisk:
    """Return how strongly attacks believe: the highest, the mean over everybody, and how often guesses are right."""
    if not task.schema.sensitive:
        return {"highest": None, "mean": None, "prior": None}
    told, truth = list(releases), list(task.frames)
    # Guesses are another thing than beliefs that follow from the releases: nothing is judged by them.
    found = audit(told, task.schema, truth=truth, guarantee=task.guarantee, prior="releases", table_risks=False)
    guesses = found.attacks.get(PRIOR, {}).get("series") or {}
    return {
        "highest": found.summary["highest"],
        "mean": float(found.persons["belief"].fill_null(0.0).sum()) / max(found.summary["persons"], 1),
        "prior": (guesses.get("attack") or {}).get("rate"),
    }


def _loss(releases: Sequence[Release], task: CandidateTask) -> PointLoss:
    """Return the measures of the releases, on average."""
    each = [
        measure(frame, release, task.schema, queries=QUERIES)
        for frame, release in zip(task.frames, releases, strict=True)
    ]
    return {
        "gcp": _mean([one["gcp"] for one in each]),
        "query_error": _mean([_mean_of(one, "query_error") for one in each]),
        "query_error_sensitive": _mean([_mean_of(one, "query_error_sensitive") for one in each]),
    }


def _mean_of(measures: Measures, key: str) -> float | None:
    """Return the mean of a measure that has one; None where nobody measures it."""
    found = measures.get(key)
    mean = found.get("mean") if isinstance(found, Mapping) else None
    return mean if isinstance(mean, int | float) else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def sampled(frames: Sequence[object], schema: Schema, size: int) -> list[object]:
    """Return the records of so many persons, the same in all snapshots; of so many records where nobody is named."""
    tables = [_typed(frame, schema) for frame in frames]
    person = schema.person
    if person is None:
        return [table.sample(min(size, table.height), seed=0) for table in tables]
    everybody = pl.concat([table[person].cast(pl.String) for table in tables]).unique().drop_nulls().sort()
    kept = everybody.sample(min(size, len(everybody)), seed=0).implode()
    return [table.filter(pl.col(person).cast(pl.String).is_in(kept)) for table in tables]


def _typed(frame: object, schema: Schema) -> pl.DataFrame:
    """Return a snapshot as a frame; of a file of texts with the types that reading it finds."""
    if not isinstance(frame, str | Path):
        return from_native(frame, schema)[0]
    table = read_file(Path(frame), null_values=schema.null_values, dialect=schema.input.dialect)
    if not table.text_only:
        return table.frame
    reader = ColumnReader(schema, table.place, from_text=True)
    orders = () if schema.input.visits is None else schema.input.visits.orders
    return table.frame.with_columns(reader.column(cells, ordering=cells.name in orders) for cells in table.frame)
