"""Rows of different lengths in one array, against lists of lists."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveil.core import arrays
from reveil.core.arrays import Ragged, offsets_of, offsets_of_sorted, ranks_in_rows, spans, stable_order

rows = st.lists(st.lists(st.integers(-9, 9), max_size=4), max_size=6)


def ragged(lists):
    return Ragged.of_rows(lists, np.int32)


def lists_of(own):
    return [row.tolist() for row in own]


def test_rows_lie_one_behind_the_other():
    own = Ragged.of_lengths([2, 0, 3], np.array([5, 6, 7, 8, 9], np.int32))
    assert own.offsets.tolist() == [0, 2, 2, 5]
    assert own.offsets.dtype == np.int64
    assert lists_of(own) == [[5, 6], [], [7, 8, 9]]
    assert len(own) == 3
    assert own.starts.tolist() == [0, 2, 2]
    assert own.lengths.tolist() == [2, 0, 3]
    assert own.owners().tolist() == [0, 0, 2, 2, 2]


@pytest.mark.parametrize("row", [-1, 3])
def test_there_are_no_rows_beyond(row):
    with pytest.raises(IndexError, match=f"there is no row {row} of 3"):
        ragged([[1], [], [2]])[row]


def test_without_rows_and_without_items():
    for lists in ([], [[], []]):
        own = ragged(lists)
        assert own.items.dtype == np.int32
        assert lists_of(own) == lists
        assert own.reduce(np.add, own.items, 7).tolist() == [7] * len(lists)
        assert own.owners().tolist() == []
    assert offsets_of([]).tolist() == [0]
    assert spans(np.zeros(0, np.int64), np.zeros(0, np.int64)).tolist() == []


def test_places_say_which_of_the_rows_given():
    own = ragged([[1, 2], [], [3]])
    which, place = own.places(np.array([2, 0, 1, 2]))
    assert which.tolist() == [0, 1, 1, 3]
    assert place.tolist() == [2, 0, 1, 2]


def test_lengths_may_be_of_any_type_of_integers_and_do_not_overflow():
    assert offsets_of(np.full(4, 2**31 - 1, np.int32)).tolist()[-1] == 4 * (2**31 - 1)
    assert offsets_of(np.array([True, False, True])).tolist() == [0, 1, 1, 2]


@given(rows)
def test_it_is_a_list_of_lists(lists):
    own = ragged(lists)
    assert lists_of(own) == lists
    assert own.lengths.tolist() == [len(row) for row in lists]
    assert own.owners().tolist() == [i for i, row in enumerate(lists) for _ in row]
    assert ranks_in_rows(own.lengths).tolist() == [j for row in lists for j in range(len(row))]
    assert offsets_of_sorted(own.owners(), len(lists)).tolist() == own.offsets.tolist()
    assert lists_of(Ragged.of_sorted_owners(own.owners(), len(lists), own.items)) == lists


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-9, 9)), max_size=20))
def test_grouped_keeps_the_order_within_a_row(pairs):
    owners = np.array([row for row, _ in pairs], np.int64)
    own = Ragged.grouped(owners, 6, np.array([item for _, item in pairs], np.int32))
    assert lists_of(own) == [[item for row, item in pairs if row == i] for i in range(6)]


@given(rows, st.data())
def test_take_and_select(lists, data):
    own = ragged(lists)
    chosen = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=8)) if lists else []
    taken = own.take(np.array(chosen, np.int64))
    assert lists_of(taken) == [lists[row] for row in chosen]
    which, place = own.places(np.array(chosen, np.int64))
    assert own.items[place].tolist() == taken.items.tolist()
    assert which.tolist() == taken.owners().tolist()
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=len(own.items), max_size=len(own.items))), np.bool_)
    left = iter(kept.tolist())
    assert lists_of(own.select(kept)) == [[item for item in row if next(left)] for row in lists]


@given(rows, rows)
def test_concatenate(one, other):
    assert lists_of(Ragged.concatenate([ragged(one), ragged(other)])) == [*one, *other]


@given(rows)
def test_reduce(lists):
    own = ragged(lists)
    for ufunc, plain in ((np.add, sum), (np.minimum, min), (np.maximum, max)):
        expected = [plain(row) if row else -99 for row in lists]
        assert own.reduce(ufunc, own.items, -99).tolist() == expected


@pytest.mark.parametrize("room", [1, 3, 60_000, 1 << 40, (1 << 63) - 1])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint64])
def test_equal_numbers_keep_their_order(room, dtype, monkeypatch):
    monkeypatch.setattr(arrays, "_FEW", 8)
    for size in (0, 1, 8, 9, 5_000):
        numbers = np.random.default_rng(size).integers(0, room, size).astype(dtype)
        numbers[size // 2 :] = numbers[: size - size // 2][::-1]
        assert stable_order(numbers).tolist() == np.argsort(numbers, kind="stable").tolist()
        assert (
            stable_order(-numbers.astype(np.int64)).tolist()
            == np.argsort(-numbers.astype(np.int64), kind="stable").tolist()
        )
