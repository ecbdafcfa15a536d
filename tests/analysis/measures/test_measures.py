"""Every measure against its slow definition, on small tables with everything that goes wrong in real ones."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.analysis.measures import Measures, Subject, meanings
from reveil.analysis.measures.average_class import smallest_size
from reveil.analysis.measures.base import Workload
from reveil.analysis.measures.query_error import estimates
from reveil.analysis.measures.vem import attribute_vem
from reveil.analysis.workload import true_counts, windows
from reveil.core import registry
from reveil.models.encoding import Kind
from reveil.tables.snapshot import canonical_text, read_snapshot
from reveil.testing.strategies import tables
from tests.analysis.measures.plain import Plain
from tests.manifests import altered

KEYS = [
    *("dcp", "ncp", "gcp", "em", "em_mean", "kl", "c_avg", "ail", "fem", "vem"),
    *("privacy_loss", "query_error", "query_error_sensitive", "counterfeits", "suppressed", "withheld", "dirty"),
]
quick = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
near = {"rel": 1e-9, "abs": 1e-9}


@st.composite
def released(draw, *, most=25):
    table = draw(tables(max_rows=most, max_quasi=3))
    k = draw(st.integers(1, min(4, table.frame.height)))
    suppress = draw(st.sampled_from([0.0, 0.3]))
    cut = draw(st.sampled_from(["strict", "relaxed"]))
    release = rv.anonymize(
        table.frame,
        table.schema,
        rv.KAnonymity(k),
        rv.Mondrian(cut=cut),
        suppress=suppress,
        seed=draw(st.integers(0, 9)),
    )
    return table.frame, release, table.schema


def small(values=(1, 2, 3, 9), k=2, **more):
    frame = pl.DataFrame({"age": list(values), "ill": (["flu", "hiv"] * len(values))[: len(values)]})
    schema = rv.Schema(quasi="age", sensitive="ill")
    return frame, rv.anonymize(frame, schema, rv.KAnonymity(k), seed=1, **more), schema


@quick
@given(released())
def test_against_the_definitions(case):
    frame, release, schema = case
    found, plain = rv.measure(frame, release, schema), Plain(frame, release, schema)
    assert found["dcp"] == plain.dcp()
    for key in ("ncp", "gcp", "em", "em_mean", "kl", "ail", "fem", "vem"):
        assert found[key] == pytest.approx(getattr(plain, key)(), **near), key
    assert found["c_avg"] == pytest.approx(plain.c_avg(release.manifest["guarantee"]["k"]))
    assert found["suppressed"] == release.manifest["suppressed"] == frame.height - len(release.table)


@quick
@given(released(most=15), st.integers(0, 99), st.sampled_from([0.05, 0.4, 1.0]))
def test_query_error_against_its_definition(case, seed, selectivity):
    frame, release, schema = case
    found = rv.measure(frame, release, schema, queries=8, seed=seed, selectivity=selectivity)["query_error"]
    attributes = [c.attribute for c in Subject(read_snapshot(frame, schema), release).columns]
    asked = windows(attributes, 8, seed=seed, selectivity=selectivity)
    plain = Plain(frame, release, schema).query_error(attributes, asked)
    assert found["skipped"] == plain["skipped"]
    for name in ("mean", "median"):  # of no questions, where none could be counted, there is none
        assert found[name] == (None if plain["skipped"] == 8 else pytest.approx(plain[name], **near))
    assert sum(found["histogram"]["queries"]) == 8 - found["skipped"]


@quick
@given(released(), st.data())
def test_fakes_and_dirty_rows(case, data):
    """Let some published rows be nobody's: take records out of the snapshot and call the rows fake or dirty."""
    frame, release, schema = case
    fewer = data.draw(st.integers(0, min(3, frame.height - 1)))
    dirty = data.draw(st.integers(0, min(fewer, len(release.classes) - 1)))
    fakes = min(fewer - dirty, len(release.classes) - 1 - dirty)
    groups = (release.classes * 7 + 3).tolist()
    per_group = dict.fromkeys(map(str, groups), 0)
    for group in groups[:fakes]:
        per_group[str(group)] += 1
    changed = replace(
        release,
        groups=np.array(groups, np.int32),
        manifest=altered(
            release.manifest,
            dirty=dirty,
            counterfeits={"total": fakes, "per_group": {g: n for g, n in per_group.items() if n}},
        ),
    )
    raw = frame.head(frame.height - dirty - fakes)
    found, plain = rv.measure(raw, changed, schema, queries=4, seed=3), Plain(raw, changed, schema, groups)
    assert (found["counterfeits"], found["dirty"]) == (fakes, dirty)
    assert found["dcp"] == plain.dcp()
    for key in ("ncp", "gcp", "em", "em_mean", "ail", "fem", "vem"):
        assert found[key] == pytest.approx(getattr(plain, key)(), **near), key
    attributes = [c.attribute for c in Subject(read_snapshot(raw, schema), changed).columns]
    expected = plain.query_error(attributes, windows(attributes, 4, seed=3))
    assert found["query_error"]["mean"] == pytest.approx(expected["mean"], **near)


