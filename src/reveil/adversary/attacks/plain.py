"""Plain-column linkage: columns published as they are connect a person's rows over releases."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from reveil.adversary.attacks.base import BITS, ONE, Attack, Findings, joined, mask_of
from reveil.releases.parsing import classes_of
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from reveil.adversary.evidence import Evidence
    from reveil.adversary.view import View
    from reveil.core.arrays import CodeArray

AT_ONCE = 20_000  # persons
MOST_GROUPS = 64  # groups of one person whose rows are compared


class Plain(Attack):
    """Rows of a person's groups that agree in the plain columns with a row of every other release they are in.

    The adversary takes it that a plain column is a person's for good (a blood type); where the snapshots are given,
    columns that change are left out, else all are taken. What remains of the rows gives the belief; one value left is
    certain if that assumption is true.
    """

    name: ClassVar[str] = "plain"

    def run(self, evidence: Evidence, rng: np.random.Generator) -> Findings:
        """Return one finding for each person and release that plain columns say something about."""
        columns = _unchanged_columns(evidence)
        usable = [view for view in evidence.views if view.row_codes is not None][-BITS:]
        if not columns:
            return Findings.not_made("no plain column is in all the releases and stays the same for everybody")
        if len(usable) < 2:
            return Findings.not_made(ONE)
        marks = _marks(usable, columns)
        parts = [_portion(evidence, usable, marks, start) for start in range(0, len(evidence.persons), AT_ONCE)]
        return joined(parts, {"columns": columns})


def _unchanged_columns(evidence: Evidence) -> list[str]:
    """Return the plain columns that all releases have and in which nobody is known to have changed."""
    if evidence.schema is None:
        return []
    return [
        name
        for name in evidence.schema.plain
        if all(name in view.release.values.columns for view in evidence.views) and name not in evidence.restless
    ]


def _marks(views: list[View], columns: list[str]) -> list[CodeArray]:
    """Number the combinations of the plain columns; return those of the rows of each view."""
    ends = np.cumsum([len(view.row_groups) for view in views])[:-1]
    texts = [pl.concat([canonical_text(view.release.values[name]) for view in views]) for name in columns]
    codes = [text.rank("dense").fill_null(0).to_numpy().astype(np.int64) for text in texts]
    return list(np.split(classes_of(list(codes), len(texts[0]))[0], ends))


def _portion(evidence: Evidence, views: list[View], marks: list[CodeArray], start: int) -> Findings:
    """Look at some persons: the rows of their candidate groups, and the marks that occur in every release."""
    tables = []
    for view, mark in zip(views, marks, strict=True):
        rows = pl.DataFrame({"group": view.row_groups, "mark": mark, "value": view.row_codes})
        mine = (view.present >= start) & (view.present < start + AT_ONCE)
        sizes = view.candidates.lengths
        # Whoever may be anywhere, or nowhere, is not narrowed by this release.
        told = np.flatnonzero(mine & (sizes > 0) & (sizes <= MOST_GROUPS) & (view.all_published | (view.sure >= 0)))
        who, place = view.candidates.places(told)
        seats = pl.DataFrame({"person": view.present[told][who], "group": view.candidates.items[place]})
        counted = seats.join(rows, on="group").group_by("person", "mark", "value").len("rows")
        tables.append(counted.with_columns(view=pl.lit(view.number, pl.Int32)))
    table = pl.concat(tables)
    attended = table.group_by("person").agg(pl.col("view").n_unique().alias("views"))
    marked = table.group_by("person", "mark").agg(pl.col("view").n_unique().alias("seen"))
    kept = marked.join(attended, on="person").filter((pl.col("seen") == pl.col("views")) & (pl.col("views") > 1))
    left = table.join(kept.select("person", "mark"), on=["person", "mark"])
    left = left.group_by("person", "view", "value").agg(pl.col("rows").sum())
    left = left.with_columns(total=pl.col("rows").sum().over("person", "view"))
    named = left.filter(pl.col("value") >= 0)  # a suppressed value may be any
    best = named.sort("person", "view", "rows", "value", descending=[False, False, True, False])
    best = best.unique(["person", "view"], keep="first", maintain_order=True)
    seen = table.select("person", "view").unique()
    bits = np.array([mask_of(evidence, number) for number in range(len(evidence.views))], np.int64)
    masks = seen.with_columns(bit=pl.Series(bits[seen["view"].to_numpy()])).group_by("person").agg(pl.col("bit").sum())
    best = best.join(masks, on="person", maintain_order="left")
    belief = (best["rows"] / best["total"]).to_numpy()
    return Findings(
        best["person"].to_numpy().astype(np.int32),
        belief,
        best["value"].to_numpy().astype(np.int32),
        belief >= 1,
        best["bit"].to_numpy().astype(np.int64),
        at=best["view"].to_numpy().astype(np.int32),
    )
