"""``reveil query``: numbers on stdout, talk on stderr, exit codes."""

import json

import polars as pl
import pytest

import reveil as rv
from tests.cli.run import reveil

CONFIG = """
[columns]
age = "quasi"
region = { role = "quasi", hierarchy = { North = ["fife", "angus"], South = ["kent", "surrey"] } }
ill = "sensitive"

[guarantee]
kind = "static"
k = 2
"""


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("query")
    (folder / "reveil.toml").write_text(CONFIG)
    frame = pl.DataFrame(
        {
            "age": [30, 39, 50, 50],
            "region": ["fife", "angus", "kent", "kent"],
            "ill": ["flu", "gout", "flu", None],
        }
    )
    schema = rv.Schema.load(folder / "reveil.toml")
    return rv.anonymize(frame, schema, rv.KAnonymity(2), seed=1).write(folder / "out.csv")


def test_numbers_go_to_stdout(release):
    done = reveil("query", release, "age in [30, 34] or ill is null")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "estimate 2\nlower    1\nupper    3\nlow      1\nhigh     3\n"


def test_json(release, tmp_path):
    done = reveil("query", release, "region = North and age < 32", "-c", release.parent / "reveil.toml", "--json", "-")
    assert done.returncode == 0
    assert json.loads(done.stdout) == {
        "estimate": pytest.approx(0.4),
        "lower": 0,
        "upper": 2,
        "low": 0,
        "high": pytest.approx(2),
    }
    done = reveil("query", release, "age = 50", "--json", tmp_path / "count.json")
    assert done.stdout.startswith("estimate 2\n")
    found = json.loads((tmp_path / "count.json").read_text())
    assert found == {"estimate": 2.0, "lower": 2, "upper": 2, "low": 2.0, "high": 2.0}
    assert list(found) == ["estimate", "lower", "upper", "low", "high"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ill < flu", "  ill < flu\n      ^\n"),
        ("agee = 3", "Did you mean 'age'?"),
        ("region = kent-on-sea", "Check the spelling"),
    ],
)
def test_bad_expressions_end_with_2_and_a_caret(release, text, words):
    done = reveil("query", release, text)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_bad_files_end_with_2(release, tmp_path):
    for arguments in (
        [tmp_path / "none.csv", "age = 3"],
        [release, "age = 3", "-c", tmp_path / "none.toml"],
        [release, "age = 3", "--json", tmp_path / "no" / "where.json"],
    ):
        done = reveil("query", *arguments)
        assert done.returncode == 2
        assert done.stderr.startswith("error: ")
        assert "Traceback" not in done.stderr
