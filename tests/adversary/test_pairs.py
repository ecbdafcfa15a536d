"""Which releases are set beside each other: any two by difference, and where that is affordable by the others."""

import numpy as np

import reveil as rv
from reveil.adversary import cells
from reveil.adversary.attacks.base import Findings, strongest_of
from reveil.adversary.cells import pairs_of
from tests.adversary.tables import SCHEMA, certain, publish, snapshot


def releases(many, persons):
    return [persons] * many


def test_any_two_of_a_few_and_a_linear_number_of_many():
    assert len(pairs_of(releases(12, 100_000))) == 12 * 11
    pairs = pairs_of(releases(99, 100_000))
    assert len(pairs) < 99 * 8
    assert {(0, 98), (98, 0), (3, 6), (6, 3), (50, 47)} <= set(pairs)
    small = pairs_of(releases(99, 1000))
    assert len(small) == 99 * 98
    middle = pairs_of(releases(99, 10_000))
    assert {(0, 4), (40, 8), (64, 0)} <= set(middle)
    assert len(set(middle)) == len(middle)


def test_releases_five_apart_are_compared():
    """Of the group of release 2 all but one are together in release 7; between them nobody is published with these."""
    group, others = ["p1", "p2", "p3"], ["q1", "q2"]
    values = {"p1": "flu", "p2": "gout", "p3": "cold", "q1": "acne", "q2": "ache"}
    attendance = [others, group, others, others, others, others, ["p1", "p2"], others]
    truth = [snapshot({person: values[person] for person in here}) for here in attendance]
    published = [publish({person: values[person] for person in here}, [tuple(here)]) for here in attendance]
    found = rv.audit(published, SCHEMA, truth=truth, known="events", attacks=["difference", "absence"])
    assert certain(found) == {("p3", 2): "cold"}
    assert found.certain["releases"].to_list() == [[2, 7]]
    assert found.attacks["difference"]["pairs"] == found.attacks["difference"]["pairs_in_all"] == 56


def test_difference_compares_any_two_of_however_many(monkeypatch):
    """As above, where nothing but near releases is affordable: absence misses it, and difference does not."""
    monkeypatch.setattr(cells.pairs_of, "__defaults__", (1, 0))
    group, others = ["p1", "p2", "p3"], ["q1", "q2"]
    values = {"p1": "flu", "p2": "gout", "p3": "cold", "q1": "acne", "q2": "ache"}
    attendance = [others, group, *[others] * 40, ["p1", "p2"], others]
    truth = [snapshot({person: values[person] for person in here}) for here in attendance]
    published = [publish({person: values[person] for person in here}, [tuple(here)]) for here in attendance]
    found = rv.audit(published, SCHEMA, truth=truth, known="events", attacks=["difference", "absence"])
    assert certain(found) == {("p3", 2): "cold"}
    assert found.certain["attack"].to_list() == ["difference"]
    assert found.attacks["difference"]["pairs"] == 44 * 43 > found.attacks["absence"]["pairs"]


def test_the_strongest_findings_are_kept():
    ones = np.ones(5, np.int32)
    found = Findings(
        np.array([1, 1, 1, 2, 1], np.int32),
        np.array([0.9, 0.6, 0.5, 0.4, 1.0]),
        ones,
        np.array([False, True, True, True, True]),
        ones.astype(np.int64),
        at=np.array([0, 0, 0, 0, 1], np.int32),
    )
    kept = strongest_of(found)
    assert list(zip(kept.person, kept.belief, kept.at, strict=True)) == [
        (1, 0.9, 0),
        (1, 0.6, 0),
        (2, 0.4, 0),
        (1, 1, 1),
    ]