@quick
@given(tables(max_rows=25, max_quasi=2))
def test_privacy_loss_is_what_the_model_measures(table):
    frame, schema = table.frame, table.schema
    if not schema.sensitive:
        return
    release = rv.anonymize(frame, schema, rv.TCloseness(0.5), seed=1)  # one group is always close enough
    found = rv.measure(frame, release, schema)["privacy_loss"]
    assert list(found) == list(schema.sensitive)
    assert found == pytest.approx(release.manifest["achieved"]["t"], abs=1.1e-6)


@quick
@given(released(most=20), st.integers(0, 99))
def test_estimates_are_what_a_reader_would_count(case, seed):
    frame, release, schema = case
    columns = Subject(read_snapshot(frame, schema), release).columns
    attributes = [c.attribute for c in columns]
    asked = windows(attributes, 3, seed=seed, selectivity=0.3)
    found = estimates(columns, np.bincount(release.classes).astype(float), asked)
    for q, estimate in enumerate(found):
        used = np.flatnonzero(asked.used[q])
        parts = [expression(attributes[a], asked.lo[q, a], asked.hi[q, a]) for a in used]
        if parts:
            assert release.count(" and ".join(parts), schema).estimate == pytest.approx(estimate, **near)


def expression(attribute, lo, hi):
    words = [value.replace("'", "''") for value in canonical_text(attribute.domain[int(lo) : int(hi) + 1])]
    if attribute.kind is Kind.INTERVAL:
        return f"{attribute.name} in ['{words[0]}', '{words[-1]}']"
    members = ", ".join(f"'{word}'" for word in words)
    return f"{attribute.name} in {{{members}}}"


@quick
@given(tables(max_rows=20, max_quasi=3))
def test_one_group_and_raw_data(table):
    frame, schema = table.frame, table.schema
    whole = rv.measure(frame, rv.anonymize(frame, schema, rv.KAnonymity(frame.height), seed=0), schema)
    assert (whole["fem"], whole["vem"], whole["c_avg"]) == (0, pytest.approx(0, abs=1e-12), 1)
    assert whole["dcp"] == frame.height**2
    raw = rv.measure(frame, rv.anonymize(frame, schema, rv.KAnonymity(1), seed=0), schema)
    if raw["ncp"] == 0:
        assert raw["em"] == raw["ail"] == 0
        assert raw["kl"] == pytest.approx(0, abs=1e-12)
    assert raw["fem"] >= -1e-12
    assert raw["vem"] >= -1e-12


@quick
@given(released())
def test_vem_is_additive_over_attributes(case):
    frame, release, schema = case
    subject = Subject(read_snapshot(frame, schema), release)
    plain = Plain(frame, release, schema)
    parts = {c.attribute.name: attribute_vem(subject, c) for c in subject.columns}
    assert parts == pytest.approx({name: plain.vem(name) for name in parts}, **near)
    assert sum(parts.values()) == pytest.approx(plain.vem(), **near)


def test_distinct_records_are_worth_most():
    frame, release, schema = small(range(8), k=1)
    found = rv.measure(frame, release, schema)
    assert (found["fem"], found["vem"]) == (3, 3)  # log2 of 8 records and of 8 codes
    assert (found["ncp"], found["em"], found["kl"], found["dcp"]) == (0, 0, 0, 8)


