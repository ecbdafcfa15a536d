"""Somebody with a prior: guesses are measured beside the prior alone and a control group, and no verdict changes."""

import json

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.adversary.rates import Rate, advantage
from reveil.adversary.shared_rows import SharedRows
from reveil.core.errors import ConfigError, DataError
from reveil.testing import hospital
from tests.adversary.handmade import evidence_of
from tests.adversary.tables import SCHEMA, publish, snapshot
from tests.cli.run import reveil

VALUES = {"p1": "flu", "p2": "gout", "p3": "flu", "p4": "acne"}


def probabilities(**chances):
    """Return a file of probabilities by place: the chance of flu, the rest shared by gout and acne."""
    rows = [
        {"place": f"at {person}", "disease": value, "probability": chance}
        for person, flu in chances.items()
        for value, chance in (("flu", flu), ("gout", (1 - flu) / 2), ("acne", (1 - flu) / 2))
    ]
    return pl.DataFrame(rows)


def test_whoever_knows_the_chances_reads_the_groups_with_them():
    release = publish(VALUES, [("p1", "p2"), ("p3", "p4")])
    prior = probabilities(p1=0.9, p2=0.1, p3=0.2, p4=0.8)
    found = rv.audit(release, SCHEMA, truth=snapshot(VALUES), prior=prior, attacks="prior")
    own = {row["person"]: row for row in found.guesses.iter_rows(named=True)}
    # The odds of the two worlds of p1 and p2 are 0.9 x 0.45 to 0.05 x 0.1, 81; scaling gives their root.
    assert own["p1"]["belief"] == pytest.approx(9 / 10, abs=1e-3)
    assert (own["p1"]["value"], own["p1"]["right"], own["p1"]["prior_belief"]) == ("flu", True, pytest.approx(0.9))
    # p4 was told to have flu: a wrong prior misleads.
    assert [own[p]["right"] for p in ("p2", "p3", "p4")] == [True, False, False]
    summary = found.attacks["prior"]
    assert summary["series"]["attack"] | {"low": 0, "high": 0} == {
        "right": 2,
        "tried": 4,
        "rate": 0.5,
        "low": 0,
        "high": 0,
    }
    assert summary["series"]["baseline"]["right"] == 1 + 0 + 0 + 0
    assert "everybody's quasi values" in summary["attacker"]
    assert not found.persons["exact"].any()  # a guess is never exact
    assert found.held


def test_scaling_uses_up_the_rows():
    evidence = evidence_of([["p", "q"]], lambda *_: True, [[["a", "b"]]], [[0]])
    shared = SharedRows.of(evidence.views[0], evidence.views[0].candidates, 2)
    chances = np.array([[0.7, 0.3], [0.4, 0.6]])
    beliefs, _ = shared.together(chances, rounds=500)
    # Scaling gives the square root of the odds of the two worlds; singly, the odds of one person's own chances.
    odds = np.sqrt(0.7 * 0.6 / (0.3 * 0.4))
    assert beliefs[0, 0] == pytest.approx(odds / (1 + odds), abs=2e-3)
    assert shared.singly(chances)[0, 0] == pytest.approx(0.7)


def test_verdicts_and_other_attacks_stay_as_they_are():
    release = publish(VALUES, [("p1", "p2"), ("p3", "p4")])
    truth = snapshot(VALUES)
    plain = rv.audit(release, SCHEMA, truth=truth, threshold=0.5)
    found = rv.audit(release, SCHEMA, truth=truth, threshold=0.5, prior=probabilities(p1=0.9, p2=0.1, p3=0.9, p4=0.1))
    assert plain.held
    assert found.held
    assert plain.persons.equals(found.persons)
    assert plain.guesses is None
    assert "guesses" not in plain.to_json()
    assert plain.not_run["prior"].startswith("no prior was given")
    assert "prior" in found.ran
    assert found.attacks["prior"]["series"]["beyond"]["persons"] == 4
    assert {row["person"] for row in found.to_json()["guesses"]} == set(VALUES)


@pytest.fixture(scope="module")
def ward():
    """Two months of a small hospital, published with tau-safety."""
    frames = list(hospital.year(1500, months=2, seed=3))
    return frames, hospital.schema()


def test_a_public_table_known_groups_and_the_control_group(ward, tmp_path):
    frames, schema = ward
    series = rv.Series.open(tmp_path / "v", schema, rv.TauSafety(3))
    releases = [series.publish(frame) for frame in frames]
    placements = [series.placements(n + 1, frame) for n, frame in enumerate(frames)]
    public = hospital.month(8000, seed=77)
    told = set(pl.concat([frame["diagnosis"] for frame in frames]).to_list())
    assert told <= set(public["diagnosis"].to_list())
    found = rv.audit(releases, schema, truth=frames, placements=placements, prior=public, attacks="prior")
    own = found.attacks["prior"]
    for each in own["releases"]:
        attack, simple, baseline, control = (
            each[key] for key in ("attack", "attack_one_by_one", "baseline", "control")
        )
        # The groups add much to the prior, and the others of the group add to that.
        assert attack["low"] > simple["rate"] > baseline["high"] > baseline["low"]
        assert attack["low"] > control["high"]
        assert control["tried"] == len(
            set(frames[1 - each["release"] + 1]["pid"]) - set(frames[each["release"] - 1]["pid"])
        )
        assert each["advantage"]["low"] > 0
    assert own["groups_known"] == sum(frame.height for frame in frames)
    assert "who is in which group" in own["attacker"]
    assert found.held
    # Without the groups, and without a table: the releases teach less, and the audit says less.
    alone = rv.audit(releases, schema, truth=frames, prior="releases", attacks="prior").attacks["prior"]
    assert alone["groups_known"] == 0
    assert alone["series"]["attack"]["rate"] < own["series"]["attack"]["rate"]
    even = rv.audit(releases, schema, truth=frames, prior="uniform", attacks="prior", placements=placements)
    assert even.attacks["prior"]["series"]["belief"]["mean"] == pytest.approx(1 / 3, abs=0.02)


