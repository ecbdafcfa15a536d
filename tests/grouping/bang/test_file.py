"""The live file: whatever comes and goes, the axioms and the capacity rule hold, and it is what the plain twin is."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from reveil.grouping.bang.building import build
from reveil.grouping.bang.file import BangFile, stored_directory
from reveil.grouping.bang.keys import interleaved, sort_keys
from tests.core.kernels.plain.bang_file import PlainFile
from tests.grouping.bang.rules import check_rules, texts_of

BITS = (3, 2, 2)
cell_rows = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 3), st.integers(0, 3)), max_size=12)


def keys_of(rows):
    return interleaved(np.array(rows, np.int32).reshape(-1, 3), BITS)


def members_of(file):
    ids, offsets = file.records()
    return [ids[a:b].tolist() for a, b in itertools.pairwise(offsets)]


def names(file):
    return [format(number, f"0{level}b") if level else "" for number, level in file.regions.numbers()]


class Living(RuleBasedStateMachine):
    """Random insertions and deletions, in step with the plain twin and with whoever follows the log."""

    @initialize(capacity=st.integers(1, 4), rows=cell_rows)
    def start(self, capacity, rows):
        self.keys = keys_of(rows)
        self.file = BangFile.build(self.keys, BITS, capacity)
        self.plain = PlainFile(capacity)
        self.plain.insert(dict(enumerate(texts_of(self.keys, sum(BITS)))))
        self.there = set(range(len(rows)))
        self.followed = set(self.file.numbers.tolist())

    @rule(rows=cell_rows, seed=st.integers(0, 99))
    def insert(self, rows, seed):
        before = self._by_number()
        ids = np.random.default_rng(seed).permutation(np.arange(len(self.keys), len(self.keys) + len(rows)))
        keys = keys_of(rows)
        self.keys = np.concatenate([self.keys, np.empty_like(keys)])
        self.keys[ids] = keys
        self.file.insert(keys, ids)
        self.plain.insert(dict(zip(ids.tolist(), texts_of(keys, sum(BITS)), strict=True)))
        self.there |= set(ids.tolist())
        self._compare(before, ids)

    @rule(share=st.sampled_from([0.1, 0.5, 1.0]), seed=st.integers(0, 99))
    def delete(self, share, seed):
        before = self._by_number()
        rng = np.random.default_rng(seed)
        ids = np.array([i for i in sorted(self.there) if rng.random() < share], np.int64)
        self.file.delete(ids)
        self.plain.delete(ids.tolist())
        self.there -= set(ids.tolist())
        self._compare(before, ids)

    @rule()
    def store_and_load(self):
        ids = np.array(sorted(self.there), np.int64)
        again = BangFile.from_state(json.loads(json.dumps(self.file.state())), self.keys[ids], ids)
        assert names(again) == names(self.file)
        assert [sorted(own) for own in members_of(again)] == [sorted(own) for own in members_of(self.file)]

    def _by_number(self):
        return dict(zip(self.file.numbers.tolist(), [sorted(own) for own in members_of(self.file)], strict=True))

    def _compare(self, before, ids):
        assert names(self.file) == sorted(self.plain.blocks)
        for region, own in zip(names(self.file), members_of(self.file), strict=True):
            assert sorted(own) == sorted(self.plain.blocks[region])
        after = self._by_number()
        changed = {number for number, own in after.items() if own != before.get(number)}
        log = self.file.take_log()
        concerned = {number for change in log for number in (*change.a.tolist(), *change.b.tolist())}
        moved = set(ids.tolist())
        concerned |= {number for blocks in (before, after) for number, own in blocks.items() if moved & set(own)}
        assert changed <= concerned, "an operation changes only the blocks of its records and those the log names"
        for change in log:
            for a, b in zip(change.a.tolist(), change.b.tolist(), strict=True):
                if change.split:
                    assert a in self.followed
                    assert b not in self.followed
                    self.followed.add(b)
                else:
                    assert {a, b} <= self.followed
                    self.followed.remove(a)
        assert self.followed == set(after)

    @invariant()
    def rules_hold(self):
        file, members = self.file, members_of(self.file)
        assert {record for own in members for record in own} == self.there
        assert file.n == len(self.there) == sum(map(len, members))
        assert file.counts.tolist() == [len(own) for own in members]
        check_rules(file.regions, members, self.keys, file.capacity)
        for place, own in enumerate(members):
            assert (file.search(self.keys[own]) == place).all()


TestLiving = Living.TestCase
TestLiving.settings = settings(max_examples=12, stateful_step_count=8, deadline=None)


def test_one_by_one_and_at_once_are_both_valid():
    rng = np.random.default_rng(3)
    keys = keys_of(np.stack([rng.integers(0, 2**b, 120) for b in BITS], axis=1))
    single = BangFile(BITS, 3)
    for i in range(120):
        single.insert(keys[i : i + 1], np.array([i]))
    for file in (single, BangFile.build(keys, BITS, 3)):
        check_rules(file.regions, members_of(file), keys, 3)
    for i in range(118):
        single.delete(np.array([i]))
    assert single.counts.tolist() == [2]
    assert names(single) == [""]


def test_building_the_file_is_building_the_blocks():
    rng = np.random.default_rng(4)
    keys = keys_of(np.stack([rng.integers(0, 2**b, 300) for b in BITS], axis=1))
    file = BangFile.build(keys, BITS, 4, np.arange(300) * 2)
    order, ordered = sort_keys(keys)
    blocks = build(ordered, BITS, 4)
    assert file.regions.numbers() == blocks.regions.numbers()
    ids, offsets = file.records()
    assert (ids == 2 * order[blocks.records]).all()
    assert (offsets == blocks.offsets).all()


def test_many_into_few_and_long_keys():
    bits = (10,) * 15
    rng = np.random.default_rng(5)
    keys = interleaved(rng.integers(0, 1024, (2000, 15)).astype(np.int32), bits)
    file = BangFile(bits, 5)
    file.insert(keys[:10], np.arange(10))
    file.insert(keys[10:], np.arange(10, 2000))
    assert file.counts.min() >= 5
    assert file.counts.max() < 15, "no two records are in the same cell"
    assert (np.sort(file.records()[0]) == np.arange(2000)).all()
    file.delete(np.arange(0, 2000, 3))
    assert (np.bincount(file.search(keys[np.setdiff1d(np.arange(2000), np.arange(0, 2000, 3))])) == file.counts).all()
    assert file.counts.min() >= 5


def test_a_stored_directory_can_be_read_without_records():
    keys = keys_of([[a, b, c] for a in range(8) for b in range(4) for c in range(4)])
    file = BangFile.build(keys, BITS, 5)
    regions, counts = stored_directory(json.loads(json.dumps(file.state())))
    assert regions.numbers() == file.regions.numbers()
    assert (counts == file.counts).all()
    # Another snapshot: what is too small is dissolved, what is too large is split.
    other = BangFile.from_state(file.state(), keys[np.repeat(np.arange(16), 9)])
    check_rules(other.regions, members_of(other), keys[np.repeat(np.arange(16), 9)], 5)
    assert BangFile.from_state(file.state(), keys[:0]).counts.tolist() == [0]


def test_ids_are_checked():
    keys = keys_of([[0, 0, 0], [1, 1, 1]])
    file = BangFile.build(keys, BITS, 1)
    for ids in ([0, 5], [7, 7], [-1, 5], [5], [5, 2**31]):
        with pytest.raises(ValueError, match=r"id|already"):
            file.insert(keys, np.array(ids))
    for ids in ([2], [100], [0, 0], [-1]):
        with pytest.raises(ValueError, match=r"id|not in"):
            file.delete(np.array(ids))
    assert file.n == 2
    with pytest.raises(ValueError, match="at least one"):
        BangFile(BITS, 0)
