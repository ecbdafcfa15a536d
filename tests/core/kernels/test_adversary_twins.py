"""The adversary's kernels against their plain twins."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reveil.core.kernels import chains, worlds
from tests.core.kernels.plain import chains as plain_chains
from tests.core.kernels.plain import worlds as plain_worlds

quick = settings(deadline=None)
VALUES = 70  # more than one word of bits
value_sets = st.sets(st.sampled_from([0, 1, 2, 63, 64, 69]), min_size=1, max_size=4)


def bits(sets):
    found = np.zeros((len(sets), 2), np.uint64)
    for i, own in enumerate(sets):
        for value in own:
            found[i, value // 64] |= np.uint64(1) << np.uint64(value % 64)
    return found


def sets_of(masks):
    return [{v for v in range(VALUES) if (int(row[v // 64]) >> (v % 64)) & 1} for row in masks]


def listed(candidates):
    offsets = np.append(0, np.cumsum([len(own) for own in candidates])).astype(np.int64)
    return offsets, np.array([g for own in candidates for g in sorted(own)], np.int32)


def left(offsets, groups, alive):
    return [set(groups[a:b][alive[a:b]].tolist()) for a, b in pairwise(offsets)]


@st.composite
def lives(draw):
    """Appearances of three persons, release by release, with masks, candidates and what is known."""
    groups = draw(st.lists(value_sets, min_size=1, max_size=5))
    person = [p for _ in range(draw(st.integers(1, 3))) for p in range(3) if draw(st.booleans())] or [0]
    before, last = [], {}
    for i, p in enumerate(person):
        before.append(last.get(p, -1))
        last[p] = i
    n = len(person)
    some = st.lists(st.booleans(), min_size=n, max_size=n)
    candidates = [draw(st.sets(st.integers(0, len(groups) - 1), max_size=4)) for _ in person]
    masks = [draw(value_sets) for _ in person]
    changed = [draw(st.sampled_from([-1, 0, 1])) for _ in person]
    return groups, person, before, candidates, masks, changed, draw(some), draw(some)


@quick
@given(lives())
def test_chain_and_admit(case):
    groups, _, before, candidates, masks, changed, loose, _ = case
    n = len(masks)
    own, dirty, broken = bits(masks), np.zeros(n, bool), np.zeros(n, bool)
    chains.chain(np.array(before), np.array(changed, np.int8), own, chains.Marks(dirty, broken))
    expected = plain_chains.chain(before, changed, masks)
    assert sets_of(own) == expected
    assert dirty.tolist() == [a != b for a, b in zip(masks, expected, strict=True)]

    own, dirty = bits(masks), np.zeros(n, bool)
    offsets, flat = listed(candidates)
    alive = np.ones(len(flat), bool)
    moved = chains.admit(
        chains.LiveCandidates(offsets, flat, bits(groups), np.array(loose), alive), own, chains.Marks(dirty, broken)
    )
    fewer, narrower = plain_chains.admit(candidates, groups, loose, masks)
    assert sets_of(own) == narrower
    assert left(offsets, flat, alive) == fewer
    assert moved == dirty.sum()


@quick
@given(lives(), st.booleans())
def test_agree(case, everywhere):
    groups, person, before, candidates, _, _, loose, kept = case
    offsets, flat = listed(candidates)
    alive = np.ones(len(flat), bool)
    persons = [[i for i, p in enumerate(person) if p == who] for who in range(3)]
    own = np.append(0, np.cumsum([len(appearances) for appearances in persons])).astype(np.int64)
    order = np.array([i for appearances in persons for i in appearances], np.int64)
    n = len(person)
    dirty, broken = np.zeros(n, bool), np.zeros(n, bool)
    chains.agree(
        own,
        order,
        chains.LiveCandidates(offsets, flat, bits(groups), np.array(loose), alive),
        np.array(before),
        np.array(kept),
        everywhere,
        chains.Marks(dirty, broken),
    )
    expected = plain_chains.agree(persons, candidates, groups, before, kept, loose, everywhere=everywhere)
    assert left(offsets, flat, alive) == expected
    assert dirty.tolist() == [a != b for a, b in zip(candidates, expected, strict=True)]


@quick
@given(
    st.lists(value_sets, min_size=1, max_size=5),
    st.lists(st.tuples(st.sets(st.integers(0, 4)), st.lists(st.integers(-1, 4), min_size=3, max_size=3)), min_size=1),
)
def test_settle(groups, persons):
    candidates = [sorted(g for g in own if g < len(groups)) for own, _ in persons]
    told = [[h if h < len(groups) else -1 for h in known] for _, known in persons]
    offsets, flat = listed(candidates)
    many, least, group = (np.zeros(len(persons), np.int64) for _ in range(3))
    settled = np.zeros(len(persons), bool)
    signature = np.array([groups.index(own) for own in groups], np.int32)
    chains.signatures_left(
        chains.ReleaseCandidates(offsets, flat, 0, np.arange(len(persons), dtype=np.int32), 1),
        np.array(told, np.int32),
        chains.GroupSets(bits(groups), np.array([len(own) for own in groups]), signature),
        chains.SignaturesLeft(many, least, group, settled),
    )
    # What is told about this release itself does not count.
    known = [[h for t, h in enumerate(own) if t != 1 and h >= 0] for own in told]
    expected = plain_chains.settle(candidates, known, groups)
    assert list(zip(many.tolist(), least.tolist(), group.tolist(), settled.tolist(), strict=True)) == expected


@st.composite
def components(draw):
    """A component of up to five appearances of up to three persons, in the order of lives."""
    rows = {g: draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=3)) for g in range(3)}
    room = {g: draw(st.integers(1, len(own))) for g, own in rows.items()}
    before, changed, kept, options = [], [], [], []
    for i in range(draw(st.integers(1, 5))):
        before.append(i - 1 if i and draw(st.booleans()) else -1)
        changed.append(draw(st.sampled_from([-1, 0, 1])))
        kept.append(draw(st.booleans()))
        own = draw(st.sets(st.integers(0, 2), min_size=1))
        options.append([(g, v) for g in sorted(own) for v in sorted(set(rows[g]))])
    everywhere = draw(st.booleans())
    return plain_worlds.Component(
        options, before, changed, rows, room, everywhere, [k and not everywhere for k in kept]
    )


def arrays(component):
    rows = [(g, v) for g, own in component.rows.items() for v in sorted(set(own))]
    flat = [option for own in component.options for option in own]
    rank = [sorted({v for _, v in own}).index(v) for own in component.options for _, v in own]
    n = len(component.options)
    sets = bits([{"abc".index(v) for v in own} for own in component.rows.values()])
    options = worlds.Options(
        np.array([0, n]),
        np.arange(n),
        np.append(0, np.cumsum([len(own) for own in component.options])),
        np.array([g for g, _ in flat]),
        np.array(["abc".index(v) for _, v in flat], np.int32),
        np.array([rows.index(option) for option in flat]),
        np.array(rank),
    )
    lives = worlds.Lives(
        np.array(component.before),
        np.array(component.changed, np.int8),
        component.everywhere,
        np.array(component.kept),
        sets,
    )
    free = worlds.Free(np.array([component.rows[g].count(v) for g, v in rows]), np.array(list(component.room.values())))
    return flat, options, lives, free


@quick
@given(components(), st.booleans())
def test_all_worlds(component, once):
    flat, options, lives, free = arrays(component)
    tally = np.zeros(len(flat), np.int64)
    stock = free.rows.copy(), free.room.copy()
    found = worlds.count(options, lives, free, once, 100_000, tally)
    number, expected = plain_worlds.count(component, once=once)
    assert found.tolist() == [number]
    for s, own in enumerate(expected):
        counted = Counter()
        for o in range(options.first[s], options.first[s + 1]):
            counted[flat[o][1] if once else flat[o]] += int(tally[o])
        assert +counted == own
    assert (free.rows == stock[0]).all()
    assert (free.room == stock[1]).all()
    given_up = worlds.count(options, lives, free, once, 1, tally)
    assert given_up.tolist() == [-1]
    assert not tally.any() or once


@quick
@given(components(), st.integers(0, 2**32 - 1))
def test_drawn_worlds(component, seed):
    flat, options, lives, free = arrays(component)
    tally = np.zeros(len(flat))
    dice = np.random.default_rng(seed).random((20, len(component.options)))
    total, squares = worlds.draw(options, lives, free, dice, tally)
    expected = plain_worlds.draw(component, dice.tolist())
    assert (total[0], squares[0]) == pytest.approx(expected[:2])
    for s, own in enumerate(expected[2]):
        for o in range(options.first[s], options.first[s + 1]):
            assert tally[o] == pytest.approx(own[flat[o]])
