"""Groups formed bucket by bucket, region by region, shard by shard: the same rule, whatever the size of the parts."""

from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.core.errors import InfeasibleError, VerificationError
from reveil.core.randomness import Dice
from reveil.guarantees.signatures import exchanging, machine
from reveil.guarantees.signatures import pool as pools
from reveil.guarantees.signatures.frequencies import steps
from reveil.guarantees.signatures.signature_based import points_of, space_of
from reveil.guarantees.signatures.space import CodePoints
from reveil.models.encoding import encode
from reveil.tables.snapshot import Snapshot
from reveil.testing.series import histories, schema
from reveil.verification.judges import tau_safety
from tests.guarantees.signatures.plain_memory import PlainMemory
from tests.guarantees.test_signature_guarantees import QUASI, VALUES, judged, obeys, run
from tests.judged import Judged

GENERATED = (Phase.explicit, Phase.generate)  # what fails is small already
many = settings(deadline=None, max_examples=160, suppress_health_check=[HealthCheck.too_slow], phases=GENERATED)


@contextmanager
def parts_of(rows):
    """Let parts be of so few records."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pools, "REGION_ROWS", rows)
        patch.setattr(machine, "SPLIT_ROWS", rows)
        patch.setattr(exchanging, "SHARD_ROWS", rows)
        patch.setattr(tau_safety, "_AT_ONCE", rows)
        yield


@many
@given(
    histories(values=VALUES, max_persons=6, max_releases=3, nulls=(*QUASI, "disease")),
    st.integers(0, 99),
    st.integers(1, 4),
    st.sampled_from(["quick", "normal"]),
)
def test_tau_safety_keeps_its_bound_in_parts(snapshots, seed, rows, effort):
    with parts_of(rows):
        series = run(rv.TauSafety(m=2, domain=tuple(VALUES), effort=effort), snapshots, seed)
    obeys(series, 2)
    assert judged(series, snapshots) <= Fraction(1, 2)
    for frame, groups in zip(snapshots, series, strict=True):
        assert sum(len(members) for members, _ in groups) == frame.height


@settings(many, max_examples=80)
@given(
    histories(values=VALUES, max_persons=7, max_releases=3, changes=False, nulls=QUASI),
    st.integers(0, 99),
    st.integers(2, 5),
    st.sampled_from(["boxes", "angelized", "exact"]),
)
def test_every_form_with_values_that_never_change(snapshots, seed, rows, form):
    with parts_of(rows):
        series = run(rv.TauSafety(m=3, domain=tuple(VALUES), fixed=True, form=form), snapshots, seed)
    obeys(series, 3)
    assert judged(series, snapshots) <= Fraction(1, 3)


@settings(many, max_examples=80)
@given(
    histories(values="abcdefg", max_persons=8, max_releases=3, returns=False, changes=False),
    st.integers(0, 99),
    st.integers(2, 5),
    st.sampled_from(["quick", "normal"]),
)
def test_m_invariance_in_parts(snapshots, seed, rows, effort):
    try:
        with parts_of(rows):
            series = run(rv.MInvariance(2, effort=effort), snapshots, seed)
    except InfeasibleError:
        return  # the new records are not eligible
    obeys(series, 2)
    assert judged(series, snapshots) <= Fraction(1, 2)


def people(size, seed):
    """Return people of whom near ones have values in common."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, size)
    value = np.minimum(rng.geometric(0.25, size) - 1 + age // 50, len(VALUES) - 1)
    town = rng.choice(["north", "south", "west"], size)
    return pl.DataFrame({"pid": np.arange(size), "age": age, "town": town, "disease": [VALUES[v] for v in value]})


def series_of(rows, effort):
    """Publish three releases of people who come and go; return counterfeits and the mean width of their ages."""
    memory, rng = (
        PlainMemory(rv.TauSafety(m=2, domain=tuple(VALUES), effort=effort), schema()),
        np.random.default_rng(5),
    )
    frame, fakes, widths = people(4_000, 1), 0, []
    with parts_of(rows):
        for t in range(3):
            here = frame.filter(pl.Series(rng.random(frame.height) < 0.9))
            prepared = memory.publish(here, Dice.of_seed(3).child("release", t))
            cells = prepared.release.cells["age"]
            spans = (cells.distinct.struct.field("hi") - cells.distinct.struct.field("lo")).fill_null(0).to_numpy()
            widths.append(float(spans[cells.index[prepared.release.classes]].mean()))
            fakes += prepared.release.manifest.counterfeits.total
    return fakes, float(np.mean(widths))


@pytest.mark.parametrize("effort", ["quick", "normal"])
def test_parts_cost_few_counterfeits_and_little_width(effort):
    whole, parts = series_of(10_000, effort), series_of(1_000, effort)
    assert parts[0] <= whole[0] + 40  # of about 11,000 rows
    assert parts[1] <= 1.35 * whole[1]


def test_points_are_made_of_the_records_that_are_asked_for():
    codes = encode(Snapshot(people(50, 2), schema(), "the frame", "polars"))
    some = np.array([7, 7, 3, 49], np.int32)
    assert np.array_equal(CodePoints(codes)[some], points_of(codes)[some])


def test_a_pool_is_drawn_by_region_without_a_rest():
    """As many records of each value as the steps say, each once, however many regions there are."""
    frame = people(600, 4)
    codes = encode(Snapshot(frame, schema(), "the frame", "polars"))
    values = np.array([VALUES.index(v) for v in frame["disease"]], np.int32)
    counts = np.bincount(values, minlength=len(VALUES))
    records = np.flatnonzero(values < 6).astype(np.int32)
    counts[6:] = 0
    plan = steps(counts, 2)
    for rows in (40, 100, 1_000):
        with parts_of(rows):
            pool = pools.FreeRecords(records, values, space_of(codes), len(VALUES))
            drawn = machine.Buckets(*pool.draw(plan))
        assert not pool.left.any()
        assert np.array_equal(np.sort(drawn.records.items), records)
        assert all((values[drawn.records[s]] == drawn.sets.members[s]).all() for s in range(len(drawn.records)))
        sizes = drawn.records.lengths
        wanted = {}
        for s, owner in enumerate(drawn.sets.of_member):
            key = tuple(drawn.sets.lists[owner].tolist()), int(drawn.sets.members[s])
            wanted[key] = wanted.get(key, 0) + int(sizes[s])
        told = {}
        for step in plan:
            for value in step.values:
                key = tuple(step.values.tolist()), int(value)
                told[key] = told.get(key, 0) + step.amount
        assert {key: n for key, n in wanted.items() if n} == told


def test_buckets_are_split_in_the_same_way_one_by_one_and_together():
    frame = people(900, 6)
    codes = encode(Snapshot(frame, schema(), "the frame", "polars"))
    values = np.array([VALUES.index(v) for v in frame["disease"]], np.int32)
    sets = machine.Sets.of([[0, 1, 2], [3, 4], [5, 6, 7]])
    bucket = np.array([0, 0, 0, 1, 1, 2, 2, 2])[values]
    buckets = machine.bucketed(sets, bucket, values, np.arange(900, dtype=np.int32))
    with parts_of(100):
        apart = buckets.split(CodePoints(codes), swap=True)
    together = buckets.split(points_of(codes), swap=True)
    assert np.array_equal(apart.record, together.record)


def test_the_judge_finds_in_any_part_who_would_get_another_signature():
    """Signatures that overlap earlier ones are counted over all parts, whatever part their people are in."""
    frame, own = people(40, 8), schema()
    changed = frame.with_columns(disease=pl.when(pl.col("pid") % 3 == 0).then(pl.lit("h")).otherwise("disease"))
    memory = PlainMemory(rv.TauSafety(m=2, domain=tuple(VALUES), strict=False), own)  # which keeps no rule
    made = [memory.publish(table, Dice.of_seed(0)) for table in (frame, changed)]
    said = []
    for rows in (1, 7, 1_000):
        judge = Judged(rv.TauSafety(m=2, domain=tuple(VALUES)))
        with parts_of(rows):
            judge.apply(judge.check(judge.shown(made[0], np.arange(40), 1)))
            with pytest.raises(VerificationError, match="persons would get a signature") as caught:
                judge.check(judge.shown(made[1], np.arange(40), 2))
        said.append(int(str(caught.value).split()[0]))
    assert len(set(said)) == 1
