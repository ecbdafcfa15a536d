"""From a frame to a verified release, over all kinds of tables."""

import csv
import hashlib
import io
import json
import pickle
from collections import Counter
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.core import randomness as dice
from reveil.core.randomness import Dice
from reveil.tables.snapshot import read_snapshot
from reveil.testing import hospital, tables
from reveil.verification import verify
from tests.made import made_alone
from tests.plain_reader import groups_of, rows_of

quick = settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))
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


@settings(quick, max_examples=12)
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


def test_many_numbers_are_shuffled_as_fairly_as_few(monkeypatch):
    monkeypatch.setattr(dice, "_CACHED", 2)
    monkeypatch.setattr(dice, "_BUCKETS", 3)
    rng = Dice.of_seed(1)
    orders = Counter(tuple(dice.shuffled(rng.child("trial", n), np.arange(4, dtype=np.int32))) for n in range(24_000))
    assert len(orders) == 24
    # Every order 1,000 times on average, with a deviation of 31.
    assert all(800 < count < 1200 for count in orders.values())


def test_seeds_are_judged():
    for seed in (1.5, "x", True):
        with pytest.raises(rv.ConfigError, match="seed"):
            Dice.of_seed(seed)


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


def test_suppression_leaves_out_who_stretches_a_group_and_counts_them():
    # Two dense places of a hundred people, and three people far from both.
    near = [(x % 10, x // 10 % 10) for x in range(100)]
    points = near + [(x + 90, y + 90) for x, y in near] + [(10, 99), (99, 10), (55, 45)]
    frame = pl.DataFrame({"x": [x for x, _ in points], "y": [y for _, y in points], "s": ["a"] * 203})
    schema = rv.Schema(quasi=["x", "y"], sensitive="s")
    full = rv.anonymize(frame, schema, rv.KAnonymity(8), seed=1)
    some = rv.anonymize(frame, schema, rv.KAnonymity(8), suppress=0.05, seed=1)
    assert full.manifest["suppressed"] == 0
    assert 0 < some.manifest["suppressed"] <= 0.05 * 203
    assert some.manifest["rows"] == 203 - some.manifest["suppressed"] == some.table.height
    ncp = [rv.measure(frame, release, schema)["ncp"] for release in (full, some)]
    assert ncp[1] < ncp[0], "what is left out counts fully, and still it was worth it"
    with pytest.raises(rv.ConfigError, match="suppress"):
        rv.anonymize(frame, schema, rv.KAnonymity(4), suppress=1.0)


def test_nobody_is_left_out_where_it_is_not_worth_it():
    frame = pl.DataFrame({"age": range(1000), "s": ["a"] * 1000})
    release = rv.anonymize(frame, rv.Schema(quasi="age", sensitive="s"), rv.KAnonymity(10), suppress=0.5, seed=1)
    assert release.manifest["suppressed"] == 0


@quick
@given(tables(max_sensitive=1), st.sampled_from(MODELS[1:4]), st.integers(0, 3))
def test_suppression_never_loses_more_than_it_saves(table, model, seed):
    assume(table.schema.sensitive or not model.tags.reads_values)
    assume(
        not any(
            table.schema[name].taxonomy or table.frame[name].dtype in (pl.String, pl.Boolean)
            for name in table.schema.quasi
        )
    )
    assume(not any(table.frame[name].null_count() for name in table.schema.quasi))
    try:
        full = rv.anonymize(table.frame, table.schema, model, seed=seed)
    except rv.InfeasibleError:
        return
    some = rv.anonymize(table.frame, table.schema, model, suppress=0.4, seed=seed)
    before, after = (rv.measure(table.frame, release, table.schema)["ncp"] for release in (full, some))
    assert after <= before + 1e-9


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
    text = json.dumps(release.manifest.to_json())
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
    prepared = made_alone(read_snapshot(frame, schema), rv.KAnonymity(5), rv.Mondrian(), Dice.of_seed(4))
    expected = frame["diagnosis"].gather(prepared.placement)
    assert prepared.release.values["diagnosis"].equals(expected)


def test_rows_of_a_csv_are_one_line_each(tmp_path):
    frame = pl.DataFrame({"age": [1, 2, 3], "note": ["a\nb", "=cmd()", "c,d"]})
    release = rv.anonymize(
        frame, rv.Schema(quasi="age", sensitive="note", compare={"note": "exact"}), rv.KAnonymity(3), seed=1
    )
    text = release.write(tmp_path / "x.csv").read_text()
    assert text.count("\n") == 4
    assert {row["note"] for row in rows_of(text)} == {'"a\\nb"', '"=cmd()"', "c,d"}


@pytest.mark.parametrize(
    "method", [rv.Mondrian(effort="quick"), rv.Mondrian(recode="anatomy")], ids=["boxes", "anatomy"]
)
def test_a_release_carries_no_bytes_of_what_was_not_published_and_no_raw_order(method):
    """Gathered text shares its buffer with the raw column; a pickled or streamed release must not."""
    long = [f"a rather long diagnosis number {i:03}" for i in range(7)]
    frame = pl.DataFrame({"age": [1, 1, 1, 2, 2, 2, 90], "s": long})
    schema = rv.Schema(quasi="age", sensitive="s")
    release = rv.anonymize(frame, schema, rv.KAnonymity(3) & rv.DistinctDiversity(3), method, suppress=0.2, seed=1)
    if method.recode == "boxes":
        assert release.manifest["suppressed"] == 1
    published = release.group_values()[1]["s"]
    stream = io.BytesIO()
    pl.DataFrame({"s": published}).write_ipc(stream, compression="uncompressed")
    for data in (pickle.dumps(release), stream.getvalue()):
        assert all((value.encode() in data) == (value in set(published)) for value in long)
    places = [stream.getvalue().index(value.encode()) for value in published]
    assert places == sorted(places), "the bytes lie in the published order"


@pytest.mark.parametrize("zone", ["Africa/Monrovia", "Europe/Dublin", "Asia/Kolkata"])
def test_moments_with_odd_offsets_are_not_altered(tmp_path, zone):
    moments = pl.Series([datetime(1880, 1, 5, 23, 15, s, tzinfo=UTC) for s in (30, 31, 59)]).dt.convert_time_zone(zone)
    frame = pl.DataFrame({"at": moments, "s": moments})
    release = rv.anonymize(frame, rv.Schema(quasi="at", sensitive="s"), rv.KAnonymity(1), seed=1)
    again = rv.Release.read(release.write(tmp_path / "x.csv"))
    assert sorted(again.values["s"]) == sorted(moments)
    assert again.typed["at"].struct.field("lo").sort().to_list() == moments.to_list()


def test_one_release_in_two_formats_shares_a_manifest(tmp_path):
    frame, schema = hospital.month(100), hospital.schema()
    release = rv.anonymize(frame, schema, rv.KAnonymity(5), seed=1)
    for suffix in ("csv", "parquet"):
        release.write(tmp_path / f"x.{suffix}")
    assert all(rv.Release.read(tmp_path / f"x.{suffix}").text.equals(release.text) for suffix in ("csv", "parquet"))
    # Another release in the place of one of them: the other no longer belongs to the manifest.
    rv.anonymize(frame, schema, rv.KAnonymity(10), seed=1).write(tmp_path / "x.csv")
    assert rv.Release.read(tmp_path / "x.csv").manifest["achieved"]["k"] >= 10
    with pytest.raises(rv.VerificationError):
        rv.Release.read(tmp_path / "x.parquet")


def test_headers_are_not_formulas(tmp_path):
    frame = pl.DataFrame({"=cmd()": [1, 2], "@s": ["a", "b"]})
    release = rv.anonymize(frame, rv.Schema(quasi="=cmd()", sensitive="@s"), rv.KAnonymity(2), seed=1)
    path = release.write(tmp_path / "x.csv")
    assert not any(cell.startswith(("=", "@")) for cell in next(csv.reader(path.read_text().splitlines())))
    assert rv.Release.read(path).columns == ("=cmd()", "@s")


def test_text_in_parquet_is_as_it_is_but_for_the_mark_of_suppression(tmp_path):
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "s": ["*", "=x", "a\nb", '"q"']})
    release = rv.anonymize(
        frame, rv.Schema(quasi="age", sensitive="s", compare={"s": "exact"}), rv.KAnonymity(4), seed=1
    )
    path = release.write(tmp_path / "x.parquet")
    assert set(pl.read_parquet(path)["s"]) == {'"*"', "=x", "a\nb", '"\\"q\\""'}
    assert set(rv.Release.read(path).values["s"]) == set(frame["s"])


