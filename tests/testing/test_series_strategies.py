"""The series drawn for tests: always well-formed, everything occurs, counterexamples shrink to a glance."""

from itertools import pairwise
from random import Random

import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from reveil.models.encoding import encode
from reveil.tables.snapshot import read_snapshot
from reveil.testing.series import QUASI, changed, histories, present, schema, truth

quick = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
search = settings(
    deadline=None,
    max_examples=3000,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)


def smallest(such, **options):
    return find(histories(**options), such, settings=search, random=Random(3))  # noqa: S311


@quick
@given(histories())
def test_snapshots_are_readable(series):
    assert 1 <= len(series) <= 4
    for snapshot in series:
        assert 1 <= snapshot.height <= 6
        assert snapshot.columns == ["pid", "age", "town", "disease"]
        assert snapshot.schema == series[0].schema
        assert snapshot["pid"].is_unique().all()
        codes = encode(read_snapshot(snapshot, schema()))
        assert codes.n == snapshot.height
        read_snapshot(snapshot, schema(domain="abcdefg"))


@quick
@given(histories(nulls=(), returns=False, changes=False))
def test_what_is_switched_off_does_not_happen(series):
    assert not any(snapshot.null_count().sum_horizontal().item() for snapshot in series)
    assert not any(differs for told in changed(series).values() for differs in told.values())
    for person in {p for here in present(series) for p in here}:
        times = [t for t, here in enumerate(present(series)) if person in here]
        assert times == list(range(times[0], times[-1] + 1))


@quick
@given(histories(2, 3, "xy", {"height": [1.5, 1.75]}, nulls=["height"], min_releases=2))
def test_other_columns(series):
    assert 2 <= len(series) <= 3
    assert series[0].schema["height"] == pl.Float64
    for snapshot in series:
        assert snapshot["disease"].is_in(["x", "y"]).all()
        read_snapshot(snapshot, schema(["height"]))


@quick
@given(histories(), st.data())
def test_helpers_agree_with_the_frames(series, data):
    published = [data.draw(st.sets(st.sampled_from(here))) for here in present(series)]
    for people, told in ((present(series), changed(series)), (published, changed(series, published))):
        assert set(told) == {p for here in people for p in here}
        for person, own in told.items():
            times = [t for t, here in enumerate(people) if person in here]
            assert list(own) == times[1:]
            for before, t in pairwise(times):
                assert own[t] == (truth(series)[t][person] != truth(series)[before][person])


def rows(series, person):
    return [dict(zip(s["pid"], s.rows(), strict=True)).get(person) for s in series]


def people(series):
    return sorted({p for here in present(series) for p in here})


def back(series, differs):
    times = {p: [t for t, here in enumerate(present(series)) if p in here] for p in people(series)}
    return any(told[t] is differs and t - 1 not in times[p] for p, told in changed(series).items() for t in told)


HAPPENINGS = {
    "an insertion": lambda s: bool(set(present(s)[-1]) - set(present(s)[0])),
    "a departure": lambda s: bool(set(present(s)[0]) - set(present(s)[-1])),
    "a return": lambda s: back(s, False),
    "a return with another value": lambda s: back(s, True),
    "another value": lambda s: any(any(told.values()) for told in changed(s).values()),
    "other quasi values, same value": lambda s: any(
        a and b and a[:3] != b[:3] and a[3] == b[3] for p in people(s) for a, b in pairwise(rows(s, p))
    ),
    "a missing quasi value": lambda s: any(f.select(*QUASI).null_count().sum_horizontal().item() for f in s),
    "a missing sensitive value": lambda s: any(f["disease"].null_count() for f in s),
    "text for persons": lambda s: s[0].schema["pid"] == pl.String,
    "one who remains of many": lambda s: s[0].height > 2 and s[-1].height == 1,
    "ties": lambda s: s[0].height > s[0].select("age", "town").unique().height,
    "all values different": lambda s: s[0].height > 2 and s[0]["disease"].is_unique().all(),
}
MOST = {"one who remains of many": 3, "all values different": 3}


@pytest.mark.parametrize("name", HAPPENINGS)
def test_everything_happens_and_shrinks(name):
    series = smallest(HAPPENINGS[name])
    assert len(people(series)) <= MOST.get(name, 2)
    assert sum(snapshot.height for snapshot in series) <= 8
