"""Every measure on releases with counterfeits and withheld records, against its slow definition."""

import ast
import json
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.analysis.measures import Subject
from reveil.analysis.workload import windows
from reveil.models.t_closeness import TCloseness
from reveil.tables.snapshot import read_snapshot
from reveil.verification import verify
from tests.analysis.measures.plain import Plain
from tests.cli.run import reveil
from tests.verification.counterfeits import publish, published

quick = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
near = {"rel": 1e-9, "abs": 1e-9}
FRAME = pl.DataFrame({"pid": range(5), "age": [1, 2, 3, 9, 5], "ill": ["flu", "hiv", "flu", "hiv", "flu"]})
SCHEMA = rv.Schema(person="pid", quasi="age", sensitive="ill")


@quick
@given(published(), st.integers(0, 99))
def test_against_the_definitions(case, seed):
    frame, release, schema = case.frame, case.release, case.schema
    found = rv.measure(frame, release, schema, queries=4, seed=seed, selectivity=0.4)
    plain = Plain(frame, release, schema, release.groups.tolist())
    assert found["dcp"] == plain.dcp()
    for key in ("ncp", "gcp", "em", "em_mean", "kl", "ail", "fem", "vem"):
        assert found[key] == pytest.approx(getattr(plain, key)(), **near), key
    assert 0 <= found["gcp"] <= 1
    assert found["c_avg"] == pytest.approx(plain.c_avg(release.manifest["guarantee"]["m"]))
    assert found["counterfeits"] == (case.placement < 0).sum()
    assert found["withheld"] == frame.height - (case.placement >= 0).sum()
    attributes = [c.attribute for c in Subject(case.snapshot, release).columns]
    expected = plain.query_error(attributes, windows(attributes, 4, seed=seed, selectivity=0.4))
    assert found["query_error"]["skipped"] == expected["skipped"]
    if expected["mean"] is None:  # every query was skipped
        assert found["query_error"]["mean"] is None
    else:
        assert found["query_error"]["mean"] == pytest.approx(expected["mean"], **near)


@quick
@given(published())
def test_privacy_loss_is_what_verification_measures(case):
    """Both read the published values alone, counterfeits among them, and give them the same places."""
    found = rv.measure(case.frame, case.release, case.schema)["privacy_loss"]
    assert list(found) == list(case.schema.sensitive)
    with pytest.raises(rv.VerificationError, match="another level") as caught:
        verify(case.release, case.snapshot, TCloseness(1), placement=case.placement)
    level = ast.literal_eval(caught.value.hint.removeprefix("The table has ").removesuffix("."))
    assert found == pytest.approx(level["t"], abs=1.1e-6)


@pytest.mark.parametrize("boxes", [None, [0, 0, 1, 1, 1]], ids=["one table", "two tables"])
def test_a_worked_example(boxes):
    """[1, 2], and [3, 9] with a counterfeit; the fifth record is withheld."""
    release = publish(FRAME, SCHEMA, [[0, 1], [2, 3]], [[], ["gout"]], boxes=boxes).release
    found = rv.measure(FRAME, release, SCHEMA)
    assert (found["counterfeits"], found["withheld"], found["suppressed"]) == (1, 1, 0)
    assert found.shares == {"counterfeits": 1 / 5, "withheld": 1 / 5, "suppressed": 0, "dirty": 0}
    assert found["dcp"] == 2**2 + 3**2 + 1 * 5
    assert found["ncp"] == pytest.approx(2 * 1 / 8 + 2 * 6 / 8 + 1)  # four records and the one left out
    assert found["gcp"] == pytest.approx(found["ncp"] / 5)
    assert found["c_avg"] == pytest.approx(5 / 2 / 2)
    assert found["ail"] == pytest.approx((2 * 1 / 8 + 3 * 6 / 8) / 2)


def test_a_group_in_several_boxes_spreads_its_counterfeits():
    """Two tables: any row of the group may be the counterfeit, so each counts two thirds."""
    release = publish(FRAME.head(4), SCHEMA, [[0, 1], [2, 3]], [["gout"], []], boxes=[0, 1, 1, 1, 0]).release
    found = rv.measure(FRAME.head(4), release, SCHEMA)
    subject = Subject(read_snapshot(FRAME.head(4), SCHEMA), release)
    assert sorted(subject.class_real.tolist()) == pytest.approx([4 / 3, 2 + 2 / 3])
    assert found["ncp"] == pytest.approx((2 + 2 / 3) * 7 / 8)  # [2, 9], and 1 exactly


def test_the_command(tmp_path):
    FRAME.write_csv(tmp_path / "raw.csv")
    path = publish(FRAME, SCHEMA, [[0, 1], [2, 3]], [[], ["gout"]]).release.write(tmp_path / "r.csv")
    config = tmp_path / "reveil.toml"
    config.write_text(
        '[series]\nname = "s"\nvault = "v"\n[columns]\npid = "person"\nage = "quasi"\nill = "sensitive"\n'
        '[guarantee]\nkind = "static"\nk = 2\n'
    )
    done = reveil("measure", tmp_path / "raw.csv", path, "-c", config, "--queries", "5", "--json", "-")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)["measures"]
    assert (told["counterfeits"], told["withheld"]) == (1, 1)


def test_what_does_not_belong_together_is_refused():
    case = publish(FRAME, SCHEMA, [[0, 1], [2, 3]], [[], ["gout"]], boxes=[0, 0, 1, 1, 1])
    batch = case.release.batch.with_columns(pl.col("group") + 1000)
    with pytest.raises(rv.DataError, match="same groups"):
        rv.measure(FRAME, replace(case.release, batch=batch), SCHEMA)
    ordered = rv.Schema(person="pid", quasi="age", sensitive="ill", orders={"ill": ["flu", "hiv"]})
    with pytest.raises(rv.DataError, match="does not know"):
        rv.measure(FRAME, case.release, ordered)
    with pytest.raises(rv.DataError, match="accounts for 5 records"):
        rv.measure(FRAME.head(4), case.release, SCHEMA)