def test_a_worked_example():
    frame, release, schema = small()  # [1, 2] and [3, 9]
    found = rv.measure(frame, release, schema)
    assert sorted(set(release.table["age"])) == ["[1, 2]", "[3, 9]"]
    assert found["dcp"] == 8
    assert found["ncp"] == pytest.approx(2 * 1 / 8 + 2 * 6 / 8)
    assert found["gcp"] == pytest.approx(7 / 16)
    assert (found["em"], found["em_mean"]) == (4, 1)
    assert found["ail"] == pytest.approx((2 * 1 / 8 + 2 * 6 / 8) / 2)
    assert (found["c_avg"], found["fem"], found["vem"]) == (1, 1, 1)
    assert found["kl"] == 0  # each box spreads two records over two codes with a record each
    assert found["privacy_loss"] == {"ill": 0}


def test_suppressed_records_are_never_ignored():
    frame, release, schema = small((1, 1, 2, 2, 99), suppress=0.4)
    assert release.manifest["suppressed"] == 1
    found = rv.measure(frame, release, schema)
    assert found.shares == {"counterfeits": 0, "suppressed": pytest.approx(1 / 5), "withheld": 0, "dirty": 0}
    assert found["dcp"] == 4 + 4 + 1 * 5
    assert found["ncp"] == 1
    shares = np.array([2, 2, 1]) / 5
    assert found["em"] == pytest.approx(-(shares * np.log2(shares)).sum())
    assert found["fem"] == pytest.approx(2 * -(2 / 5) * np.log2(2 / 5))
    assert found["vem"] == pytest.approx(2 * -(2 / 5) * np.log2(1 / 3))
    q = np.array([2 / 5 + 1 / 15, 2 / 5 + 1 / 15, 1 / 15])
    assert found["kl"] == pytest.approx((shares * np.log2(shares / q)).sum())
    secret = replace(release, manifest=altered(release.manifest, suppressed=None))  # safe-grid does not tell
    assert rv.measure(frame, secret, schema) == found


def test_a_taxonomy_counts_leaves():
    """003, (1): |v(m)| - 1 over |A_m| - 1; and the whole table's box is the lowest node over it."""
    tree = {"all": {"x": ["a", "b"], "y": ["c", "d", "e"]}}
    frame = pl.DataFrame({"q": ["a", "b", "c", "e"]})
    schema = rv.Schema(quasi="q", hierarchies={"q": tree}, cells={"q": "label"})
    release = rv.anonymize(frame, schema, rv.KAnonymity(2), seed=1)
    assert sorted(release.table["q"]) == ["x", "x", "y", "y"]
    found = rv.measure(frame, release, schema)
    assert found["ncp"] == pytest.approx(2 * 1 / 4 + 2 * 2 / 4)
    assert found["em"] == 4
    assert found["vem"] == pytest.approx(np.log2(5 / 2) / 2 + np.log2(5 / 3) / 2)
    tight = rv.Schema(quasi="q", hierarchies={"q": tree})
    release = rv.anonymize(frame, tight, rv.KAnonymity(2), seed=1)
    assert sorted(release.table["q"]) == ["{a, b}", "{a, b}", "{c, e}", "{c, e}"]
    found = rv.measure(frame, release, tight)
    assert found["ncp"] == pytest.approx(4 * 1 / 4)
    assert found["vem"] == pytest.approx(np.log2(4 / 2))  # the box of the whole table lists four leaves


def test_null_beside_values_is_one_more():
    frame = pl.DataFrame({"q": [10, 20, None, 50]})
    schema = rv.Schema(quasi="q")
    release = rv.anonymize(frame, schema, rv.KAnonymity(4), seed=1)
    assert set(release.table["q"]) == {"[10, 50] | null"}
    found = rv.measure(frame, release, schema)
    assert found["ncp"] == 4  # at most 1 per cell
    assert (found["em"], found["vem"], found["kl"]) == (8, 0, 0)
    column = Subject(read_snapshot(frame, schema), release).columns[0]
    one = windows([column.attribute], 1, selectivity=1.0)
    assert estimates([column], np.array([4.0]), one) == pytest.approx([4 * 41 / 42])


