"""Everybody is counted and some are attacked; a short list of people is warned of."""

import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import ConfigError
from tests.adversary.tables import SCHEMA, publish, snapshot

PEOPLE = {f"p{n:02}": ("flu" if n % 2 else "gout") for n in range(40)}
GROUPS = [tuple(list(PEOPLE)[n : n + 4]) for n in range(0, 40, 4)]


def months():
    """Two months; from every group one person leaves in the second."""
    stay = {who: value for who, value in PEOPLE.items() if int(who[1:]) % 4}
    groups = [tuple(who for who in group if who in stay) for group in GROUPS]
    return [publish(PEOPLE, GROUPS), publish(stay, groups)], [snapshot(PEOPLE), snapshot(stay)]


def test_a_sample_finds_what_all_find_of_the_same_persons():
    releases, truth = months()
    everything = rv.audit(releases, SCHEMA, truth=truth, known="events")
    some = rv.audit(releases, SCHEMA, truth=truth, known="events", sample=10)
    assert everything.summary["certain"] == 10
    attacked = set(some.everybody)
    assert len(attacked) == 10
    same = everything.persons.filter(pl.col("person").is_in(list(attacked)))
    assert some.persons.equals(same)
    assert set(some.certain["person"]) == set(everything.certain["person"]) & attacked
    told = some.summary["sample"]
    assert (told["attacked"], told["of"]) == (10, 40)
    assert told["certain"]["low"] <= 10 <= told["certain"]["high"]
    assert any("10 of 40 persons were attacked" in note for note in some.notes)
    assert "sample" not in rv.audit(releases, SCHEMA, truth=truth, sample=1000).summary
    with pytest.raises(ConfigError, match="at least one person"):
        rv.audit(releases, SCHEMA, truth=truth, sample=0)


def test_a_part_of_the_truth_is_no_sample_and_is_warned_of():
    releases, truth = months()
    few = rv.audit(releases, SCHEMA, truth=[table[:8] for table in truth], known="events")
    assert any("8 people are given for release 1, which has 40 records" in note for note in few.notes)
    assert few.summary["certain"] < 10
    whole = rv.audit(releases, SCHEMA, truth=truth, known="events")
    assert not any("people are given for release" in note for note in whole.notes)
