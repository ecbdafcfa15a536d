"""Groups of a table in shards: decided by counts, dealt along a curve, split bin by bin. The rule is that of memory."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.core.defaults import in_force
from reveil.core.errors import InfeasibleError
from reveil.core.numbering import Scattered
from reveil.core.randomness import Dice
from reveil.engines.memory import MemoryEngine
from reveil.grouping.cut_tree import quasi_column
from reveil.grouping.hilbert import curve_places
from reveil.guarantees.signatures.binned import BIN, split_bin
from reveil.guarantees.signatures.by_counts import CountedDemand, decided, shared_out
from reveil.guarantees.signatures.dealing import Places, places_among
from reveil.guarantees.signatures.in_shards import Bins, coded_schema, in_bins, situated
from reveil.guarantees.signatures.machine import Groups
from reveil.guarantees.signatures.regions import PLACE, ends_of_regions, region_of
from reveil.guarantees.signatures.sets import Sets
from reveil.guarantees.static.in_shards import NUMBER
from reveil.models.encoding import Attribute, Codes
from reveil.testing.series import histories
from tests.guarantees.test_signature_guarantees import QUASI, VALUES, judged, obeys, run, table

GENERATED = (Phase.explicit, Phase.generate)
many = settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow], phases=GENERATED)


class InShards:
    """A guarantee whose groups are formed in shards of so many rows."""

    def form_groups(self, now, codes, rng, keys):
        rows = SHARD_ROWS[0]
        numbers = np.arange(now.size)
        places = curve_places(codes) if self.takes_near else rng.child("places").bits(numbers)
        coded = situated(now, codes, numbers, rng.child("seats").permutation(now.size), places)
        pieces = [coded[at : at + rows] for at in range(0, coded.height, rows)]
        shards = MemoryEngine(rows).scatter(pieces, coded_schema(len(codes.quasi)))
        quasi, effort = [attribute.meaning for attribute in codes.quasi], in_force(self, "effort")
        binned, decision, bins = in_bins(shards, coded.height, quasi, now.sets, now.domain, self.m, rows, effort)
        found = None
        for unsorted in sorted(binned.collect().partition_by(BIN), key=lambda part: part[BIN][0]):
            part = unsorted.sort(NUMBER)
            attributes = [Attribute(a.meaning, part[quasi_column(i)].to_numpy()) for i, a in enumerate(codes.quasi)]
            at = int(part[BIN][0])
            dice = None if self.takes_near else rng.child("points", at)
            made = split_bin(Codes(tuple(attributes), (), part.height), part, decision.sets, effort, dice)
            assert made.size == bins.base[at + 1] - bins.base[at]
            record = np.append(part[NUMBER].to_numpy(), -1)[made.record].astype(np.int32)
            whole = Groups(made.group, made.value, record, made.sets, made.signature, decision.fewest)
            found = whole if found is None else found.join(whole)
        assert found.size == bins.size
        return found


@dataclass(frozen=True)
class TauInShards(InShards, rv.TauSafety):
    kind = rv.TauSafety.kind


@dataclass(frozen=True)
class MInShards(InShards, rv.MInvariance):
    kind = rv.MInvariance.kind


SHARD_ROWS = [5]


@many
@given(
    histories(values=VALUES, max_persons=6, max_releases=3, nulls=(*QUASI, "disease")),
    st.integers(0, 99),
    st.integers(1, 7),
    st.sampled_from(["quick", "normal"]),
)
def test_the_bound_holds_whatever_the_shards(snapshots, seed, rows, effort):
    SHARD_ROWS[0] = rows
    series = run(TauInShards(m=2, domain=tuple(VALUES), effort=effort), snapshots, seed)
    obeys(series, 2)
    assert judged(series, snapshots) <= Fraction(1, 2)
    for frame, groups in zip(snapshots, series, strict=True):
        assert sum(len(members) for members, _ in groups) == frame.height


@settings(many, max_examples=60)
@given(histories(values=VALUES, max_persons=7, max_releases=3, nulls=QUASI), st.integers(0, 99), st.integers(2, 5))
def test_three_values_in_every_group(snapshots, seed, rows):
    SHARD_ROWS[0] = rows
    values = tuple("abcdefghij")
    series = run(TauInShards(m=3, domain=values, effort="quick"), snapshots, seed, domain=values)
    obeys(series, 3)
    assert judged(series, snapshots) <= Fraction(1, 3)


def comings_and_goings(seed, values="abcdef", releases=3):
    """Return tables of people who come once, two with different values at a time, and leave once."""
    rng = np.random.default_rng(seed)
    there, tables = [], []
    for _ in range(releases):
        there = [row for row in there if rng.random() < 0.7]
        for _ in range(int(rng.integers(0 if tables else 1, 3))):
            for value in rng.choice(list(values), 2, replace=False):
                there.append((int(rng.integers(0, 2**31)), int(rng.integers(0, 90)), value))
        if not there:
            break
        tables.append(table(there))
    return tables


@many
@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.sampled_from(["quick", "normal"]))
def test_m_invariance_in_shards_as_long_as_nobody_returns_or_changes(seed, rows, effort):
    SHARD_ROWS[0] = rows
    snapshots = comings_and_goings(seed)
    series = run(MInShards(m=2, effort=effort), snapshots, seed)
    obeys(series, 2)
    assert judged(series, snapshots) <= Fraction(1, 2)
    for frame, groups in zip(snapshots, series, strict=True):
        assert sum(len(members) for members, _ in groups) == frame.height
    assert all(len(members) == len(values) for members, values in series[0])  # nobody is made up at first


@settings(many, max_examples=40)
@given(histories(values="abcd", max_persons=6, max_releases=2, nulls=QUASI), st.integers(1, 7))
def test_newcomers_that_are_not_eligible_are_refused_as_in_memory(snapshots, rows):
    SHARD_ROWS[0] = rows
    found = []
    for guarantee in (MInShards(m=2), rv.MInvariance(m=2)):
        try:
            found.append(len(run(guarantee, snapshots[:1])))
        except InfeasibleError as error:
            found.append(str(error))
    assert found[0] == found[1]


@settings(many, max_examples=200)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
def test_what_is_decided_adds_up(seed, m):
    """Everybody is placed once; movers share nothing with what they were told; nobody gets a value of another."""
    rng = np.random.default_rng(seed)
    width = 3 * m + int(rng.integers(0, 5))
    sets = Sets.of([rng.choice(width, int(rng.integers(m, 2 * m)), replace=False).tolist() for _ in range(4)])
    sets, _ = sets.distinct()
    keep = rng.integers(0, 30, len(sets.members))
    told = Sets.of([rng.choice(width, m, replace=False).tolist() for _ in range(3)])
    moving = np.array([rng.choice(np.setdiff1d(np.arange(width), told.lists[c])) for c in range(3)], np.int32)
    movers, fresh = rng.integers(1, 40, 3), rng.integers(0, 60, width) * rng.integers(0, 2, width)
    demand = CountedDemand(sets, keep, fresh, moving, told, movers, np.arange(width, dtype=np.int32))
    found = decided(demand, m)
    assert np.array_equal(found.sets.lists.lengths[: len(sets)], sets.sizes)
    assert (found.sets.sizes >= m).all()
    assert (found.sets.sizes[len(sets) :] < 2 * m).all()
    placed = np.bincount(found.sets.members, weights=found.newcomers, minlength=width)
    assert np.array_equal(placed, fresh)
    moved = np.zeros(3, np.int64)
    for (c, s), people in zip(found.pairs, found.moved, strict=True):
        members = set(found.sets.lists[s].tolist())
        assert int(moving[c]) in members
        assert not members & set(told.lists[c].tolist())
        moved[c] += people
    assert np.array_equal(moved, movers)


def test_places_are_the_same_whoever_asks():
    rng = np.random.default_rng(0)
    for _ in range(100):
        amounts = rng.integers(1, 60, int(rng.integers(1, 30)))
        places = Places(np.arange(len(amounts)), amounts)
        everybody = places.dealt(0, places.size)
        assert np.array_equal(np.bincount(everybody), amounts)
        first, end = sorted(rng.integers(0, places.size + 1, 2).tolist())
        assert np.array_equal(places.dealt(first, end), everybody[first:end])
    with pytest.raises(ValueError, match="not so many"):
        places.dealt(0, places.size + 1)


def test_holes_are_spread_over_the_groups():
    slot = places_among(np.arange(30), np.full(30, 30), np.full(30, 100))
    assert len(set(slot.tolist())) == 30
    assert slot.min() >= 0
    assert slot.max() < 100
    assert np.diff(slot).max() <= 4
    assert shared_out(7, np.array([10, 0, 4])).tolist() == [5, 0, 2]
    with pytest.raises(ValueError, match="more to give"):
        shared_out(15, np.array([10, 0, 4]))


def test_parts_of_a_large_signature_have_as_many_groups_as_it_has():
    sets = Sets.of([[0, 1], [2, 3, 4], [5, 6], [7, 8]])
    bins = Bins.of(sets, np.array([50, 48, 3, 3, 2, 4, 4, 0, 0]), 20)
    assert bins.parts.tolist() == [5, 1, 1, 1]
    assert bins.groups.tolist() == [50, 3, 4, 0]
    assert bins.size == 57
    assert bins.first.tolist()[:3] == [0, 5, 5]  # the small ones are together
    assert bins.base.tolist() == [0, 10, 20, 30, 40, 50, 57]


def test_regions_end_at_quantiles():
    rng = np.random.default_rng(3)
    places = np.concatenate([rng.integers(0, 2**64, 4_000, np.uint64), np.full(500, 2**40, np.uint64)])
    frame = pl.DataFrame({PLACE: rng.permutation(places)})
    shards = MemoryEngine(1_000).scatter([frame[:1_700], frame[1_700:]], frame.schema)
    sizes = np.bincount(region_of(places, ends_of_regions(shards, 9, 10**6)))
    assert len(sizes) == 9
    assert sizes.max() <= 500 + 500
    assert sizes.sum() == 4_500


def test_numbers_in_a_random_order_that_nobody_holds():
    for size in (1, 2, 3, 100, 70_000):
        numbers = Scattered(size, Dice.of_seed(size))
        found = numbers[np.arange(size)]
        assert np.array_equal(np.sort(found), np.arange(size))
        assert np.array_equal(numbers[np.arange(size)[::7]], found[::7])
    assert abs(np.corrcoef(np.arange(size), found)[0, 1]) < 0.02
