"""Keys and regions: the vectors of the specification, long keys, volumes."""

import numpy as np
import pytest

from reveil.grouping.bang.keys import interleaved, sort_keys, words_of
from reveil.grouping.bang.regions import Regions


def bits_of(row, count):
    return "".join(format(w, "064b") for w in row.tolist())[:count]


def test_interleaving_of_10_0110_110_is_101_011_10_0():
    keys = interleaved(np.array([[0b10, 0b0110, 0b110]], np.int32), (2, 4, 3))
    assert bits_of(keys[0], 9) == "101011100"
    assert keys[0, 0] & np.uint64(2**55 - 1) == 0, "nothing behind the last bit"


def test_region_2_3_is_010():
    regions = Regions.named([(0, 0), (2, 3)], (2, 4, 3))
    assert bits_of(regions.words[1], 9) == "010000000"
    assert regions.name(1) == (2, 3)
    assert regions.numbers() == [(0, 0), (2, 3)]
    lo, hi = regions.box_cells()  # lower half, upper half, lower half
    assert (lo[1].tolist(), hi[1].tolist()) == ([0, 8, 0], [1, 15, 3])


def test_fifteen_attributes_of_ten_bits_are_three_words():
    bits = (10,) * 15
    assert words_of(bits) == 3
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 1024, (500, 15)).astype(np.int32)
    cells[100:200] = cells[0]
    cells[150:200, 14] ^= 1  # they differ in bit 150 only
    keys = interleaved(cells, bits)
    order, ordered = sort_keys(keys)
    assert (order == np.lexsort((keys[:, 2], keys[:, 1], keys[:, 0]))).all()
    assert (ordered == keys[order]).all()
    whole = [int("".join(f"{c:010b}"[turn] for turn in range(10) for c in row), 2) for row in cells]
    assert [int(bits_of(row, 150), 2) for row in keys[:100]] == whole[:100]
    point = (whole[0], 150)
    regions = Regions.named([(0, 0), (whole[0] >> 70, 80), point], bits)
    lo, hi = regions.box_cells()
    assert (lo[2] == cells[0]).all()
    assert (hi[2] == cells[0]).all()
    same = (cells == cells[0]).all(axis=1)
    assert ((regions.find(keys) == 2) == same).all()
    assert (regions.find(keys[150:200]) == 1).all()


def test_without_dimensions_or_bits_there_is_one_region():
    assert interleaved(np.zeros((3, 0), np.int32), ()).tolist() == [[0], [0], [0]]
    assert interleaved(np.zeros((2, 2), np.int32), (0, 0)).tolist() == [[0], [0]]
    regions = Regions.whole(())
    assert regions.find(np.zeros((3, 1), np.uint64)).tolist() == [0, 0, 0]
    assert regions.volumes.tolist() == [1.0]


def test_volumes_of_blocks_are_right_even_where_little_is_left():
    # Around one cell of 120 bits every sibling on the way is a region: what is left of the space is that cell.
    bits = (10,) * 12
    siblings = [(1, level) for level in range(1, 121)]  # 0...01
    regions = Regions.named([(0, 0), *siblings], bits)
    assert regions.volumes[0] == 2.0**-120
    order = np.argsort(regions.levels)
    assert (regions.volumes[order][1:] == 2.0 ** -np.arange(1, 121)).all()
    nested = Regions.named([(0, 0), (0, 1), (1, 2), (1, 4)], (4, 4))
    assert nested.volumes.tolist() == [0.5, 0.1875, 0.0625, 0.25]


def test_regions_need_the_whole_space_and_as_many_words_as_keys():
    with pytest.raises(ValueError, match="whole space"):
        Regions.named([(1, 1)], (4,))
    with pytest.raises(ValueError, match="words"):
        Regions(np.zeros((1, 2), np.uint64), np.zeros(1, np.int32), (4,))
