"""Cuts by loss, exchanges and groups by assignment: narrower cells, the same model, and no look at a value for k."""

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import ConfigError
from reveil.core.kernels import exchange
from reveil.core.kernels.cuts import CodedRecords
from reveil.core.randomness import Dice
from reveil.grouping.groupers import _dealing
from reveil.grouping.groupers._exchange import SEARCHES, Exchange
from reveil.grouping.widths import attributes_of
from reveil.models.encoding import encode
from reveil.models.statistics import Partition
from reveil.tables.snapshot import read_snapshot
from reveil.testing import hospital

REGIONS = {"North": ["n1", "n2", "n3"], "South": ["s1", "s2", "s3"]}


def people(records=1200, seed=3):
    rng = np.random.default_rng(seed)
    towns = [town for region in REGIONS.values() for town in region]
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, records),
            "town": rng.choice(towns, records),
            "job": rng.choice(list("abcdefgh"), records),
            "disease": rng.choice(list("pqrstuv"), records, p=[0.2, 0.2, 0.2, 0.14, 0.14, 0.06, 0.06]),
        }
    )


def schema(**more):
    return rv.Schema(quasi=("age", "town", "job"), sensitive="disease", hierarchies={"town": REGIONS}, **more)


def gcp(frame, own, model, **settings):
    return rv.measure(frame, rv.anonymize(frame, own, model, rv.Mondrian(**settings), seed=1), own)["gcp"]


@pytest.mark.parametrize(
    "model",
    [
        rv.KAnonymity(5),
        rv.KAnonymity(5) & rv.DistinctDiversity(3),
        rv.FrequencyDiversity(3),
        rv.KAnonymity(7) & rv.FrequencyDiversity(3),
        rv.KAnonymity(5) & rv.TCloseness(0.5),
    ],
    ids=repr,
)
def test_more_effort_never_makes_cells_wider(model):
    frame = people()
    quick, normal, thorough = (gcp(frame, schema(), model, effort=e) for e in ("quick", "normal", "thorough"))
    assert normal < quick
    assert thorough <= normal * 1.02


def test_groups_of_k_alone_do_not_depend_on_sensitive_values():
    frame, rng = people(), np.random.default_rng(0)
    for effort in ("quick", "normal", "thorough"):
        found = []
        for values in (frame["disease"], frame["disease"].gather(rng.permutation(frame.height)), ["x"] * frame.height):
            codes = encode(read_snapshot(frame.with_columns(disease=pl.Series(values)), schema()))
            made = rv.Mondrian(effort=effort).group(codes, rv.KAnonymity(5), Dice.of_seed(7))
            found.append(made.labels.tolist())
        assert found[0] == found[1] == found[2]


def test_exchanges_stay_inside_the_cells_that_are_refined():
    frame = people()
    codes = encode(read_snapshot(frame, schema()))
    halves = np.argsort(frame["age"].to_numpy() % 2, kind="stable").astype(np.int32)
    odd = int((frame["age"] % 2 == 0).sum())
    start = Partition(halves, np.array([0, odd, frame.height], np.int64), frame.height)
    made = rv.Mondrian().refine(codes, rv.KAnonymity(5), Dice.of_seed(1), start)
    for records in np.split(made.order, made.offsets[1:-1]):
        assert len(records) >= 5
        assert len(set(frame["age"].gather(records) % 2)) == 1


def test_a_weight_makes_a_column_narrower():
    frame = people()
    plain, weighted = schema(), schema(weights={"age": 20})
    assert _mean_age_width(frame, weighted) < _mean_age_width(frame, plain)


def _mean_age_width(frame, own):
    table = rv.anonymize(frame, own, rv.KAnonymity(5), seed=1).table["age"].str.strip_chars("[]").str.split(", ")
    return float((table.list.last().cast(pl.Int64) - table.list.first().cast(pl.Int64)).mean())


def test_dealt_groups_have_different_values():
    frame = people()
    codes = encode(read_snapshot(frame, schema()))
    plan = Exchange.under(rv.FrequencyDiversity(4), 1, attributes_of(codes.quasi), SEARCHES["normal"])
    assert plan.rule == exchange.SHARE
    records = CodedRecords(codes.matrix(), codes.values(), np.arange(frame.height, dtype=np.int32))
    half = frame.height // 2
    nodes = np.array([0, half]), np.array([half, frame.height])
    good = _dealing.divisible(plan, records, *nodes)
    assert good.all()
    starts, ends, cells = _dealing.dealt(plan, records, *nodes, np.array([3, 7]))
    assert sorted(records[2].tolist()) == list(range(frame.height))
    assert (codes.matrix()[records[2]] == records.rows).all()
    assert starts.tolist() == [0, *ends[:-1].tolist()]
    assert ends[-1] == frame.height
    assert set(cells[ends <= half]) == {3}  # nobody leaves a cell
    assert set(cells[ends > half]) == {7}
    for start, end in zip(starts, ends, strict=True):
        assert end - start >= 4
        assert len(set(records.values[start:end, 0].tolist())) == end - start


def test_a_cell_of_a_hierarchy_is_the_set_of_what_occurs_or_one_label():
    frame = pl.DataFrame({"town": ["n1", "n2", "n2", "s1", "s2", "s3"], "disease": list("abcabc")})
    own = rv.Schema(quasi="town", sensitive="disease", hierarchies={"town": REGIONS})
    labels = rv.Schema(quasi="town", sensitive="disease", hierarchies={"town": REGIONS}, cells={"town": "label"})
    tight, label = (rv.anonymize(frame, s, rv.KAnonymity(3), seed=1) for s in (own, labels))
    assert sorted(set(tight.table["town"])) == ["{n1, n2}", "{s1, s2, s3}"]
    assert sorted(set(label.table["town"])) == ["North", "South"]
    # Measures and questions count leaves: 3 of North or South against 2 and 3 that occur.
    assert rv.measure(frame, tight, own)["gcp"] == pytest.approx((3 * 1 + 3 * 2) / 5 / 6)
    assert rv.measure(frame, label, labels)["gcp"] == pytest.approx(2 / 5)
    assert tight.count("town = North", own).estimate == 3
    assert tight.count("town = n3", own).upper == 0
    assert label.count("town = n3", labels).estimate == pytest.approx(1)


def test_an_adversary_reads_sets_of_labels():
    frame = next(iter(hospital.year(400, months=1)))
    own = hospital.schema()
    release = rv.anonymize(frame, own, rv.KAnonymity(5) & rv.DistinctDiversity(3), seed=1)
    found = rv.audit([release], own, truth=[frame])
    assert found.summary["persons"] == frame.height


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"cells": {"town": "narrow"}}, "cells must be"),
        ({"cells": {"age": "label"}}, "no quasi column with a hierarchy"),
    ],
)
def test_cells_that_mean_nothing_are_refused(settings, words):
    with pytest.raises(ConfigError, match=words):
        schema(**settings)


def test_settings_of_the_method():
    assert rv.Mondrian().parameters()["effort"] == "normal"
    assert rv.Mondrian().parameters()["choose"] == "loss"
    assert rv.Mondrian(effort="quick").parameters()["choose"] == "width"
    with pytest.raises(ConfigError, match="unknown effort"):
        rv.Mondrian(effort="hard")
    with pytest.raises(ConfigError, match="relaxed"):
        rv.Mondrian(cut="relaxed", choose="loss")
