"""Records that can be followed from release to release by their ids."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.adversary.attacks.base import Findings, joined, mask_of
from reveil.adversary.set_limits import statistics
from reveil.models.base import ValueModel
from reveil.models.statistics import Histogram
from reveil.models.t_closeness import TCloseness
from reveil.releases.different_cells import places_in

if TYPE_CHECKING:
    from reveil.adversary.evidence import Evidence
    from reveil.core.arrays import CodeArray, IntArray
    from reveil.core.json_values import JSON

NOT_IN_RELEASE = -2  # not in this release


def followed(evidence: Evidence) -> Findings:
    """Match persons with the records that were in their groups, and were absent when they were, in every release.

    Persons and records with the same groups in all releases, and with the same changes as far as these are known, form
    a cell: any of its persons may have any of its records, and if there are as many of both, nothing else. Then the
    share of the records with a value is exact.
    """
    views = evidence.views
    if any(view.row_ids is None or view.row_codes is None for view in views):
        return Findings.nothing()
    ids = pl.concat([view.row_ids.drop_nulls() for view in views if view.row_ids is not None]).unique()
    persons = np.full((len(views), len(evidence.persons)), NOT_IN_RELEASE, np.int64)
    records = np.full((len(views), len(ids)), NOT_IN_RELEASE, np.int64)
    values = np.full((len(views), len(ids)), -1, np.int32)
    for view, changed in zip(views, evidence.changed, strict=True):
        persons[view.number, view.present] = np.where(view.sure >= 0, view.sure * 4 + changed + 1, -1)
        if view.row_ids is None or view.row_codes is None:
            continue
        known = view.row_ids.is_not_null().to_numpy()
        place = places_in(view.row_ids.drop_nulls(), ids)
        records[view.number, place] = view.row_groups[known].astype(np.int64) * 4
        values[view.number, place] = view.row_codes[known]
    if (persons == -1).all(axis=0).all():
        return Findings.nothing()
    # With what is known of changes: a record shows its own.
    told = any((changed >= 0).any() for changed in evidence.changed)
    if told and any((view.row_codes < 0).any() for view in views if view.row_codes is not None):
        # A record whose value is suppressed does not show its own: then groups alone tell records apart.
        persons = np.where(persons >= 0, persons // 4 * 4, persons)
        told = False
    last = np.full(len(ids), -1, np.int32)
    for t in range(len(views)):
        here = records[t] >= 0
        change = np.where(last < 0, 0, 1 + (last != values[t])) if told else np.zeros(len(ids), np.int64)
        records[t] += np.where(here, change, 0)
        last = np.where(here, values[t], last)
    return _shares_of_people(evidence, persons, records, values)


def record_cells(evidence: Evidence) -> dict[str, JSON] | None:
    """Count the sets of records that all releases together tell apart, by ids alone: who they are does not matter.

    ``smallest`` is the size of the smallest, ``fewest_values`` the least number of different values that one of them
    shows in a release, and ``invalid`` how many a model refuses that is promised of every set of people told apart.
    None where the rows of a release cannot be followed.
    """
    views = [view for view in evidence.views if view.row_ids is not None and view.row_codes is not None]
    if len(views) < len(evidence.views) or not views:
        return None
    rows = [
        pl.DataFrame({"id": view.row_ids, "group": view.row_groups.astype(np.int64), "value": view.row_codes})
        .drop_nulls("id")
        .with_columns(view=pl.lit(view.number, pl.Int64))
        for view in views
    ]
    told = pl.concat(rows)
    # Where a record was in every release, as one text: records with equal ones are a cell.
    where = told.sort("view").group_by("id").agg(pl.concat_str("view", "group", separator=":").alias("where"))
    cells = where.with_columns(cell=pl.col("where").list.join(" ").rank("dense")).select("id", "cell")
    shown = told.join(cells, on="id").group_by("cell", "view").agg(size=pl.len(), values=pl.col("value").n_unique())
    bad = _invalid(evidence, told.join(cells, on="id"), shown)
    return {
        "number": cells["cell"].n_unique(),
        "smallest": int(shown["size"].min() or 0),  # type: ignore[arg-type]
        "fewest_values": int(shown["values"].min() or 0),  # type: ignore[arg-type]
        "invalid": len(bad),
    }


def _invalid(evidence: Evidence, told: pl.DataFrame, shown: pl.DataFrame) -> set[int]:
    """Return the cells that a model which the series promises of every set of people refuses, in any release."""
    models = [limit.model for limit in evidence.limits if limit.model is not None]
    models = [model for model in models if not isinstance(model, ValueModel) or model.concerns(evidence.column)]
    bad: set[int] = set()
    for view in evidence.views if models else ():
        here = shown.filter(pl.col("view") == view.number).sort("cell")
        cells, sizes = here["cell"].to_numpy(), here["size"].to_numpy().astype(np.int64)
        rows = told.filter((pl.col("view") == view.number) & (pl.col("value") >= 0))
        place = np.searchsorted(cells, rows["cell"].to_numpy())
        values = Histogram.of(place, rows["value"].to_numpy(), len(cells), max(len(evidence.values), 1))
        whole = values.totals == sizes  # a suppressed value may be any
        for model in models:
            if isinstance(model, ValueModel) and view.fakes.any():
                # Counterfeits stand in for members of a cell, and have no id: how many values there are is certain.
                wrong = values.distinct < math.ceil(getattr(model, "l", 0))
            else:
                exact = isinstance(model, TCloseness)
                wrong = ~model.verdict(statistics(evidence, view, values, sizes, exact=exact))
            bad |= set(cells[wrong & (whole | ~np.bool_(isinstance(model, ValueModel)))].tolist())
    return bad


def _shares_of_people(evidence: Evidence, persons: IntArray, records: IntArray, values: CodeArray) -> Findings:
    sure = np.flatnonzero((persons != -1).all(axis=0) & (persons >= 0).any(axis=0))
    cells = np.zeros(len(sure) + records.shape[1], np.int64)
    for groups, others in zip(persons, records, strict=True):
        key = np.concatenate([groups[sure], others]) + 3
        _, cells = np.unique(cells * (int(key.max(initial=0)) + 1) + key, return_inverse=True)
    n_cells = int(cells.max(initial=-1)) + 1
    mine, theirs = cells[: len(sure)], cells[len(sure) :]
    people, many = np.bincount(mine, minlength=n_cells), np.bincount(theirs, minlength=n_cells)
    domain = max(len(evidence.values), 1)
    parts = []
    mask = mask_of(evidence, *range(len(evidence.views)))
    for view in evidence.views:
        here = (records[view.number] >= 0) & (values[view.number] >= 0)
        keys, counts = np.unique(theirs[here] * domain + values[view.number][here], return_counts=True)
        owner = keys // domain
        order = np.lexsort((keys, -counts, owner))
        first = order[np.flatnonzero(np.diff(owner[order], prepend=-1))]
        best, value = np.zeros(n_cells), np.full(n_cells, -1, np.int32)
        best[owner[first]] = counts[first] / many[owner[first]]
        value[owner[first]] = keys[first] % domain
        told = value[mine] >= 0
        cell, who = mine[told], sure[told].astype(np.int32)
        whole = np.bincount(theirs[here], minlength=n_cells) == many
        exact = (people[cell] == many[cell]) | ((best[cell] >= 1) & (people[cell] <= many[cell]))
        exact &= whole[cell]
        at = np.full(len(who), view.number, np.int32)
        masks = np.full(len(who), mask, np.int64)
        parts.append(Findings(who, best[cell], value[cell], exact, masks, at=at))
    return joined(parts)