def test_intervals():
    assert Rate(0, 0).interval == (0.0, 1.0)
    low, high = Rate(10, 10).interval
    assert 0.7 < low < 0.73
    assert high == 1.0
    gained = advantage(Rate(80, 100), Rate(50, 100))
    assert gained["gain"] == pytest.approx(0.6)
    assert 0 < gained["low"] < 0.6 < gained["high"] < 1
    assert advantage(Rate(5, 10), Rate(5, 10))["low"] < 0


CONFIG = """
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
    """One release, its snapshot, and a config."""
    (tmp_path / "reveil.toml").write_text(CONFIG)
    snapshot(VALUES).write_csv(tmp_path / "s.csv")
    publish(VALUES, [("p1", "p2"), ("p3", "p4")]).write_csv(tmp_path / "r.csv")
    return tmp_path


def test_on_the_command_line(files):
    probabilities(p1=0.9, p2=0.1, p3=0.9, p4=0.1).write_csv(files / "prior.csv")
    base = ("audit", files / "r.csv", "-c", files / "reveil.toml", "--truth", files / "s.csv")
    done = reveil(*base, "--prior", files / "prior.csv", "--json", files / "out.json")
    assert done.returncode == 0, done.stderr
    assert "guesses 100.0 % (51.0 to 100.0) of people's disease right; without the releases 75.0 %" in done.stderr
    assert "from a file of probabilities" in done.stderr
    found = json.loads((files / "out.json").read_text())
    assert found["attacks"]["prior"]["prior"] == "probabilities"
    assert reveil(*base, "--prior", "releases").returncode == 0
    wrong = reveil(*base, "--control", files / "s.csv")
    assert (wrong.returncode, "--control needs --prior" in wrong.stderr) == (2, True)


@pytest.mark.parametrize(
    ("content", "place", "words"),
    [
        ("disease,probability\nflu,0.5\ngout,0.5\n", "prior.csv:2", "does not cover 1 of the 3 values"),
        ("disease,probability\nflu,0.5\ngout,0.3\nacne,0.1\n", "prior.csv:2", "sum up to 0.9, not to 1"),
        ("disease,probability\nflu,0.5\ngout,x\nacne,0.1\n", "prior.csv:3", "a number from 0 to 1"),
        ("disease,probability\nflu,0.5\ngout,-0.5\nacne,1\n", "prior.csv:3", "a number from 0 to 1"),
        ("shoe,disease,probability\n1,flu,1\n", "prior.csv", "'shoe' is none of the quasi columns"),
        ("place,probability\nat p1,1\n", "prior.csv", "no sensitive column"),
        (
            "place,disease,probability\nat p1,flu,1\nat p1,gout,0\nat p1,acne,0\n",
            "prior.csv",
            "3 of 4 people are in no combination",
        ),
        ("place,disease\nat p1,flu\nat p2,gout\n", "prior.csv", "1 of the 3 values"),
        ("place,shoe\nat p1,42\n", "prior.csv", "no sensitive column"),
        ("disease\nflu\ngout\nacne\n", "prior.csv", "none of the quasi columns"),
    ],
)
def test_a_prior_that_cannot_be_one_is_named_with_its_place(files, content, place, words):
    (files / "prior.csv").write_text(content)
    base = ("audit", files / "r.csv", "-c", files / "reveil.toml", "--truth", files / "s.csv")
    done = reveil(*base, "--prior", files / "prior.csv")
    assert done.returncode == 2, done.stderr
    assert place in done.stderr
    assert words in done.stderr
    assert not any(value in done.stderr for value in ("gout", "acne"))
    assert "Traceback" not in done.stderr


def test_a_control_group_is_not_in_the_data(files):
    release, truth = publish(VALUES, [("p1", "p2"), ("p3", "p4")]), snapshot(VALUES)
    others = snapshot({"q1": "flu", "q2": "gout"}).with_columns(place=pl.Series(["at p1", "at p4"]))
    own = rv.audit(release, SCHEMA, truth=truth, prior="uniform", control=others).attacks["prior"]
    assert own["series"]["control"]["tried"] == 2
    with pytest.raises(DataError, match="4 people of the control group are in the releases"):
        rv.audit(release, SCHEMA, truth=truth, prior="uniform", control=truth)
    with pytest.raises(ConfigError, match="prior must be"):
        rv.audit(release, SCHEMA, truth=truth, prior=3)
    assert (
        reveil(
            "audit",
            files / "r.csv",
            "-c",
            files / "reveil.toml",
            "--truth",
            files / "s.csv",
            "--prior",
            files / "none.csv",
        ).returncode
        == 2
    )
