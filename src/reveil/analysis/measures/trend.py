"""How wrong a trend is that is read off a series: the same COUNT query, asked of every release."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.analysis.measures.base import Subject
from reveil.analysis.measures.columns import MeasuredColumn
from reveil.analysis.measures.query_error import estimates, in_blocks
from reveil.analysis.workload import SELECTIVITY, Windows, true_counts, windows
from reveil.core.arrays import offsets_of
from reveil.models.encoding import Attribute, encode_quasi

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.core.json_values import JSON
    from reveil.models.encoding import FloatArray
    from reveil.releases.release import Release
    from reveil.tables.snapshot import Snapshot


def trend_error(
    snapshots: Sequence[Snapshot],
    releases: Sequence[Release],
    queries: int = 200,
    seed: int = 0,
    *,
    selectivity: float = SELECTIVITY,
) -> dict[str, JSON] | None:
    """Compare how the answers to random COUNT windows change from release to release with how they truly changed.

    *Definition*: a window is drawn once, over the values of all the snapshots together, in the quasi columns that all
    the releases have. With q_t the raw records in it at time t, and e_t what release t answers (see ``query_error``),
    the error of its trend is the mean over t of |(e_t - e_{t-1}) - (q_t - q_{t-1})|, over the mean of the q_t. What is
    wrong in the same way in every release is no error of a trend. ``mean`` and ``median`` over the windows, and
    ``per_step``: the mean over the windows for each t from the second release on; windows in which no record lies at
    any time are ``skipped`` and counted. *Range*: from 0 up; smaller is better. None with fewer than two releases, or
    where they have no quasi column in common. *Source*: new here.
    """
    if len(releases) < 2:
        return None
    common = [
        name
        for name in snapshots[0].schema.quasi
        if all(name in release.cells and name in table.schema.quasi for release, table in _pairs(releases, snapshots))
    ]
    together = _together(snapshots, common) if common else None
    if together is None:
        return None
    ends = offsets_of([table.frame.height for table in snapshots])
    asked = windows(together, queries, selectivity=selectivity, seed=seed)
    truth, guess = [], []
    for place, (release, snapshot) in enumerate(_pairs(releases, snapshots)):
        rows = slice(int(ends[place]), int(ends[place + 1]))
        attributes = [replace(each, codes=each.codes[rows]) for each in together]
        truth.append(true_counts(attributes, asked).astype(np.float64))
        guess.append(_answers(release, snapshot, attributes, asked))
    real, told = np.stack(truth), np.stack(guess)
    level = real.mean(axis=0)
    filled = level > 0
    wrong = np.abs(np.diff(told, axis=0) - np.diff(real, axis=0))[:, filled] / level[filled]
    some = bool(filled.any())
    return {
        "mean": float(wrong.mean()) if some else None,
        "median": float(np.median(wrong.mean(axis=0))) if some else None,
        "per_step": [float(step.mean()) if some else None for step in wrong],
        "queries": queries,
        "skipped": int((~filled).sum()),
    }


def _pairs(releases: Sequence[Release], snapshots: Sequence[Snapshot]) -> list[tuple[Release, Snapshot]]:
    return list(zip(releases, snapshots, strict=True))


def _together(snapshots: Sequence[Snapshot], names: Sequence[str]) -> list[Attribute] | None:
    """Return the columns of all the snapshots below each other, in codes; None where their types do not fit."""
    schema = snapshots[-1].schema
    try:
        whole = pl.concat([snapshot.frame.select(names) for snapshot in snapshots], how="vertical_relaxed")
    except pl.exceptions.PolarsError:
        return None
    return [encode_quasi(whole[name], schema[name]) for name in names]


def _answers(release: Release, snapshot: Snapshot, attributes: Sequence[Attribute], asked: Windows) -> FloatArray:
    """Return what a release answers."""
    subject = Subject(snapshot, release)
    columns = [MeasuredColumn(each, release.cells[each.name], subject.class_rows, foreign=True) for each in attributes]
    records = subject.class_real * subject.clean
    if subject.nesting is not None:
        records = in_blocks(subject.nesting, columns, records)
    return np.maximum(estimates(columns, records, asked), 0.0)
