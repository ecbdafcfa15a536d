"""What can be judged of a release without its snapshot: its groups, and what its manifest says of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from reveil.core.errors import VerificationError
from reveil.releases.column_views import column_views
from reveil.tables.joint import joint_schema
from reveil.verification.counting import GroupCounts, Tally, coded, described, groups_of
from reveil.verification.shape import check_boxes, check_counterfeits
from reveil.verification.surface import check_sets

if TYPE_CHECKING:
    from reveil.releases.release import Release
    from reveil.tables.schema import Schema
    from reveil.verification.promised import Promised


def check_alone(release: Release, schema: Schema, promised: Promised) -> None:
    """Refuse a release of which a group does not keep the promise, or whose sets are in no order.

    Values that are judged in bins cannot be judged without the snapshot, and are left out.
    """
    if release.seconds:
        joint = joint_schema(schema, tuple(table.parts for table in release.seconds if len(table.parts) > 1))
        for view, second in zip(column_views(release), release.seconds, strict=True):
            others = [name for name in joint.sensitive if name != second.name]
            frame = joint.with_columns(column for column in joint.columns if column.name not in others)
            check_alone(view, frame, promised.of_column(second.name))
        return
    schema, promised = schema.in_bins(), promised.of_release(release)
    groups = groups_of(release)
    check_counterfeits(release, groups)
    check_boxes(release, groups)
    check_sets(release, schema)
    number, values = release.group_values()
    place = groups.of_row if release.batch is None else np.searchsorted(groups.numbers, number).astype(np.int32)
    tallies = {}
    for name in schema.sensitive:
        if name not in values.columns or schema[name].bins is not None:
            continue
        code, scale = coded(values[name], values[name], replace(schema[name], bins=None), foreign=True)
        tallies[name] = Tally.of(place, code, len(groups.numbers), scale)
    counts = GroupCounts(groups.rows, tallies)
    for demand in promised.demands:
        if demand.reads_values and len(tallies) < len(schema.sensitive):
            continue
        good = demand.holds(counts)
        if not good.all():
            worst = described(release, groups, int(np.flatnonzero(~good)[0]))
            raise VerificationError(f"the group {worst} does not satisfy {demand!r}")
