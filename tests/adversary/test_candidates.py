"""Who may be in which group: against a plain loop, and where there are too many to list."""

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.adversary import candidates
from reveil.adversary.candidates import Candidates, exclude_by_counting
from reveil.adversary.gathering import gather
from reveil.core.arrays import Ragged
from reveil.releases import linking

SCHEMA = rv.Schema(person="pid", quasi=["x", "y"], sensitive="disease")


@st.composite
def tables(draw):
    persons = draw(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=12))
    boxes = draw(
        st.lists(st.tuples(*[st.tuples(st.integers(0, 6), st.integers(0, 6)).map(sorted)] * 2), min_size=1, max_size=8)
    )
    return persons, [tuple(map(tuple, box)) for box in boxes]


def gathered(persons, boxes, known="nothing"):
    people = pl.DataFrame({"pid": range(len(persons)), "x": [p[0] for p in persons], "y": [p[1] for p in persons]})
    cells = [{"x": f"[{x[0]}, {x[1]}]", "y": f"[{y[0]}, {y[1]}]", "disease": "flu"} for x, y in boxes]
    return gather([pl.DataFrame(cells)], SCHEMA, people, known=known).views[0]


def plainly(persons, view, boxes):
    """Return the groups of each person; groups are numbered by the published rows."""
    box = {int(g): b for g, b in zip(view.row_groups, boxes, strict=True)}
    return [
        sorted(g for g, b in box.items() if all(low <= c <= high for c, (low, high) in zip(p, b, strict=True)))
        for p in persons
    ]


@given(tables())
@settings(deadline=None, max_examples=50)
def test_candidates_are_the_boxes_around_a_person(drawn):
    persons, boxes = drawn
    view = gathered(persons, boxes)
    found = [g.tolist() for g in view.candidates]
    expected = plainly(persons, view, boxes)
    assert found == expected
    # A list shorter than the table leaves strangers, who may be anywhere.
    strangers = len(boxes) if len(persons) < len(boxes) else 0
    assert view.fits.tolist() == [sum(g in own for own in expected) + strangers for g in range(view.n_groups)]


@given(tables())
@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_hulls_that_are_tested_again_give_the_same(monkeypatch, drawn):
    persons, boxes = drawn
    fast = gathered(persons, boxes)
    with monkeypatch.context() as own:
        own.setattr(linking.DistinctBoxes, "hulls_suffice", False)
        slow = gathered(persons, boxes)
    assert [one.tolist() for one in fast.candidates] == [one.tolist() for one in slow.candidates]
    assert fast.fits.tolist() == slow.fits.tolist()
    assert fast.crowded.tolist() == slow.crowded.tolist()


@given(tables())
@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whoever_fits_too_many_groups_is_nowhere_and_still_counts(monkeypatch, drawn):
    persons, boxes = drawn
    monkeypatch.setattr(candidates, "MOST_GROUPS", 2)
    monkeypatch.setattr(candidates, "SAMPLE", 1)
    monkeypatch.setattr(candidates, "HITS", 1)
    view = gathered(persons, boxes)
    expected = plainly(persons, view, boxes)
    found = [g.tolist() for g in view.candidates]
    for own, wanted, crowded in zip(found, expected, view.crowded, strict=True):
        assert own == ([] if crowded else wanted)
    assert (view.fits >= [sum(g in own for own in expected) for g in range(view.n_groups)]).all()
    assert not view.sure[view.crowded].tolist() or (view.sure[view.crowded] == -1).all()


def listed(*own, fits=None, groups=2):
    sizes = [len(each) for each in own]
    flat = np.array([g for each in own for g in each], np.int32)
    counts = np.bincount(flat, minlength=groups).astype(np.int64) if fits is None else np.array(fits)
    return Candidates(Ragged.of_lengths(sizes, flat), counts, np.zeros(len(own), np.bool_))


@pytest.mark.parametrize(
    ("given_", "real", "everybody", "expected"),
    [
        # Group 0 is full with the person who fits nothing else.
        (listed([0], [0, 1]), [1, 1], True, [[0], [1]]),
        # Group 1 needs the only person who fits it, published or not.
        (listed([0], [0, 1]), [1, 1], False, [[0], [1]]),
        (listed([0, 1], [0, 1]), [1, 1], True, [[0, 1], [0, 1]]),
        # Somebody may not be published: the one who fits group 0 alone need not be in it.
        (listed([0], [0, 1], [1]), [1, 1], False, [[0], [0, 1], [1]]),
    ],
)
def test_counting_settles(given_, real, everybody, expected):
    found = exclude_by_counting(given_, np.array(real), all_published=everybody)
    assert [g.tolist() for g in found.groups] == expected
    assert found.fits.tolist() == [sum(g in own for own in expected) for g in range(len(real))]
