"""Is kept what is promised of sets of people who are told apart? k, diversity and closeness, as an attack sees them.

A bound on a belief is compared with what attacks believe (:mod:`reveil.adversary.judging`). The limits here are about
whom a release, or all of them together, do not tell from each other:

* *link*, in one release: the rows that may be a person's are at least k.
* *link*, in the series: the people who were in the same groups, or absent, in every release are at least k. Judged
  where it is known exactly who they are.
* *value*, in one release: the model holds in the group of everybody whose group is found. Somebody who may be in
  several groups has the values of all of them, which decides distinct diversity and nothing else.

Groups with a suppressed value are not judged by their values: it may be any.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import numpy as np

from reveil.adversary.cells import ABSENT, UNSURE
from reveil.models.base import ValueModel
from reveil.models.distinct_diversity import DistinctDiversity
from reveil.models.encoding import encode_sensitive
from reveil.models.statistics import GroupStats, Histogram, Reference
from reveil.models.t_closeness import TCloseness
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from reveil.adversary.evidence import Evidence
    from reveil.adversary.view import View
    from reveil.core.arrays import BoolArray, CodeArray, IntArray
    from reveil.core.json_values import JSON
    from reveil.models.base import Model
    from reveil.models.limits import Limit

# The attack whose findings a limit of this kind speaks of: without it, nothing is judged.
ATTACKS = {("link", "release"): "linkage", ("link", "series"): "intersection", ("value", "release"): "homogeneity"}
TOLERANCE = 1e-9


@dataclass(frozen=True)
class LimitTrial:
    """How far a limit was tried: ``persons`` are those who are beyond it in release ``at``, with ``level`` reached.

    ``worst`` is the level farthest from (or beyond) the limit: the largest chance to find a row, or what the model
    measures. ``judged``: whether there was anything to judge; ``why`` not else.
    """

    limit: Limit
    attack: str
    releases: tuple[int, ...]
    persons: CodeArray = field(repr=False)
    at: CodeArray = field(repr=False)
    chance: np.typing.NDArray[np.float64] = field(repr=False)
    worst: float | None
    judged: bool = True
    why: str | None = None

    @property
    def many(self) -> int:
        """How many persons are beyond the limit."""
        return len(np.unique(self.persons))

    def to_json(self) -> dict[str, JSON]:
        """Return what is told of it."""
        return {
            "says": self.limit.says,
            "about": self.limit.about,
            "over": self.limit.over,
            "attack": self.attack,
            "at_most": self.limit.at_most,
            "worst": None if self.worst is None or not np.isfinite(self.worst) else self.worst,
            "releases": [number + 1 for number in self.releases],
            "persons": self.many,
            "held": self.many == 0 if self.judged else None,
            **({} if self.why is None else {"why": self.why}),
        }


def kept(evidence: Evidence, attacks: set[str]) -> list[LimitTrial]:
    """Judge the limits about people who are not told apart that one of these attacks speaks of."""
    views_of_limit: dict[Limit, list[View]] = {}
    for view in evidence.views:
        for limit in view.limits:
            views_of_limit.setdefault(limit, []).append(view)
    found = []
    for limit, views in views_of_limit.items():
        attack = limit.attack or ATTACKS.get((limit.about, limit.over), "")
        if attack in attacks and _concerned(limit, evidence.column):
            found.append(_linked(limit, views) if limit.about == "link" else _valued(evidence, limit, views))
    for limit in evidence.limits:
        attack = limit.attack or ATTACKS.get((limit.about, limit.over), "")
        if attack in attacks and limit.about == "link" and limit.model is not None:
            found.append(_in_cells(evidence, limit))
    return found


def _concerned(limit: Limit, column: str) -> bool:
    return not isinstance(limit.model, ValueModel) or limit.model.concerns(column)


def _linked(limit: Limit, views: list[View]) -> LimitTrial:
    """Compare the chance to find a row with the largest that is promised."""
    persons, at, chances, worst = [], [], [], 0.0
    for view in views:
        rows = view.candidates.reduce(np.add, view.sizes[view.candidates.items])
        chance = np.where(rows > 0, 1 / np.maximum(rows, 1), 0.0)
        worst = max(worst, float(chance.max(initial=0.0)))
        beyond = np.flatnonzero(chance > (1.0 if limit.at_most is None else limit.at_most) + TOLERANCE)
        persons.append(view.present[beyond])
        at.append(np.full(len(beyond), view.number, np.int32))
        chances.append(chance[beyond])
    return _put_together(limit, "linkage", views, persons, at, chances, worst)


def _valued(evidence: Evidence, limit: Limit, views: list[View]) -> LimitTrial:
    """Let the model measure the values of the groups in which people are found."""
    model = cast("Model", limit.model)  # whoever asks for this has one
    if isinstance(model, TCloseness) and _needs_snapshot(evidence) and any(view.told is None for view in views):
        nobody = _put_together(limit, "homogeneity", views, [], [], [], None)
        return LimitTrial(
            **{**nobody.__dict__, "judged": False, "why": "bins are made of the snapshot, which is not given"}
        )
    persons, at, shares, levels = [], [], [], []
    for view in views:
        if not len(view.codes):
            continue  # a release without the sensitive column tells no value
        shown = view.histogram(max(len(evidence.values), 1))
        stats = statistics(evidence, view, shown, view.sizes, exact=isinstance(model, TCloseness))
        found = view.only >= 0
        group = view.only[found]
        open_ = ~view.veiled[group]
        valid, level = model.verdict(stats), model.measure(stats)
        levels.append(level[group[open_]])
        beyond = np.flatnonzero(found)[open_ & ~valid[group]]
        if isinstance(model, DistinctDiversity):
            beyond = np.concatenate([beyond, _few_values(view, model.l)])
        top = np.zeros(view.n_groups)
        np.maximum.at(top, view.values.owners(), view.counts)
        persons.append(view.present[beyond])
        at.append(np.full(len(beyond), view.number, np.int32))
        only = view.only[beyond]
        shares.append(np.where(only >= 0, top[only] / np.maximum(view.sizes[only], 1), np.nan))
    reached = np.concatenate([np.zeros(0), *levels])
    smaller = getattr(model, "smaller_is_better", False)
    worst = None if not len(reached) else float(reached.max() if smaller else reached.min())
    return _put_together(limit, "homogeneity", views, persons, at, shares, worst)


def _put_together(
    limit: Limit,
    attack: str,
    views: list[View],
    persons: Sequence[npt.NDArray[np.generic]],
    at: Sequence[npt.NDArray[np.generic]],
    chance: Sequence[npt.NDArray[np.generic]],
    worst: float | None,
) -> LimitTrial:
    nobody = np.zeros(0, np.int32)
    return LimitTrial(
        limit,
        attack,
        tuple(view.number for view in views),
        np.concatenate([nobody, *persons]).astype(np.int32),
        np.concatenate([nobody, *at]).astype(np.int32),
        np.concatenate([np.zeros(0), *chance]),
        worst,
    )


def _needs_snapshot(evidence: Evidence) -> bool:
    return evidence.schema is not None and isinstance(evidence.schema[evidence.column].bins, int)


def statistics(evidence: Evidence, view: View, histogram: Histogram, sizes: IntArray, *, exact: bool) -> GroupStats:
    """Return sets of people and their values as a model reads them; ``exact``: with how the values relate.

    A model that compares with the whole table compares with what the release publishes.
    """
    name = evidence.column
    if not exact or evidence.schema is None:
        return GroupStats(sizes, {name: histogram})
    typed = view.told if view.told is not None else view.release.group_values()[1][name]
    attribute = encode_sensitive(typed, evidence.schema[name])
    code_of = dict(zip(canonical_text(typed).to_list(), attribute.codes.tolist(), strict=True))
    codes = np.array([code_of.get(text, 0) for text in evidence.values.to_list()], np.int64)
    published = np.bincount(codes[view.codes], view.counts, attribute.domain).astype(np.int64)
    related = Histogram.of_counts(
        histogram.groups, codes[histogram.codes], histogram.counts, histogram.n_groups, attribute.domain
    )
    return GroupStats(sizes, {name: related}, {name: Reference(published, attribute.ordered, attribute.levels)})


def _few_values(view: View, least: int) -> IntArray:
    """Return who may be in several groups that have fewer than so many values together."""
    many = view.candidates.lengths
    bad = (view.values.lengths < least) & ~view.veiled
    several = np.flatnonzero(many > 1)
    if not len(several) or not bad.any():
        return np.zeros(0, np.int64)
    row, place = view.candidates.places(several)
    groups = view.candidates.items[place]
    all_bad = np.bincount(row, bad[groups], len(several)) == many[several]
    chosen = several[all_bad]
    row, place = view.candidates.places(chosen)
    inner, value = view.values.places(view.candidates.items[place])
    pairs = np.unique(row[inner] * (int(view.codes.max(initial=0)) + 1) + view.codes[value])
    distinct = np.bincount(pairs // (int(view.codes.max(initial=0)) + 1), minlength=len(chosen))
    few: IntArray = chosen[distinct < least]
    return few


def _in_cells(evidence: Evidence, limit: Limit) -> LimitTrial:
    """Judge the people who were in the same groups in every release, where it is known exactly who they are."""
    cell, size, known = person_cells(evidence)
    sizes = np.where(known, size, 0)
    valid = np.ones(len(size), np.bool_) if limit.model is None else limit.model.verdict(GroupStats(sizes))
    bad = np.flatnonzero((cell >= 0) & ~np.append(valid, True)[cell])
    last = np.zeros(len(evidence.persons), np.int32)
    for view in evidence.views:
        last[view.present] = view.number
    worst = float((1 / size[known]).max()) if known.any() else None
    return LimitTrial(
        limit,
        "intersection",
        tuple(view.number for view in evidence.views),
        bad.astype(np.int32),
        last[bad],
        1 / np.maximum(size[cell[bad]], 1),
        worst,
    )


def person_cells(evidence: Evidence) -> tuple[IntArray, IntArray, BoolArray]:
    """Return the cell of each person (-1: not known), the size of each, and whether all its members are known.

    They are, if in one of the releases everybody in the group of the cell is known, and of all of these it is known
    where they were in the other releases. Where counterfeits or records that were not asked for stand among the
    others, nothing is concluded.
    """
    persons, views = len(evidence.persons), evidence.views
    where = np.full((len(views), persons), ABSENT, np.int64)
    for view in views:
        where[view.number, view.present] = np.where(view.sure >= 0, view.sure, UNSURE)
    manifests = [view.release.manifest for view in views]
    extras = any(manifest.counterfeits.total or manifest.dirty for manifest in manifests)
    sure = (where != UNSURE).all(axis=0) & (where >= 0).any(axis=0) & (not extras)
    cell = np.full(persons, -1, np.int64)
    if not sure.any():
        return cell, np.zeros(0, np.int64), np.zeros(0, np.bool_)
    label = np.zeros(int(sure.sum()), np.int64)
    for groups in where[:, sure]:
        key = groups - ABSENT
        _, label = np.unique(label * (int(key.max()) + 1) + key, return_inverse=True)
    cell[sure] = label
    _, first, size = np.unique(label, return_index=True, return_counts=True)
    known = np.zeros(len(size), np.bool_)
    for view, groups in zip(views, where, strict=True):
        doubtful = np.zeros(view.n_groups, np.bool_)
        doubtful[groups[(groups >= 0) & ~sure]] = True
        group = groups[sure][first]
        known |= (group >= 0) & np.append(view.known_members & ~doubtful, False)[group]
    return cell, size.astype(np.int64), known
