"""Independent verification: is the published table what was promised, and is it the snapshot's?

This package shares nothing with the code that grouped or recoded the table. It reads published cells, turns them
back into codes of the snapshot, counts again and asks the model again. Three things are checked:

1. the table has the columns, rows and counterfeits it should have (:mod:`~reveil.verification.shape`);
2. every group satisfies the model (:mod:`~reveil.verification.judgement`). A group is what the column ``group`` says,
   where there is one, else a class: rows with equal generalised cells;
3. the published rows that are not counterfeit are the snapshot's records, each inside its box and with its own
   values: row by row where the publisher says which row is whose (:mod:`~reveil.verification.rows`), else by
   searching an assignment of all rows to records (:mod:`~reveil.verification.search`). Where boxes are nested, each
   record must be in the innermost box that holds it.

A release without a column ``group`` may carry finer classes than a reader can see (two classes with equal cells). Its
model is union-closed, so a verdict on the finer ones holds for what the reader sees. A model that is not needs the
column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reveil.admitted import admitted_codes
from reveil.codes import Codes, encode
from reveil.errors import VerificationError
from reveil.groups import groups_of
from reveil.verification.judgement import (
    check_groups,
    describe_group,
    group_statistics,
    published_values,
    with_distances,
)
from reveil.verification.rows import check_placement, check_rows
from reveil.verification.sample import check_sample, is_sample
from reveil.verification.search import check_assignment, check_beyond, check_two_tables, deepest_levels
from reveil.verification.shape import check_counterfeits, check_description, check_shape

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from reveil.models.base import Model
    from reveil.release import Release
    from reveil.snapshot import Snapshot

__all__ = ["describe_group", "group_statistics", "verify", "with_distances"]


def verify(
    release: Release,
    snapshot: Snapshot,
    model: Model,
    *,
    codes: Codes | None = None,
    placement: npt.NDArray[np.integer] | None = None,
    dirty: int = 0,
    loose: int = 0,
) -> None:
    """Raise :class:`VerificationError` unless the release is a sound publication of the snapshot.

    ``placement[row]`` is the record that row publishes, -1 for a counterfeit. Without it an assignment is searched.
    ``codes`` may be handed over where the caller has them. The last ``dirty`` records of the snapshot are those of
    people who were not asked for, where the caller knows them; else as many rows as the manifest counts may be theirs.
    ``loose`` rows may show another value than the snapshot has, where nobody says which row is whose.
    """
    codes = encode(snapshot) if codes is None else codes
    if placement is not None and release.manifest["dirty"] != dirty:
        raise VerificationError("the manifest counts other dirty records than there are")
    check_shape(release, snapshot, dirty=dirty)
    groups = groups_of(release)
    check_counterfeits(release, groups)
    if placement is not None:
        check_placement(release, snapshot, placement, groups)
    # A release may tell the t that it reaches although nobody asked for one: then that is checked, too.
    claimed = release.manifest["achieved"].get("t")
    distances = claimed if isinstance(claimed, dict) else {}
    read = model.tags.reads_values or bool(distances)
    told = published_values(release, snapshot, codes, placement, loose=loose > 0) if read else {}
    check_description(release, snapshot, codes, groups)
    stats = group_statistics(
        release, {name: own.codes for name, own in told.items()}, {name: own.reference() for name, own in told.items()}
    )
    achieved = with_distances(check_groups(release, model, stats, groups), stats, distances)
    if is_sample(release):
        achieved = {**achieved, **check_sample(release, codes)}
    if achieved != release.manifest["achieved"]:
        raise VerificationError("the manifest claims another level than the table", hint=f"The table has {achieved}.")
    # Whose records the dirty rows are is known when publishing only: their values need not be in the snapshot.
    beyond = placement is None and release.manifest["dirty"] > 0
    admitted = {a.name: admitted_codes(release.cells[a.name], a, beyond=beyond) for a in codes.quasi}
    check_beyond(release, admitted)
    deepest = deepest_levels(release, codes, admitted)
    if placement is not None:
        check_rows(release, snapshot, codes, admitted, placement, groups, deepest)
    elif release.batch is not None:
        check_two_tables(release, release.batch, snapshot, codes, admitted, groups)
    else:
        check_assignment(release, snapshot, codes, admitted, groups, loose=loose, deepest=deepest)
