"""A release with a table for each sensitive column, seen as a release of one of them.

Whoever judges, attacks or counts one column needs the first table, the groups of this column and its values: that is a
release with two tables. In the first table of such a *view* the counterfeits stand as rows again, each with the cells
of a row of its group, as they do where there is one sensitive column. What holds for a view holds for the whole: the
other columns have groups of their own, which say nothing of this one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.json_values import FrozenObject
from reveil.releases.manifest import SECOND
from reveil.releases.manifest_parts import Counterfeits, PublishedColumn
from reveil.releases.table import COUNT, GROUP
from reveil.tables.joint import joint_values

if TYPE_CHECKING:
    from reveil.core.arrays import IntArray
    from reveil.core.json_values import JSON
    from reveil.releases.manifest import Manifest
    from reveil.releases.promise import Promise
    from reveil.releases.release import Release
    from reveil.releases.table import SecondTable

BY_COLUMN = ("m", "fixed")  # settings of a guarantee that may be another one for each column
ABOUT_ALL = ("together", "independent")  # settings about the columns beside each other


def column_views(release: Release, *, joint: bool = True) -> tuple[Release, ...]:
    """Return a release as releases of one sensitive column each; itself where it has no tables by column.

    Columns that are one value together are one column of texts, or with ``joint=False`` columns of their own.
    """
    if not release.seconds:
        return (release,)
    return tuple(_view(release, second, joint=joint) for second in release.seconds)


def view_with(release: Release, column: str) -> Release | None:
    """Return the view that has a sensitive column, joint ones by their parts; None where no table has it."""
    if not release.seconds:
        return release if column in release.manifest.sensitive else None
    found = [second for second in release.seconds if column in second.parts]
    return _view(release, found[0], joint=False) if found else None


def first_table(release: Release) -> Release:
    """Return the first table by itself: what it tells of all records, without a word about sensitive values."""
    if not release.seconds:
        return release
    manifest = release.manifest
    kept = tuple(column for column in manifest.columns if column.name in release.columns)
    manifest = replace(
        manifest,
        columns=kept,
        counterfeits=Counterfeits(),
        domains=_domains(manifest, {column.name for column in kept}),
    )
    return replace(release, seconds=(), manifest=manifest, whole=release)


def borrowed_rows(second: SecondTable) -> IntArray:
    """Return the row whose cells each counterfeit of a column borrows: the first one of its group."""
    counts = second.batch.group_by(GROUP).agg(pl.col(COUNT).sum()).sort(GROUP)
    numbers, first, rows = np.unique(second.groups, return_index=True, return_counts=True)
    group, told = counts[GROUP].to_numpy(), counts[COUNT].to_numpy()
    place = np.minimum(np.searchsorted(numbers, group), max(len(numbers) - 1, 0))
    known = numbers[place] == group if len(numbers) else np.zeros(len(group), np.bool_)
    many = np.maximum(told[known] - rows[place[known]], 0)
    return np.repeat(first[place[known]], many).astype(np.int64)


def _view(release: Release, second: SecondTable, *, joint: bool) -> Release:
    borrowed = borrowed_rows(second)
    rows = np.concatenate([np.arange(len(release.classes)), borrowed])
    groups = second.groups[rows]
    batch, columns = second.batch, [release.manifest.column(name) for name in second.parts]
    if joint and len(second.parts) > 1:
        batch = batch.select(GROUP, joint_values(batch.select(second.parts), second.name), COUNT).sort(
            GROUP, second.name
        )
        columns = [PublishedColumn(second.name, "sensitive", "value", "String")]
    manifest = _manifest(release.manifest, second, columns, len(rows), groups)
    return replace(
        release,
        classes=release.classes[rows],
        values=release.values[rows] if release.values.width else release.values,
        groups=groups,
        batch=batch,
        seconds=(),
        manifest=manifest,
        whole=release,
    )


def _manifest(
    manifest: Manifest, second: SecondTable, columns: list[PublishedColumn], rows: int, groups: IntArray
) -> Manifest:
    numbers = np.unique(groups)
    wanted = {str(number) for number in numbers.tolist()}
    told = {number: many for number, many in manifest.counterfeits.per_group.items() if number in wanted}
    total = sum(told.values())
    first = [column for column in manifest.columns if column.table is None and column.role != GROUP]
    shown = (*first, PublishedColumn(GROUP, GROUP, "value", "Int32"), *(replace(c, table=SECOND) for c in columns))
    reached = manifest.achieved.get("m")
    achieved = {"m": reached[second.name]} if isinstance(reached, FrozenObject) and second.name in reached else {}
    return replace(
        manifest,
        columns=shown,
        rows=rows,
        groups=len(numbers),
        counterfeits=Counterfeits(total, told),
        achieved=FrozenObject(achieved),
        domains=_domains(manifest, {column.name for column in shown}),
        promise=promise_of_column(manifest.promise, second.name),
    )


def _domains(manifest: Manifest, names: set[str]) -> dict[str, JSON] | None:
    if manifest.domains is None:
        return None
    return {name: told for name, told in manifest.domains.items() if name in names}


def promise_of_column(promise: Promise, name: str) -> Promise:
    """Return what a promise about several columns says of one of them."""
    settings = {
        key: value[name] if key in BY_COLUMN and isinstance(value, FrozenObject) and name in value else value
        for key, value in promise.settings.items()
        if key not in ABOUT_ALL
    }
    bound = promise.bound
    if promise.bounds is not None and isinstance(column_bound := promise.bounds.get(name), int | float):
        bound = float(column_bound)
    limits = (
        None
        if promise.limits is None
        else tuple(replace(limit, at_most=bound) if limit.at_most is not None else limit for limit in promise.limits)
    )
    return replace(promise, settings=FrozenObject(settings), bound=bound, bounds=None, limits=limits)
