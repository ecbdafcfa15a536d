"""What the groups of a release reach, as the publisher counts it: the levels that a manifest tells.

Verification counts again, with code of its own, and compares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reveil.core.json_values import object_in
from reveil.models.statistics import GroupStats, Histogram
from reveil.models.t_closeness import TCloseness
from reveil.releases.groups import renumbered

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reveil.core.arrays import CodeArray
    from reveil.core.json_values import JSON
    from reveil.models.statistics import Reference
    from reveil.releases.table import PublishedTable


def group_statistics(
    release: PublishedTable,
    values: Mapping[str, CodeArray],
    references: Mapping[str, Reference],
    *,
    placed: bool = False,
) -> GroupStats:
    """Count sizes and sensitive values per group, groups in the order of their numbers.

    ``values`` has one code per published sensitive value, in the order of :meth:`Release.group_values`, or with
    ``placed`` in the order of the rows. Counterfeits are values like others.
    """
    rows = release.classes if release.groups is None else release.groups
    numbers, groups = renumbered(rows if placed else release.group_values()[0])
    n_groups = len(numbers)
    sizes = np.bincount(groups, minlength=n_groups).astype(np.int64)
    histograms = {
        name: Histogram.of(groups, column_values, n_groups, len(references[name].counts))
        for name, column_values in values.items()
    }
    return GroupStats(sizes, histograms, dict(references))


def with_distances(achieved: dict[str, JSON], stats: GroupStats, names: Iterable[str]) -> dict[str, JSON]:
    """Add the ``t`` that is reached in some attributes, in their own distance, to what the model says of others."""
    known = object_in(achieved.get("t", {}))
    more = {
        name: object_in(TCloseness(1, attribute=name).achieved(stats)["t"])[name]
        for name in names
        if name in stats.histograms and name not in known
    }
    return {**achieved, "t": {**known, **more}} if more else achieved
