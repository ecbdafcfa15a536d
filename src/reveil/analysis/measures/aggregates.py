"""The few numbers about a release that a series keeps when it is published: cheap, and of nobody in particular."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reveil.analysis.measures.base import Subject
from reveil.analysis.measures.columns import MeasuredColumn, weights_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.core.json_values import JSON
    from reveil.models.encoding import Attribute
    from reveil.releases.release import Release
    from reveil.tables.snapshot import Snapshot


def aggregates(snapshot: Snapshot, release: Release, quasi: Sequence[Attribute] | None = None) -> dict[str, JSON]:
    """Measure what needs no query: records, group sizes, and the mean width of a cell, over all and by column.

    ``quasi`` are the codes of the snapshot, where the caller has them already. ``gcp`` is as in
    :class:`~reveil.analysis.measures.certainty.Certainty`, and the weighted mean of the columns' own. None where the
    release generalises no column.
    """
    subject = Subject(snapshot, release)
    columns = subject.columns
    if quasi is not None:
        foreign = subject.fakes + subject.dirty > 0
        columns = tuple(
            MeasuredColumn(attribute, release.cells[attribute.name], subject.class_rows, foreign=foreign)
            for attribute in quasi
            if attribute.name in release.cells
        )
    sizes, groups = np.unique(subject.group_rows, return_counts=True)
    real = subject.class_real
    widths = {
        column.attribute.name: (float(column.per_cell(real) @ column.widths) + subject.left_out) / subject.accounted
        for column in columns
    }
    weights = weights_of(columns) if columns else []
    return {
        "records": subject.records,
        "group_sizes": {"size": sizes.tolist(), "groups": groups.tolist()},
        "gcp": sum(w * width for w, width in zip(weights, widths.values(), strict=True)) / len(widths)
        if widths
        else None,
        "columns": widths,
    }
