"""Similarity: different values that mean nearly the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import polars as pl

from reveil.adversary.attacks.base import Attack, Findings, joined
from reveil.adversary.beliefs import FloatArray, believed, likeliest
from reveil.core.arrays import IntArray, offsets_of
from reveil.models.encoding import is_ordered
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from reveil.adversary.evidence import Evidence
    from reveil.adversary.view import View

WIDTH = 0.1  # of the range of a number: closer values are taken as similar


class Similarity(Attack):
    """Belief that a value lies in one node of the sensitive taxonomy, or within a tenth of the range of a number.

    The node is the best of those between root and leaves, the stretch the best of a tenth of the whole range; the
    value of a finding is one that lies in it. A column that is neither is not attacked.
    """

    name: ClassVar[str] = "similarity"
    about: ClassVar[Literal["value", "ever", "range"]] = "range"

    def run(self, evidence: Evidence, rng: np.random.Generator) -> Findings:
        """Return one finding for each person and release in which their group is known."""
        rank, stretches = _similar_ranges(evidence)
        if not stretches:
            return Findings.not_made("the column has neither a hierarchy nor an order that says which values are alike")
        parts = []
        for view in evidence.views:
            best, value = np.zeros(view.n_groups), np.full(view.n_groups, -1, np.int32)
            for first, last in stretches:
                share = _similar_shares(view, rank, first, last)
                top, codes = likeliest(view.values, share)
                better = top > best
                best[better], value[better] = top[better], codes[better]
            parts.append(believed(evidence, view, None, best, value))
        return joined(parts)


def _similar_ranges(evidence: Evidence) -> tuple[IntArray, list[tuple[IntArray, IntArray]]]:
    """Return the place of each value on a line, and the first and last place of those similar to it, per level."""
    size = len(evidence.values)
    taxonomy = None if evidence.schema is None else evidence.schema[evidence.column].taxonomy
    if taxonomy is not None:
        leaf = {text: place for place, text in enumerate(taxonomy.leaves)}
        place = np.array([leaf.get(text, -1) for text in evidence.values], np.int64)
        # Null, and values that the tree does not know, are like no other.
        rank = np.where(place < 0, len(leaf) + np.arange(size), place)
        levels = [taxonomy.levels[level][np.maximum(place, 0)] for level in range(1, taxonomy.levels.shape[0] - 1)]
        return rank, [
            (np.where(place < 0, rank, taxonomy.lo[node]), np.where(place < 0, rank, taxonomy.hi[node]))
            for node in levels
        ]
    dtypes = [view.release.group_values()[1].schema.get(evidence.column) for view in evidence.views]
    if not all(dtype is not None and is_ordered(dtype) for dtype in dtypes):
        return np.zeros(0, np.int64), []
    typed = pl.concat([view.release.group_values()[1][evidence.column].to_physical() for view in evidence.views])
    texts = pl.concat([canonical_text(view.release.group_values()[1][evidence.column]) for view in evidence.views])
    known = pl.DataFrame({"text": texts, "number": typed.cast(pl.Float64)}).unique("text")
    joined_ = pl.DataFrame({"text": evidence.values}).join(known, on="text", how="left", maintain_order="left")
    number = joined_["number"].to_numpy()
    order = np.argsort(number, kind="stable")  # what is no number comes last
    rank = np.empty(size, np.int64)
    rank[order] = np.arange(size)
    ascending = number[order]
    width = WIDTH * (np.nanmax(number) - np.nanmin(number)) if np.isfinite(number).any() else 0.0
    last = np.searchsorted(ascending[np.isfinite(ascending)], number + width, side="right") - 1
    return rank, [(rank, np.where(np.isfinite(number), last, rank))]


def _similar_shares(view: View, rank: IntArray, first: IntArray, last: IntArray) -> FloatArray:
    """Return, for each value of each group, the share of the group's rows that lie in the stretch of this value."""
    owners = view.values.owners()
    room = int(rank.max(initial=0)) + 2
    keys = owners * room + rank[view.codes]
    order = np.argsort(keys)
    sums = offsets_of(view.counts[order])
    start = np.searchsorted(keys[order], owners * room + first[view.codes], side="left")
    end = np.searchsorted(keys[order], owners * room + last[view.codes], side="right")
    share: FloatArray = (sums[end] - sums[start]) / np.maximum(view.sizes[owners], 1)
    return share