def test_bins_are_named_in_the_claim():
    frame = pl.DataFrame({"q": [0] * 10 + [1] * 10, "inc": range(20)})
    schema = rv.Schema(quasi="q", sensitive="inc", bins={"inc": 2})
    release = rv.anonymize(frame, schema, rv.TCloseness(0.6), seed=1)
    assert "inc are judged in 2 bins" in release.manifest["claim"]
    assert release.manifest["guarantee"]["bins"] == {"inc": 2}


def test_what_is_no_model_or_method_is_refused():
    frame, schema = pl.DataFrame({"age": [1]}), rv.Schema(quasi="age")
    for model, method in (("k", None), (rv.Static(k=2), None), (rv.KAnonymity(1), "mondrian")):
        with pytest.raises(rv.ConfigError):
            rv.anonymize(frame, schema, model, method)
    with pytest.raises(rv.ConfigError, match="protects nobody"):
        rv.anonymize(frame, schema, rv.KAnonymity(1), rv.Mondrian(recode="anatomy"))


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("zip", [7, 8]),  # a label is text
        ("zip", [["04410"], ["04411"]]),
        ("age", [3, 4]),  # an interval has two ends and a mark
        ("age", [{"lo": 1, "hi": 2}, {"lo": 3, "hi": 4}]),
        ("age", [{"lo": "x", "hi": "y", "null": False}] * 2),
        ("school", [1.5, 2.5]),  # a set is a list
        ("school", [[1], [2]]),
        ("school", [{"a": 1}, {"a": 2}]),
        ("s", [{"a": "x"}, {"a": "y"}]),  # a value is one
        ("s", [["x"], ["y"]]),
    ],
)
def test_typed_cells_of_another_shape_than_the_manifest_says_are_refused(tmp_path, name, cells):
    raw = pl.DataFrame({"age": [30, 40], "zip": ["04410", "04411"], "school": ["a", "b"], "s": ["x", "y"]})
    (tmp_path / "zip.csv").write_text("04410;044**;*\n04411;044**;*\n")
    tree = {"zip": tmp_path / "zip.csv"}
    schema = rv.Schema(quasi=["age", "zip", "school"], sensitive="s", hierarchies=tree, cells={"zip": "label"})
    path = rv.anonymize(raw, schema, rv.KAnonymity(2), seed=1).write(tmp_path / "r.parquet")
    pl.read_parquet(path).with_columns(pl.Series(name, cells)).write_parquet(path)
    described = path.with_suffix(".manifest.json")
    content = json.loads(described.read_text())
    digest = "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
    described.write_text(json.dumps(content | {"digest": digest, "digests": {"parquet": digest}}))
    with pytest.raises(rv.FileError, match="this release cannot be read"):
        rv.Release.read(path)