def test_the_size_that_groups_are_compared_with():
    assert smallest_size({"k": 5, "l": 3}) == 5
    assert smallest_size({"m": 4, "l": 3}) == 4
    assert smallest_size({"l": {"a": 2, "b": 3}}) == 3
    assert smallest_size({"t": 0.2}) is None


def test_bins_are_those_of_the_model():
    frame = pl.DataFrame({"q": [1, 2, 3, 4, 5, 6, 7, 8], "income": [10, 11, 12, None, 90, 91, 92, 93]})
    schema = rv.Schema(quasi="q", sensitive="income", bins={"income": 2})
    release = rv.anonymize(frame, schema, rv.TCloseness(0.6), seed=1)
    found = rv.measure(frame, release, schema)["privacy_loss"]
    assert found == pytest.approx(release.manifest["achieved"]["t"], abs=1.1e-6)


def test_keys_and_json():
    frame, release, schema = small()
    found = rv.measure(frame, release, schema)
    assert isinstance(found, Measures)
    assert sorted(found) == sorted(KEYS) == sorted(meanings())
    written = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (written["format"], sorted(written)) == (1, ["format", "measures"])
    assert written["measures"]["query_error"] is None
    asked = rv.measure(frame, release, schema, queries=5, seed=1).to_dict()["measures"]["query_error"]
    assert {"mean", "median", "skipped"} < set(asked)
    assert rv.measure(frame, release, schema, queries=5, seed=1).to_dict()["measures"]["query_error"] == asked
    assert "hiv" not in repr(found)


def test_from_files(tmp_path):
    frame, release, schema = small()
    for suffix in ("csv", "parquet"):
        path = release.write(tmp_path / f"{suffix}.{suffix}")
        frame.write_csv(tmp_path / "raw.csv")
        assert rv.measure(tmp_path / "raw.csv", path, schema) == rv.measure(frame, release, schema)


def test_every_measure_says_what_it_is():
    for name, cls in registry.everything("measures").items():
        for heading in ("Definition", "Range", "Suppressed", "Counterfeits", "Source"):
            assert heading.lower() in cls.__doc__.lower(), f"{name} says: {heading}"


def test_another_snapshot_is_refused():
    frame, release, schema = small()
    with pytest.raises(rv.DataError, match="accounts for 4 records"):
        rv.measure(frame.head(3), release, schema)
    other = pl.DataFrame({"age": ["a", "b", "c", "d"], "ill": frame["ill"]})
    with pytest.raises(rv.DataError):
        rv.measure(other, release, schema)
    with pytest.raises(rv.DataError, match="not quasi"):
        rv.measure(frame, release, rv.Schema(quasi="ill", sensitive="age"))


@pytest.mark.parametrize(
    "bad", [{"queries": -1}, {"queries": 2.5}, {"seed": -1}, {"dimensionality": 2}, {"selectivity": 0}]
)
def test_a_workload_that_cannot_be(bad):
    frame, release, schema = small()
    with pytest.raises(rv.ConfigError):
        rv.measure(frame, release, schema, **{"queries": 3, **bad})


def test_the_workload_is_what_was_asked_for():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"q{i}": rng.integers(0, 50, 20_000) for i in range(3)})
    schema = rv.Schema(quasi=frame.columns)
    subject = Subject(read_snapshot(frame, schema), rv.anonymize(frame, schema, rv.KAnonymity(20), seed=0), Workload(1))
    attributes = [c.attribute for c in subject.columns]
    for dimensionality in (1, 3):
        asked = windows(attributes, 200, dimensionality=dimensionality, selectivity=0.1, seed=5)
        assert (asked.used.sum(axis=1) == dimensionality).all()
        assert true_counts(attributes, asked).mean() / frame.height == pytest.approx(0.1, rel=0.35)
    free = windows(attributes, 200, seed=5)
    assert set(free.used.sum(axis=1)) == {1, 2, 3}
    assert (free.lo != windows(attributes, 200, seed=6).lo).any()
    assert (free.lo == windows(attributes, 200, seed=5).lo).all()
