"""From a frame to a verified release, over all kinds of tables."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil import hospital
from reveil.guarantees.static import prepare_static
from reveil.publishing import generator
from reveil.snapshot import read_snapshot
from reveil.testing import tables
from reveil.verification import verify
from tests.plain_reader import groups_of, rows_of

quick = settings(deadline=None, suppress_health_check=list(HealthCheck))
MODELS = [
    rv.KAnonymity(1),
    rv.KAnonymity(3),
    rv.KAnonymity(2) & rv.DistinctDiversity(2),
    rv.FrequencyDiversity(1.5),
    rv.EntropyDiversity(1.5),
    rv.RecursiveDiversity(c=2, l=2),
    rv.KAnonymity(2) & rv.TCloseness(0.3, distance="equal"),
]


@quick
@given(
    tables(),
    st.sampled_from(MODELS),
    st.sampled_from(rv.Mondrian.examples()),
    st.sampled_from([0.0, 0.3]),
    st.integers(0, 5),
)
def test_every_release_is_what_it_says(tmp_path_factory, table, model, method, suppress, seed):
    assume(table.schema.sensitive or not (model.tags.reads_values or method.choose == "gain"))
    try:
        release = rv.anonymize(table.frame, table.schema, model, method, suppress=suppress, seed=seed)
    except rv.InfeasibleError:
        return
    quasi, sensitive = table.schema.quasi, table.schema.sensitive
    manifest = release.manifest
    assert "pid" not in release.columns
    assert manifest["rows"] == release.table.height == table.frame.height - manifest["suppressed"]
    assert manifest["suppressed"] <= suppress * table.frame.height

    folder = tmp_path_factory.mktemp("release")
    snapshot = read_snapshot(table.frame, table.schema)
    for name in ("x.csv", "x.parquet"):
        release.write(folder / name)
        again = rv.Release.read(folder / name)
        assert again.text.equals(release.text)
        verify(again, snapshot, model)

    # A judge from outside: the standard library, the text of the file and the definitions.
    sizes, values = groups_of((folder / "x.csv").read_text(), quasi, sensitive)
    assert len(sizes) == manifest["groups"]
    if model.minimum_size > 1:
        assert min(sizes.values()) >= model.minimum_size
    for part in model.parts:
        if isinstance(part, rv.DistinctDiversity):
            assert all(len(counts) >= part.l for group in values.values() for counts in group.values())
        if isinstance(part, rv.FrequencyDiversity):
            assert all(max(c.values()) * part.l <= sizes[key] for key, g in values.items() for c in g.values())


@quick
@given(tables(), st.integers(0, 3))
def test_the_same_seed_gives_the_same_bytes(tmp_path_factory, table, seed):
    folder = tmp_path_factory.mktemp("twice")
    for method in (rv.Mondrian(), rv.Mondrian(cut="relaxed")):
        for suffix in ("csv", "parquet"):
            one, two = (
                rv.anonymize(table.frame, table.schema, rv.KAnonymity(1), method, seed=seed).write(
                    folder / f"{i}.{suffix}"
                )
                for i in "ab"
            )
            assert one.read_bytes() == two.read_bytes()


def test_rows_are_shuffled_and_without_a_seed_never_the_same_way():
    frame = pl.DataFrame({"age": range(500), "disease": [f"d{i}" for i in range(500)]})
    schema = rv.Schema(quasi="age", sensitive="disease")
    orders = [rv.anonymize(frame, schema, rv.KAnonymity(1)).table["age"].cast(int).to_list() for _ in range(3)]
    assert len({tuple(order) for order in orders}) == 3
    for order in orders:
        assert sorted(order) == list(range(500))
        assert abs(np.corrcoef(order, range(500))[0, 1]) < 0.25


def test_seeds_are_judged():
    for seed in (1.5, "x", True):
        with pytest.raises(rv.ConfigError, match="seed"):
            generator(seed)


@pytest.mark.parametrize(
    ("convert", "kind"),
    [
        (lambda f: f, pl.DataFrame),
        (lambda f: f.lazy(), pl.DataFrame),
        (lambda f: f.to_pandas(), pd.DataFrame),
        (lambda f: f.to_arrow(), pa.Table),
    ],
    ids=["polars", "lazy", "pandas", "pyarrow"],
)
def test_frames_come_back_in_the_callers_type(convert, kind):
    frame = hospital.month(200, seed=3)
    release = rv.anonymize(convert(frame), hospital.schema(), rv.KAnonymity(5), seed=1)
    assert isinstance(release.table, kind)
    expected = rv.anonymize(frame, hospital.schema(), rv.KAnonymity(5), seed=1)
    assert pl.DataFrame(release.table)["age"].to_list() == expected.table["age"].to_list()
    if kind is pd.DataFrame:
        assert release.table.groupby(["age", "sex", "town"]).size().min() >= 5


def test_a_frame_with_an_arrow_stream_is_enough():
    class Stream:
        def __init__(self, frame):
            self.frame = frame

        def __arrow_c_stream__(self, requested_schema=None):
            return self.frame.__arrow_c_stream__(requested_schema)

    release = rv.anonymize(Stream(hospital.month(100)), hospital.schema(), rv.KAnonymity(5))
    assert release.table.height == 100


def test_infeasible_tables_are_refused_with_what_they_reach():
    frame = pl.DataFrame({"age": range(8), "disease": ["flu"] * 7 + ["gout"]})
    schema = rv.Schema(quasi="age", sensitive="disease")
    with pytest.raises(rv.InfeasibleError, match=r"k=9.*\n.*k = 8") as caught:
        rv.anonymize(frame, schema, rv.KAnonymity(9))
    assert caught.value.exit_code == 1
    with pytest.raises(rv.InfeasibleError, match=r"l = 1\.14"):
        rv.anonymize(frame, schema, rv.FrequencyDiversity(2))
    with pytest.raises(rv.InfeasibleError) as caught:
        rv.anonymize(frame, schema, rv.DistinctDiversity(3))
    assert "flu" not in str(caught.value)
    assert "gout" not in str(caught.value)


def test_suppression_leaves_out_the_widest_groups_and_counts_them():
    # 200 people in two dense places and 4 scattered ones, who force a coarse group.
    near = [(x % 10, x // 10 % 10) for x in range(100)]
    points = near + [(x + 90, y + 90) for x, y in near] + [(10, 99), (99, 10), (40, 50), (60, 45)]
    frame = pl.DataFrame({"x": [x for x, _ in points], "y": [y for _, y in points], "s": ["a", "b"] * 102})
    schema = rv.Schema(quasi=["x", "y"], sensitive="s")
    full = rv.anonymize(frame, schema, rv.KAnonymity(4), seed=1)
    some = rv.anonymize(frame, schema, rv.KAnonymity(4), suppress=0.05, seed=1)
    assert full.manifest["suppressed"] == 0
    assert 0 < some.manifest["suppressed"] <= 0.05 * 204
    assert some.manifest["rows"] == 204 - some.manifest["suppressed"] == some.table.height
    assert widest(some) < widest(full)
    with pytest.raises(rv.ConfigError, match="suppress"):
        rv.anonymize(frame, schema, rv.KAnonymity(4), suppress=1.0)


def widest(release):
    spans = [release.typed[c].struct.field("hi") - release.typed[c].struct.field("lo") for c in ("x", "y")]
    return max(a + b for a, b in zip(*spans, strict=True))


def test_the_grade_says_whether_values_were_read():
    frame, schema = hospital.month(300), hospital.schema()
    grades = {
        (model, method): rv.anonymize(frame, schema, model, method).manifest["guarantee"]["grade"]
        for model in (rv.KAnonymity(5), rv.KAnonymity(5) & rv.DistinctDiversity(2))
        for method in (rv.Mondrian(), rv.Mondrian(choose="gain"))
    }
    assert sorted(grades.values()) == ["blind", "counted", "counted", "counted"]
    assert grades[rv.KAnonymity(5), rv.Mondrian()] == "blind"


@quick
@given(tables(max_sensitive=1), st.randoms(use_true_random=False))
def test_a_blind_grouping_does_not_change_with_the_values(table, random):
    """Permuting sensitive values over persons changes nothing but the values: the boxes are the same."""
    assume(table.schema.sensitive)
    values = table.frame["s0"].to_list()
    random.shuffle(values)
    other = table.frame.with_columns(pl.Series("s0", values, dtype=table.frame["s0"].dtype))
    quasi = list(table.schema.quasi)
    assume(table.frame.height >= 3)
    for method in (rv.Mondrian(), rv.Mondrian(cut="relaxed", choose="degeneracy")):
        one, two = (
            rv.anonymize(f, table.schema, rv.KAnonymity(3), method, seed=1, suppress=0.2).text.select(quasi)
            for f in (table.frame, other)
        )
        assert one.equals(two)


def test_several_sensitive_columns_are_all_kept():
    frame = hospital.month(400).with_columns(pl.col("ward").alias("unit"))
    schema = rv.Schema(
        person="pid",
        identifiers="name",
        quasi=["age", "sex", "income"],
        sensitive=["diagnosis", "unit"],
        plain=["town", "admitted", "ward"],
    )
    release = rv.anonymize(frame, schema, rv.KAnonymity(4) & rv.DistinctDiversity(3), seed=2)
    for name in ("diagnosis", "unit"):
        per_group = release.text.group_by("age", "sex", "income").agg(pl.col(name).n_unique())
        assert per_group[name].min() >= 3


def test_the_manifest_is_json_without_seed_or_raw_values():
    frame, schema = hospital.month(300), hospital.schema()
    release = rv.anonymize(frame, schema, rv.KAnonymity(5), seed=123456789)
    text = json.dumps(release.manifest)
    assert "123456789" not in text
    assert not any(name in text for name in frame["name"])
    assert {c["name"] for c in release.manifest["columns"]} == set(schema.quasi) | set(schema.sensitive)


def test_bins_judge_and_exact_values_are_published():
    frame = pl.DataFrame({"age": [i // 4 for i in range(40)], "income": [1000 + i for i in range(40)]})
    schema = rv.Schema(quasi="age", sensitive="income", bins={"income": 4})
    release = rv.anonymize(frame, schema, rv.DistinctDiversity(3), seed=1)
    assert sorted(release.table["income"].cast(int)) == frame["income"].to_list()
    # Ten incomes a bin: three bins need groups that reach across at least twelve neighbours.
    assert release.manifest["groups"] == 1
    exact = rv.anonymize(frame, rv.Schema(quasi="age", sensitive="income"), rv.DistinctDiversity(3), seed=1)
    assert exact.manifest["groups"] == 10


def test_placements_are_the_published_order():
    frame, schema = hospital.month(150), hospital.schema()
    prepared = prepare_static(read_snapshot(frame, schema), rv.KAnonymity(5), rv.Mondrian(), generator(4))
    expected = frame["diagnosis"].gather(prepared.placement)
    assert prepared.release.values["diagnosis"].equals(expected)


def test_rows_of_a_csv_are_one_line_each(tmp_path):
    frame = pl.DataFrame({"age": [1, 2, 3], "note": ["a\nb", "=cmd()", "c,d"]})
    release = rv.anonymize(frame, rv.Schema(quasi="age", sensitive="note"), rv.KAnonymity(3), seed=1)
    text = release.write(tmp_path / "x.csv").read_text()
    assert text.count("\n") == 4
    assert {row["note"] for row in rows_of(text)} == {'"a\\nb"', '"=cmd()"', "c,d"}
