"""The rule itself, after each release of random series, judged by code that knows nothing of the publisher."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reveil as rv
from tests.guarantees.plain_book import PlainSeries
from tests.guarantees.refinement.plain_cells import Told
from tests.rarely import mostly_slow

SCHEMA = rv.Schema(person="pid", quasi=("age", "sex"), sensitive="disease")
PEOPLE = 16
GUARANTEES = [
    rv.Refinement(k=2),
    rv.Refinement(k=3, l=2, slack=1),
    rv.Refinement(k=2, l=2, diversity="frequency"),
    rv.Refinement(k=2, l=2, dirty="never", slack=1),
    rv.Refinement(k=2, l=2, blind=True, slack=1),
    rv.Refinement(l=2, diversity="entropy", slack=1),
]


@st.composite
def histories(draw: st.DrawFn) -> list[pl.DataFrame]:
    """Tables of the same people: any of them present at any time, now and then with another value."""
    age = draw(st.lists(st.integers(20, 29), min_size=PEOPLE, max_size=PEOPLE))
    value = draw(st.lists(st.sampled_from("abcd"), min_size=PEOPLE, max_size=PEOPLE))
    frames = []
    for _ in range(draw(st.integers(2, 5))):
        there = sorted(draw(st.sets(st.integers(0, PEOPLE - 1), min_size=4)))
        for who in draw(st.lists(st.integers(0, PEOPLE - 1), max_size=3)):
            value[who] = draw(st.sampled_from("abcd"))
        frames.append(
            pl.DataFrame(
                {
                    "pid": there,
                    "age": [age[p] for p in there],
                    "sex": ["f" if p % 2 else "m" for p in there],
                    "disease": [value[p] for p in there],
                }
            )
        )
    return frames


@pytest.mark.parametrize("guarantee", mostly_slow(GUARANTEES, 2), ids=repr)
@settings(max_examples=8, deadline=None)
@given(frames=histories())
def test_no_release_leaves_an_invalid_cell(guarantee: rv.Refinement, frames: list[pl.DataFrame]) -> None:
    told, series = Told(), PlainSeries(SCHEMA, guarantee)
    for frame in frames:
        try:
            prepared = series.publish(frame)
        except rv.InfeasibleError:
            continue
        except rv.RefusedError:
            assert guarantee.blind  # values that change are not for blind series
            continue
        people = frame["pid"].to_list()
        told.add(prepared.release, series.placed(prepared, people), people)
        _judge(told, guarantee, prepared.release.manifest)


@pytest.mark.slow
@settings(max_examples=3, deadline=None)
@given(frames=histories())
def test_a_vault_remembers_what_frames_do(frames: list[pl.DataFrame]) -> None:
    guarantee = rv.Refinement(k=2, l=2, slack=1)
    everybody = pl.DataFrame({"pid": range(PEOPLE)})
    told = Told()
    with tempfile.TemporaryDirectory() as folder:
        series = rv.Series.open(Path(folder) / "vault", SCHEMA, guarantee, seed=1)
        for frame in frames:
            try:
                release = series.publish_to(None, frame, again=True).release
            except rv.InfeasibleError:
                continue
            placed = series.placements(len(told.releases) + 1, everybody).select("person", "row", "group").iter_rows()
            told.add(release, {person: (row, group) for person, row, group in placed}, frame["pid"].to_list())
            _judge(told, guarantee, release.manifest)


def _judge(told: Told, guarantee: rv.Refinement, manifest: dict[str, Any]) -> None:
    assert not told.invalid(guarantee)
    assert not told.betrayed()
    published, asked = set(told.releases[-1]), told.asked[-1]
    assert manifest["rows"] == len(published)
    assert manifest["withheld"] == len(asked - published)
    assert manifest["dirty"] == len(published - asked)
    if guarantee.dirty == "never":
        assert not manifest["dirty"]
