"""The same question to all releases of a series, in their order."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from reveil.analysis.questions import read
from reveil.core.errors import InputError
from reveil.releases.answers import Crosstab, ReleaseTrend, TrendPoint
from reveil.releases.release import Release

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reveil.tables.schema import Schema


def trend(
    releases: Iterable[Release | str | os.PathLike[str]], question: str, schema: Schema | None = None
) -> ReleaseTrend:
    """Ask every release the same: an expression (its count), ``mean(COLUMN) EXPR`` or ``quantile(COLUMN, q) EXPR``.

    ``releases`` are releases or paths of their files. Each answer stands for itself. People are mostly the same from
    release to release and cells are others each time, so the answers are neither independent nor off in the same way: a
    change that is smaller than the intervals is no finding.
    """
    asked, expression = read(question)
    points: list[TrendPoint] = []
    native = "polars"
    for given in releases:
        release = given if isinstance(given, Release) else Release.read(os.fspath(given))
        answer = asked.of(release, expression, schema)
        if isinstance(answer, Crosstab):
            raise InputError("a trend is of one number", hint="Ask a count, a mean or a quantile.")
        native = release.native if not points else native
        points.append(TrendPoint(release.manifest.release, release.manifest.created, answer))
    if not points:
        raise InputError("a trend needs at least one release", hint="Pass the releases of a series, in their order.")
    return ReleaseTrend(tuple(points), native)
