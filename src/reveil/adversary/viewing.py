"""From a release and the people who are known to a view of it: who may be in which group, and what it tells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.adversary.candidates import exclude_by_counting
from reveil.adversary.view import View
from reveil.core.errors import DataError
from reveil.models.statistics import Histogram
from reveil.releases.different_cells import places_in
from reveil.releases.folders import place_of
from reveil.releases.groups import groups_of
from reveil.tables.notation import SUPPRESSED_VALUE
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from reveil.adversary.background import Background, KnownPeople
    from reveil.adversary.candidates import Candidates
    from reveil.adversary.evidence import ChangeArray
    from reveil.core.arrays import BoolArray, CodeArray
    from reveil.releases.groups import ReleaseGroups
    from reveil.releases.manifest import Manifest
    from reveil.releases.release import Release


FEW = 0.9  # of the records of a release, below which a list of people is far from complete


@dataclass(frozen=True, repr=False)
class PossibleGroups:
    """Who may be in which group of a release, whatever sensitive column is attacked.

    ``ids`` are those listed, and ``present`` their places among all persons of the audit; ``everybody``: all of them
    are published.
    """

    groups: ReleaseGroups
    ids: pl.Series
    present: CodeArray
    candidates: Candidates
    everybody: bool


def possible_groups(
    number: int, release: Release, table: KnownPeople, known: str, persons: pl.Series, found: Candidates
) -> PossibleGroups:
    """Return the groups that may hold each of the people in a table, of those ``found`` to admit them."""
    groups = groups_of(release)
    everybody, strangers, counted = attendance(
        release.manifest, int(groups.rows.sum()), int(groups.fakes.sum()), len(table.ids), known
    )
    outside = int(((found.groups.lengths == 0) & ~found.crowded).sum())
    if everybody and outside:
        if release.manifest.promise.is_known:
            raise DataError(
                f"{outside:,} persons fit no group of release {number + 1}",
                file=None if release.source is None else str(place_of(release.source)),
                hint="Is this the snapshot that it was made of? Name releases and snapshots in the same order.",
            )
        everybody = False  # somebody else is in the table instead
    found = replace(found, fits=found.fits + strangers)
    if counted:
        found = exclude_by_counting(found, groups.real, all_published=everybody)
    return PossibleGroups(groups, table.ids, places_in(table.ids, persons), found, everybody)


def view_of(
    number: int,
    release: Release,
    possible: PossibleGroups,
    values: pl.Series,
    texts: pl.Series,
    column: str,
    people: Background,
    row_ids: pl.Series | None,
) -> View:
    """Return a release as the adversary sees it who attacks ``column``."""
    groups, ids = possible.groups, possible.ids
    n_groups = len(groups.numbers)
    # A suppressed value is nobody's to count: its row is a row of the group, and no more.
    hidden = (texts == SUPPRESSED_VALUE).fill_null(False).to_numpy()
    codes = np.full(len(texts), -1, np.int32)
    codes[~hidden] = places_in(texts.filter(pl.Series(~hidden)), values)
    told = groups.index
    if release.batch is not None:
        published, _ = release.group_values()
        place = np.minimum(np.searchsorted(groups.numbers, published), max(n_groups - 1, 0))
        if len(published) and (not n_groups or (groups.numbers[place] != published).any()):
            raise DataError(
                "the two tables of a release do not have the same groups",
                hint="Audit a release as it was published.",
            )
        told = place.astype(np.int32)
    histogram = Histogram.of(told[: len(codes)][~hidden], codes[~hidden], n_groups, max(len(values), 1))
    truth = people.truth_of(number, ids, column)
    return View(
        number,
        release,
        groups.rows,
        groups.fakes,
        histogram.values,
        histogram.counts,
        possible.present,
        possible.candidates.groups,
        possible.candidates.fits,
        possible.candidates.crowded,
        None if truth is None else _codes_of(truth, values),
        groups.index,
        codes if release.batch is None and len(codes) else None,
        row_ids,
        release.manifest.promise,
        possible.everybody,
        told=None if (own_values := people.values[number]) is None else own_values[column],
        value_codes=codes,
        people=people.listed(number),
    )


def values_told(release: Release, column: str) -> pl.Series:
    """Return the sensitive values that a release tells, as texts; none where it does not have the column."""
    _, values = release.group_values()
    if column not in values.columns:
        return pl.Series(column, [], dtype=pl.String)
    return canonical_text(values[column]).alias(column)


def attendance(manifest: Manifest, rows: int, fakes: int, persons: int, known: str) -> tuple[bool, int, bool]:
    """Return whether everybody listed is published, how many rows may be others', and whether counting helps.

    A list as long as the table, or longer, is taken for complete. A shorter one leaves strangers, as many as there
    are rows unless the manifest says that nobody was left out.
    """
    total = rows - fakes
    loose = manifest.counterfeits.total - fakes + manifest.dirty
    nobody_left_out = manifest.suppressed == 0 and manifest.withheld == 0
    counted = known != "nothing" and not loose
    everybody = counted and (persons == total or (persons < total and nobody_left_out))
    strangers = total - persons if everybody else 0 if persons >= total else total
    return everybody, strangers + loose, counted


def _codes_of(truth: tuple[pl.Series, BoolArray], values: pl.Series) -> CodeArray:
    texts, there = truth
    return np.where(there, places_in(texts, values), -1).astype(np.int32)


def changes(views: tuple[View, ...], persons: int, known: str) -> tuple[ChangeArray, ...]:
    """Return whether each person's value is that of their last attendance before."""
    last = np.full(persons, -2, np.int32)  # never there; -1: there, with an unknown value
    found = []
    for view in views:
        if view.truth is None or known not in ("events", "ids"):
            found.append(np.full(len(view.present), -1, np.int8))
            continue
        before = last[view.present]
        unknown = (before < 0) | (view.truth < 0)
        found.append(np.where(unknown, -1, before != view.truth).astype(np.int8))
        last[view.present] = view.truth
    return tuple(found)


def short_list(view: View, *, attends: bool) -> str | None:
    """Warn where far fewer people are given than a release has records: what they say of the others is nothing."""
    return few_given(view.number, int(view.real.sum()), len(view.present)) if attends else None


def few_given(number: int, rows: int, people: int) -> str | None:
    """Warn of so few people for a release with so many records."""
    if people >= FEW * rows:
        return None
    return (
        f"{people:,} people are given for release {number + 1}, which has {rows:,} records: far less is found out "
        "so than with all of them; to attack some people only, give everybody and --sample N"
    )


def nowhere(view: View) -> str | None:
    """Say how many people fit no row of a table that another tool made."""
    many = int(((view.candidates.lengths == 0) & ~view.crowded).sum())
    if not many:
        return None
    return (
        f"{many:,} of the {len(view.present):,} people given fit no row of release {view.number + 1}: they are taken "
        "for people who are not in it"
    )
