"""Errors of counts that ask for sensitive values, and of workloads that somebody wrote."""

import itertools

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.analysis.measures.base import Subject, Workload
from reveil.analysis.measures.query_error_sensitive import SensitiveQueryError, records_with
from reveil.tables.snapshot import read_snapshot
from tests.cli.run import reveil

FRAME = pl.DataFrame(
    {"a": [1, 2, 3, 4, 5, 6, 7, 8], "b": [1, 1, 2, 2, 3, 3, 4, 4], "ill": ["x", "y", "x", "z", "y", "x", None, "y"]}
)
SCHEMA = rv.Schema(quasi=["a", "b"], sensitive="ill")


@pytest.mark.parametrize("method", [rv.Mondrian(), rv.Anatomy()])
def test_expected_records_are_those_of_a_count(method):
    """The sum over classes is what release.count says, form by form."""
    release = rv.anonymize(FRAME, SCHEMA, rv.DistinctDiversity(2), method, suppress=0.5, seed=1)
    subject = Subject(read_snapshot(FRAME, SCHEMA), release)
    own = subject.raw_values("ill")
    code, told = own.coded(FRAME["ill"]), own.coded(subject.published_values[1]["ill"])
    names = ["x", "y", "z"]
    for many in (1, 2):
        for chosen in itertools.combinations(range(3), many):
            wanted = np.zeros(own.size + 1, np.bool_)
            wanted[[int(code[FRAME["ill"].to_list().index(names[at])]) for at in chosen]] = True
            asked = release.count(f"ill in {{{', '.join(names[at] for at in chosen)}}}")
            assert records_with(subject, wanted[told]).sum() == pytest.approx(asked.estimate)


def test_points_are_counted_without_error():
    thrice = pl.concat([FRAME] * 3)
    found = rv.measure(thrice, rv.anonymize(thrice, SCHEMA, rv.KAnonymity(3), seed=1), SCHEMA, queries=20)
    assert found["query_error_sensitive"]["mean"] == 0
    assert found["query_error_sensitive"]["skipped"] < 20
    without = rv.Schema(quasi=["a", "b"], identifiers="ill")
    alone = rv.anonymize(thrice, without, rv.KAnonymity(3), seed=1)
    assert rv.measure(thrice, alone, without, queries=5)["query_error_sensitive"] is None
    assert SensitiveQueryError().of(
        Subject(read_snapshot(FRAME, SCHEMA), rv.anonymize(FRAME, SCHEMA, rv.KAnonymity(2)), Workload())
    ) == {"query_error_sensitive": None}


def test_a_workload_that_somebody_wrote(tmp_path):
    release = rv.anonymize(FRAME, SCHEMA, rv.KAnonymity(4), seed=1)
    work = tmp_path / "work.txt"
    work.write_text("# counts\na <= 2\n\na >= 3 and b = 4\nill = x\na > 100\n")
    found = rv.measure(FRAME, release, SCHEMA, queries=work)
    wanted = [
        abs(release.count(text).estimate - truth) / truth for text, truth in (("a <= 2", 2), ("a >= 3 and b = 4", 2))
    ]
    assert found["query_error"]["mean"] == pytest.approx(np.mean(wanted))
    assert found["query_error"]["skipped"] == 1
    assert found["query_error_sensitive"] == {**found["query_error_sensitive"], "mean": 0.0, "skipped": 0}


@pytest.mark.parametrize(
    ("text", "said"),
    [("a <= 2\na >", "work.txt:2"), ("a = 1\n\nnobody = 3", "work.txt:3"), ("# nothing\n", "no expressions")],
)
def test_what_is_wrong_in_a_workload_is_named(tmp_path, text, said):
    (tmp_path / "work.txt").write_text(text)
    FRAME.write_csv(tmp_path / "t.csv")
    config = '[columns]\na = "quasi"\nb = "quasi"\nill = "sensitive"\n[guarantee]\nkind = "static"\nk = 2\n'
    (tmp_path / "reveil.toml").write_text(config)
    settings = ("-c", tmp_path / "reveil.toml")
    assert reveil("publish", tmp_path / "t.csv", *settings, "-o", tmp_path / "r.csv").returncode == 0
    done = reveil("measure", tmp_path / "t.csv", tmp_path / "r.csv", *settings, "--queries", tmp_path / "work.txt")
    assert done.returncode == 2
    assert said in done.stderr
    assert "work.txt" in done.stderr
    missing = reveil("measure", tmp_path / "t.csv", tmp_path / "r.csv", *settings, "--queries", tmp_path / "none.txt")
    assert missing.returncode == 2
