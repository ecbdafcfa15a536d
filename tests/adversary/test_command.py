"""``reveil audit`` as a user runs it."""

import json

import polars as pl
import pytest

from tests.adversary.tables import publish, snapshot
from tests.cli.run import reveil

CONFIG = """
[series]
name = "clinic"
vault = "clinic.vault"
[columns]
pid = "person"
place = { role = "quasi", type = "text" }
disease = "sensitive"
[guarantee]
kind = "static"
k = 2
"""


@pytest.fixture
def files(tmp_path):
    """Two releases in which p1 stays, and p2 makes way for p3."""
    (tmp_path / "reveil.toml").write_text(CONFIG)
    series = [{"p1": "flu", "p2": "gout"}, {"p1": "flu", "p3": "cough"}]
    for n, values in enumerate(series, start=1):
        snapshot(values).write_csv(tmp_path / f"s{n}.csv")
        publish(values, [tuple(values)]).write_csv(tmp_path / f"r{n}.csv")
    return tmp_path


def test_lists_of_files_json_and_exit_codes(files):
    paths = [files / name for name in ("r1.csv", "r2.csv")]
    truth = [files / name for name in ("s1.csv", "s2.csv")]
    base = ("audit", *paths, "-c", files / "reveil.toml", "--known", "events")
    done = reveil(*base, "--truth", *truth, "--attack", "intersection", "--attack", "absence")
    assert done.returncode == 0, done.stderr
    assert "3 persons' disease can be read off by comparing the releases 1 and 2" in done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["person", "p1", "p2", "p3"]

    broken = reveil(*base, "--truth", truth[0], "--truth", truth[1], "--threshold", "0.5", "--json", "-", "-q")
    assert (broken.returncode, broken.stderr) == (1, "")
    found = json.loads(broken.stdout)
    assert set(found) >= {"format", "releases", "known", "attacks", "persons", "summary", "sentence"}
    assert found["summary"] | {"baseline": 0, "highest": 0, "highest_proven": 0} == {
        "persons": 3,
        "certain": 3,
        "certain_and_right": 3,
        "above": {"0.5": 3, "0.2": 3, "bound": 3},
        "highest": 0,
        "highest_proven": 0,
        "bound": 0.5,
        "held": False,
        "baseline": 0,
    }
    assert {own["person"]: own["value"] for own in found["persons"]} == {"p1": "flu", "p2": "gout", "p3": "cough"}
    assert set(found["persons"][0]) == {"person", "belief", "value", "attack", "releases", "exact", "right"}


def test_population_and_everybody(files):
    out = files / "audit.json"
    people = pl.read_csv(files / "s1.csv").drop("disease")
    people.write_csv(files / "people.csv")
    done = reveil(
        "audit", files / "r1.csv", "-c", files / "reveil.toml", "--population", files / "people.csv", "--all",
        "--json", out, "--threshold", "0.5",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())
    assert [own["right"] for own in found["persons"]] == [None, None]
    assert found["summary"]["certain_and_right"] is None
    assert "held: nothing above 0.5 was found" in done.stderr


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("r1.csv", "place,disease\nat p1,flu\nat p2\n", "r1.csv:3"),
        ("r1.csv", "place,disease,shoe\nat p1,flu,42\n", "r1.csv"),
        ("s1.csv", "pid,place,disease\np1,at p1,flu\np1,at p2,gout\n", "s1.csv:3"),
        ("r1.csv", "", "r1.csv"),
        ("reveil.toml", "[columns", "reveil.toml"),
    ],
)
def test_garbage_is_named_with_its_place(files, name, content, place):
    (files / name).write_text(content)
    done = reveil("audit", files / "r1.csv", "-c", files / "reveil.toml", "--truth", files / "s1.csv")
    assert done.returncode == 2
    assert place in done.stderr
    assert "Traceback" not in done.stderr


def test_without_releases_or_people(files):
    assert reveil("audit", "-c", files / "reveil.toml").returncode == 2
    done = reveil("audit", files / "r1.csv", "-c", files / "reveil.toml")
    assert done.returncode == 2
    assert "--population" in done.stderr or "population" in done.stderr
