"""What every model and every grouper must satisfy. The suite of Reveil runs these over everything registered."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from reveil.core.arrays import offsets_of
from reveil.core.errors import ConfigError, InfeasibleError
from reveil.core.randomness import Dice
from reveil.grouping.groupers.base import Grouper, check_feasible, check_plan
from reveil.models.distinct_diversity import DistinctDiversity
from reveil.models.encoding import Codes, encode
from reveil.models.k_anonymity import KAnonymity
from reveil.models.statistics import GroupStats, Histogram, Partition
from reveil.models.t_closeness import TCloseness
from reveil.tables.snapshot import read_snapshot
from reveil.testing.strategies import Table, group_statistics, tables

if TYPE_CHECKING:
    from reveil.models.base import Model

QUICK = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))


def check_model(model: Model) -> None:
    """Search for a counterexample to anything that a model says of itself."""
    twin = copy.deepcopy(model)
    assert model == twin, "a model is equal to one with the same parameters"
    assert hash(model) == hash(twin)
    json.dumps(model.parameters())
    assert not model.sentence().endswith("."), "a sentence is put into another one"

    @QUICK
    @given(group_statistics(groups=3))
    def consistent(stats: GroupStats) -> None:
        verdict = model.verdict(stats)
        assert verdict.shape == model.measure(stats).shape == (3,)
        assert not (verdict & (stats.sizes > 0) & (stats.sizes < model.minimum_size)).any(), "minimum_size is a bound"
        json.dumps(model.achieved(stats))
        # The order of the groups and the way the records were split do not matter.
        assert (model.verdict(stats.merge(GroupStats.empty(3, {"s": 5}))) == verdict).all()

    @QUICK
    @given(group_statistics(groups=2))
    def closed(stats: GroupStats) -> None:
        both, one = model.verdict(stats), model.verdict(stats.whole())
        if model.tags.union_closed and both.all():
            assert one.all(), "the union of valid groups is valid"
        if model.tags.monotone and (both & (stats.sizes > 0)).any():
            assert one.all(), "a superset of a valid group is valid"

    @QUICK
    @given(group_statistics(groups=2))
    def blind(stats: GroupStats) -> None:
        if not model.tags.reads_values:
            assert (model.verdict(GroupStats(stats.sizes)) == model.verdict(stats)).all()

    @QUICK
    @given(group_statistics(groups=1), st.data())
    def sure(stats: GroupStats, data: st.DataObject) -> None:
        values = np.repeat(stats.histograms["s"].codes, stats.histograms["s"].counts)
        some = data.draw(st.lists(st.sampled_from(range(len(values))), unique=True)) if len(values) else []
        part = Histogram.of(np.zeros(len(some), np.int64), values[some], 1, stats.histograms["s"].domain)
        size = np.array([len(some)], np.int64)
        try:
            certain = model.surely(size, stats)
        except ConfigError:
            return  # the model says in words that it cannot tell
        if certain[0]:
            assert model.verdict(GroupStats(size, {"s": part}, stats.table))[0], "every part of that size is valid"

    consistent()
    closed()
    blind()
    sure()


def check_grouper(grouper: Grouper) -> None:
    """Every record in one group, every group valid, the same dice the same partition; else a refusal with a reason."""
    models: list[Model] = [KAnonymity(1), KAnonymity(3), KAnonymity(2) & DistinctDiversity(2)]
    json.dumps(grouper.parameters())

    @QUICK
    @given(tables(), st.sampled_from([*models, KAnonymity(2) & TCloseness(0.3)]), st.integers(0, 3))
    def sound(table: Table, model: Model, seed: int) -> None:
        assume(table.schema.sensitive or not model.tags.reads_values)
        codes = encode(read_snapshot(table.frame, table.schema))
        try:
            check_plan(grouper, model)
            check_feasible(codes, model)
            first, again = (grouper.group(codes, model, Dice.of_seed(seed)) for _ in range(2))
        except InfeasibleError:
            assert not model.verdict(statistics_of(codes, one_group(codes))).all()
            return
        except ConfigError:
            return  # the grouper says in words that it cannot handle such tables
        placed = np.bincount(first.order, minlength=codes.n)
        assert placed.max(initial=0) <= 1, "no record is doubled"
        assert grouper.suppresses or (placed == 1).all(), "no record is lost"
        assert (first.sizes > 0).all(), "no group is empty"
        assert model.verdict(statistics_of(codes, first)).all(), "every group is valid"
        assert (first.order == again.order).all(), "the same dice give the same partition"
        assert (first.offsets == again.offsets).all()

    @QUICK
    @given(tables(), st.sampled_from(models), st.integers(0, 3), st.sampled_from(["counted", "blind"]))
    def refined(table: Table, model: Model, seed: int, grade: str) -> None:
        assume(table.schema.sensitive or not model.tags.reads_values)
        codes = encode(read_snapshot(table.frame, table.schema))
        start = _valid_parts(codes, model, Dice.of_seed(seed))
        try:
            inner = grouper.refine(codes, model, Dice.of_seed(seed), start, blind=grade == "blind")
        except ConfigError:
            return
        assert grouper.suppresses or np.array_equal(np.sort(inner.order), np.sort(start.order)), "nobody comes or goes"
        assert (inner.sizes > 0).all(), "no group is empty"
        assert model.verdict(statistics_of(codes, inner)).all(), "every group is valid"
        first = start.labels[inner.order[inner.offsets[:-1]]]
        assert (np.repeat(first, inner.sizes) == start.labels[inner.order]).all(), "groups stay inside their part"

    sound()
    refined()


def _valid_parts(codes: Codes, model: Model, rng: Dice) -> Partition:
    """Return those of a few random parts of the records that are valid."""
    labels = rng.generator().integers(0, 3, codes.n)
    order = np.argsort(labels, kind="stable").astype(np.int32)
    parts = [order[labels[order] == part] for part in range(3) if (labels == part).any()]
    sizes = [len(part) for part in parts]
    start = Partition(order, offsets_of(sizes), codes.n)
    good = [part for part, valid in zip(parts, model.verdict(statistics_of(codes, start)), strict=True) if valid]
    kept = np.concatenate([order[:0], *good])
    return Partition(kept, offsets_of([len(p) for p in good]), codes.n)


def one_group(codes: Codes) -> Partition:
    """Return the partition that has all the records in one group."""
    return Partition(np.arange(codes.n, dtype=np.int32), np.array([0, codes.n], np.int64), codes.n)


def statistics_of(codes: Codes, partition: Partition) -> GroupStats:
    """Count a partition anew, from the records."""
    records = partition.order
    labels = partition.labels[records]
    histograms = {a.name: Histogram.of(labels, a.codes[records], partition.n_groups, a.domain) for a in codes.sensitive}
    return GroupStats(np.bincount(labels, minlength=partition.n_groups), histograms, codes.references(records))
