"""Independent verification: is the published table what was promised, and is it the snapshot's?

The judge shares with the publisher the reading of bytes, the schema with its hierarchies, and nothing else: no model,
no code of values, no grouper, no kernel. It takes the published bytes and the snapshot, and counts by the definitions:

1. the table has the columns, rows and counterfeits it should have (:mod:`~reveil.verification.shape`);
2. every group keeps what was promised: what the manifest promises, which must not be weaker than what was asked for
   (:mod:`~reveil.verification.promised`, one judge per promise in :mod:`~reveil.verification.judges`). A group is what
   the column ``group`` says, where there is one, else a class: rows with equal generalised cells;
3. the published rows that are not counterfeit are the snapshot's records, each inside its box and with its own
   values: row by row where the publisher says which row is whose (:mod:`~reveil.verification.rows`), else by
   searching an assignment of all rows to records (:mod:`~reveil.verification.search`), unless an archived placement
   is one (:mod:`~reveil.verification.archived`). Where boxes are nested, each record must be in the innermost box that
   holds it;
4. records are what their rows say, where rows are put together or values made coarser before anything else
   (:mod:`~reveil.verification.raw_rows`);
5. the file tells nothing beside its cells (:mod:`~reveil.verification.surface`);
6. the release keeps the rule of its series (:mod:`~reveil.verification.series`).

A release without a column ``group`` may carry finer classes than a reader can see (two classes with equal cells). Its
promise is union-closed, so a verdict on the finer ones holds for what the reader sees. One that is not needs the
column.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from reveil.core.errors import VerificationError
from reveil.core.json_values import object_in, thawed
from reveil.releases.table import GROUP
from reveil.verification.archived import proves
from reveil.verification.cells import line_of
from reveil.verification.columns import check_whole, views
from reveil.verification.counting import GroupCounts, PublishedGroups, counts_of, described, groups_of
from reveil.verification.geometry import innermost
from reveil.verification.judges.t_closeness import TCloseness
from reveil.verification.promised import Promised, same_levels, together
from reveil.verification.raw_rows import check_raw
from reveil.verification.rows import check_placement, check_rows
from reveil.verification.sample import check_sample, is_sample
from reveil.verification.search import check_assignment, check_beyond, check_two_tables
from reveil.verification.shape import check_boxes, check_counterfeits, check_description, check_domains, check_shape
from reveil.verification.surface import check_order, check_sets

if TYPE_CHECKING:
    from reveil.releases.release import Release
    from reveil.tables.snapshot import Snapshot
    from reveil.verification.arrays import AnyInts, Bools

__all__ = ["Promised", "verify"]


def verify(
    release: Release,
    snapshot: Snapshot,
    asked: object,
    *,
    placement: AnyInts | None = None,
    archived: AnyInts | None = None,
    dirty: int = 0,
    loose: int = 0,
    excused: Bools | None = None,
) -> None:
    """Raise :class:`VerificationError` unless the release is a sound publication of the snapshot.

    ``asked`` is what was asked for: a :class:`Promised`, with which the manifest is compared, or a model, and then
    groups alone are judged. ``placement[row]`` is the record that row publishes, -1 for a counterfeit. Without it an
    assignment is searched, unless an ``archived`` placement, for which nobody vouches, shows that there is one. The
    last ``dirty`` records of the snapshot are those of people who were not asked for, where the caller knows them; else
    as many rows as the manifest counts may be theirs. ``excused`` rows, or so many ``loose`` ones where nobody says
    which row is whose, may show another value than the snapshot has.
    """
    wanted = asked.of_release(release) if isinstance(asked, Promised) else Promised.of_model(asked)
    if release.seconds:
        check_raw(release, snapshot)
        check_whole(release, snapshot, wanted)
        known = placement is not None
        for view, seen_as, promised, rows in views(release, snapshot, wanted, placement if known else archived):
            placed, shown = (rows, None) if known else (None, rows)
            _check_table(view, seen_as, promised, placed, shown, dirty, 0, None)
    else:
        _check_table(release, snapshot, wanted, placement, archived, dirty, loose, excused)
    if placement is not None:
        check_order(placement)


def _check_table(
    release: Release,
    snapshot: Snapshot,
    wanted: Promised,
    placement: AnyInts | None,
    archived: AnyInts | None,
    dirty: int,
    loose: int,
    excused: Bools | None,
) -> None:
    """Refuse a release, or what it shows of one of several sensitive columns; see :func:`verify`."""
    manifest = release.manifest
    if placement is not None and manifest.dirty != dirty:
        raise VerificationError("the manifest counts other dirty records than there are")
    check_shape(release, snapshot, dirty=dirty)
    check_raw(release, snapshot)
    groups = groups_of(release)
    check_counterfeits(release, groups)
    if placement is not None:
        check_placement(release, snapshot.frame.height, placement, groups)
    reached = manifest.achieved.get("t")
    distances = tuple(reached) if isinstance(reached, Mapping) else ()
    told = wanted
    if wanted.kind is not None:
        told = Promised.told(manifest.promise.guarantee())
    values = wanted.reads_values or told.reads_values or bool(distances)
    fakes = manifest.counterfeits.total > 0
    foreign = fakes or loose > 0 or excused is not None or (placement is None and manifest.dirty > 0)
    counts = counts_of(release, groups, snapshot, values=values, foreign=foreign)
    check_description(release, snapshot, groups)
    check_domains(release, snapshot.schema)
    check_boxes(release, groups)
    for promise in (wanted, told) if told is not wanted else (wanted,):
        _check_groups(release, promise, counts, groups)
    if wanted.kind is not None:
        told.judge.check_manifest(manifest, told, wanted, snapshot.schema, snapshot.frame.height - dirty)
    _check_achieved(release, told, counts, snapshot, distances)
    # Whose records the dirty rows are is known when publishing only: their values need not be in the snapshot.
    beyond = placement is None and manifest.dirty > 0
    numbered = (
        line_of(snapshot.frame[name], snapshot.schema[name], release.cells[name], beyond=beyond)
        for name in snapshot.schema.quasi
    )
    check_sets(release, snapshot.schema)
    if placement is not None and release.levels is None:
        check_rows(release, snapshot, numbered, placement, groups, None, excused)  # one column at a time
        return
    lines = list(numbered)
    check_beyond(release, lines)
    deepest = innermost(release, lines)
    if placement is not None:
        check_rows(release, snapshot, lines, placement, groups, deepest, excused)
        return
    if archived is not None and proves(
        archived, release, snapshot, lines, groups, empty=manifest.dirty + loose, deepest=deepest
    ):
        return
    if release.batch is not None:
        check_two_tables(release, release.batch, snapshot, lines, groups)
    else:
        check_assignment(release, snapshot, lines, groups, loose=loose, deepest=deepest)


def _check_groups(release: Release, promised: Promised, counts: GroupCounts, groups: PublishedGroups) -> None:
    """Refuse a release of which a group does not keep a promise, with the first group that does not."""
    for demand in promised.demands:
        if release.groups is None and not demand.union_closed:
            raise VerificationError(
                f"{demand!r} cannot be judged on this table, which has no column {GROUP!r}",
                hint="Groups with equal boxes are one group to a reader, and the promise does not survive that union.",
            )
        good = demand.holds(counts)
        if not good.all():
            worst = described(release, groups, int(np.flatnonzero(~good)[0]))
            raise VerificationError(
                f"the group {worst} does not satisfy {demand!r}",
                hint=f"{int((~good).sum()):,} of {len(good):,} groups fail.",
            )


def _check_achieved(
    release: Release, promised: Promised, counts: GroupCounts, snapshot: Snapshot, distances: tuple[str, ...]
) -> None:
    """Compare the levels that the manifest tells with those that were counted."""
    achieved = together([demand.achieved(counts) for demand in promised.demands])
    # A release may tell the t that it reaches although nobody asked for one: then that is counted, too.
    known = object_in(achieved.get("t", {}))
    more = [name for name in distances if name in counts.tallies and name not in known]
    for name in more:
        known = {**known, **object_in(TCloseness(1, name).achieved(counts)["t"])}
    if more:
        achieved = {**achieved, "t": known}
    if is_sample(release):
        achieved = {**achieved, **check_sample(release, snapshot)}
    if not same_levels(achieved, {key: thawed(level) for key, level in release.manifest.achieved.items()}):
        raise VerificationError("the manifest claims another level than the table", hint=f"The table has {achieved}.")
