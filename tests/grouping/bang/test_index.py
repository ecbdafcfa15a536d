"""The index of BangA: many cuts of one table, records that come and go, counts."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.models.encoding import encode
from reveil.tables.snapshot import read_snapshot
from reveil.testing import hospital, tables
from reveil.testing.contracts import statistics_of
from reveil.verification import verify

quick = settings(deadline=None, max_examples=25)


def records(index, partition):
    """The groups as sets of row ids, which last."""
    ids = index._ids
    return {frozenset(ids[own].tolist()) for own in np.split(partition.order, partition.offsets[1:-1])}


def persons(table):
    return table.frame["pid"].to_list()


@quick
@given(tables(max_rows=30, max_quasi=3, max_sensitive=1), st.integers(1, 3), st.booleans(), st.data())
def test_cuts_stay_valid_while_records_come_and_go(table, block, nested, data):
    n = table.frame.height
    first = data.draw(st.integers(1, n))
    index = rv.BangA(block=block, form="nested" if nested else "compact").fit(table.frame.head(first), table.schema)
    here = set(persons(table)[:first])
    rest = table.frame.slice(first)
    while rest.height:
        step = data.draw(st.integers(1, rest.height))
        index.insert(rest.head(step))
        here |= set(rest["pid"].head(step))
        rest = rest.slice(step)
        gone = data.draw(st.lists(st.sampled_from(sorted(here)), unique=True, max_size=len(here) - 1))
        if gone:
            index.delete(gone)
            here -= set(gone)
    now = table.frame.filter(pl.col("pid").is_in(sorted(here)))
    assert len(index) == now.height
    k = data.draw(st.integers(1, now.height))
    release = index.cut(k, seed=1)
    assert release.manifest["rows"] == now.height
    assert release.manifest["achieved"]["k"] >= k
    verify(release, read_snapshot(now, table.schema), rv.KAnonymity(k))
    sizes = [index.groups(k).n_groups for k in range(1, now.height + 1)]
    assert nested or sizes == sorted(sizes, reverse=True), "a larger k never gives more groups"
    with pytest.raises(rv.InfeasibleError):
        index.cut(now.height + 1)


def test_one_index_serves_many_models_and_every_cut_is_a_release():
    frame, schema = hospital.month(800), hospital.schema()
    index = rv.BangA(block=5).fit(frame, schema)
    assert "800 records" in repr(index)
    codes = encode(read_snapshot(frame, schema))
    for model in (
        rv.KAnonymity(3),
        rv.KAnonymity(60),
        rv.KAnonymity(5) & rv.DistinctDiversity(3),
        rv.FrequencyDiversity(3),
        rv.TCloseness(0.4),
    ):
        groups = index.groups(model)
        assert model.verdict(statistics_of(codes, groups)).all()
        release = index.cut(model, seed=2)
        assert release.manifest["guarantee"]["method"] == {"kind": "bang", **rv.BangA(block=5).parameters()}
        assert release.manifest["guarantee"]["grade"] == ("counted" if model.tags.reads_values else "blind")
        assert release.manifest["groups"] <= groups.n_groups
    assert index.cut(10, seed=3).text.equals(index.cut(rv.KAnonymity(10), seed=3).text)
    assert index.cut(7, seed=3).text.equals(rv.anonymize(frame, schema, rv.KAnonymity(7), rv.BangA(), seed=3).text)
    with pytest.raises(rv.ConfigError, match="a k or a model"):
        index.cut("ten")
    with pytest.raises(rv.ConfigError, match="whole number"):
        index.cut(0)


def blocks(index):
    """Return the records of each block, by its number."""
    ids, offsets = index._file.records()
    own = [frozenset(ids[a:b].tolist()) for a, b in itertools.pairwise(offsets)]
    return dict(zip(index._file.numbers.tolist(), own, strict=True))


@pytest.mark.parametrize("model", [rv.KAnonymity(9), rv.KAnonymity(5) & rv.DistinctDiversity(3)], ids=repr)
def test_insertion_is_local(model):
    frame, schema = hospital.month(1_200), hospital.schema()
    index = rv.BangA(block=4).fit(frame.head(1_150), schema)
    before, untouched = records(index, index.groups(model)), blocks(index)
    index.cut(model)
    index.insert(frame.slice(1_150))
    touched = {record for number, own in blocks(index).items() if own != untouched.get(number) for record in own}
    after = records(index, index.groups(model))
    assert all(own in after for own in before if not own & touched), "a group without a touched block stays"
    assert len(before & after) > 0.6 * len(before)
    index.cut(model)
    changed = sum(len(own) for own in before - after)
    assert 0 < index.churn() <= changed / 1_150


def test_without_change_there_is_no_churn_and_another_k_has_some():
    frame, schema = hospital.month(300), hospital.schema()
    index = rv.BangA().fit(frame, schema)
    with pytest.raises(rv.InputError, match="two cuts"):
        index.churn()
    index.cut(5)
    index.cut(5)
    assert index.churn() == 0
    index.cut(40)
    assert index.churn() > 0.9
    index.delete(frame["pid"].head(299))
    index.insert(frame.head(299))
    index.cut(5)
    assert index.churn() in (0, 1), "who was taken out and put in again is another record"


def test_deletion_reaches_no_further_than_it_must():
    frame, schema = hospital.month(1_000), hospital.schema()
    index = rv.BangA(block=4).fit(frame, schema)
    before = records(index, index.groups(8))
    index.delete(frame["pid"].tail(10).to_list())
    after = records(index, index.groups(8))
    assert len(before & after) > 0.8 * len(before)
    assert min(len(own) for own in after) >= 8


def test_a_new_tree_mends_what_much_change_has_spoilt():
    frame, schema = hospital.month(2_000), hospital.schema()
    index = rv.BangA(block=2).fit(frame.head(400), schema)
    for start in range(400, 2_000, 200):
        index.insert(frame.slice(start, 200))
        index.delete(frame["pid"].slice(start - 400, 180))
    now = frame.filter(pl.col("pid").cast(pl.String).is_in(index._persons().to_list()))
    spoilt, mended = index.cut(10), (index.renew(), index.cut(10))[1]
    assert rv.measure(now, mended, schema)["gcp"] < 0.9 * rv.measure(now, spoilt, schema)["gcp"]


def test_new_values_and_categories_may_come():
    frame = pl.DataFrame(
        {"age": [30, 31, 40, 41] * 3, "job": ["nurse", "cook", "cook", None] * 3, "s": list("abcd") * 3}
    )
    more = pl.DataFrame({"age": [5, 99, 35, None], "job": ["smith", "smith", "baker", "nurse"], "s": list("efgh")})
    schema = rv.Schema(quasi=["age", "job"], sensitive="s")
    for form in ("compact", "nested"):
        index = rv.BangA(block=2, form=form).fit(frame, schema)
        index.insert(more)
        index.insert(more.with_columns(job=pl.lit("smith")))  # now the most frequent one: it is ranked first
        release = index.cut(3)
        assert release.manifest["rows"] == 20
        assert release.manifest["achieved"] == {"k": release.manifest["achieved"]["k"]}
        assert index.count("job = smith").estimate == 6


def test_numbers_may_become_fractions_and_other_types_are_refused():
    schema = rv.Schema(person="pid", quasi="age", sensitive="s", plain="note")
    frame = pl.DataFrame({"pid": [1, 2, 3], "age": [1, 2, 3], "s": list("abc"), "note": ["x"] * 3})
    index = rv.BangA(block=1).fit(frame, schema)
    index.insert(pl.DataFrame({"pid": [4, 5], "age": [2.5, 4.0], "s": list("ab"), "note": ["x"] * 2}))
    assert index.cut(1).manifest["rows"] == 5
    with pytest.raises(rv.DataError, match="column 'age'"):
        index.insert(pl.DataFrame({"pid": [9], "age": ["old"], "s": ["a"], "note": ["x"]}))
    with pytest.raises(rv.DataError, match="column 'note'"):
        index.insert(pl.DataFrame({"pid": [9], "age": [1], "s": ["a"], "note": [1.5]}))
    with pytest.raises(rv.DataError, match="2 of these persons are in the index already"):
        index.insert(pl.DataFrame({"pid": [9, 1, 2], "age": [1, 2, 3], "s": list("abc"), "note": ["x"] * 3}))
    assert len(index) == 5


def test_only_persons_who_are_there_can_be_deleted():
    frame = pl.DataFrame({"pid": ["a", "b"], "age": [1, 2], "s": ["x", "y"]})
    index = rv.BangA().fit(frame, rv.Schema(person="pid", quasi="age", sensitive="s"))
    with pytest.raises(rv.DataError, match="1 of these persons are not"):
        index.delete(["a", "c"])
    assert len(index) == 2
    index.delete(["a", "b", "b"])
    with pytest.raises(rv.DataError, match="no record"):
        index.cut(1)
    index.insert(frame)
    assert index.cut(2).manifest["groups"] == 1
    nobody = rv.BangA().fit(frame.drop("pid"), rv.Schema(quasi="age", sensitive="s"))
    with pytest.raises(rv.ConfigError, match="by person only"):
        nobody.delete(["a"])


def test_counts_are_exact():
    frame, schema = hospital.month(400), hospital.schema()
    index = rv.BangA().fit(frame, schema)
    index.delete(frame["pid"].head(50))
    asked = index.count("age in [30, 60] and sex = f")
    true = frame.slice(50).filter(pl.col("age").is_between(30, 60) & (pl.col("sex") == "f")).height
    assert (asked.estimate, asked.lower, asked.upper) == (true, true, true)
    published = index.cut(5).count("age in [30, 60] and sex = f")
    assert published.lower <= true <= published.upper
