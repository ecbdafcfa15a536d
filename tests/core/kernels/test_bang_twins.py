"""The kernels of the BANG file against their plain twins."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from reveil.core.kernels import bang_build
from reveil.grouping.bang.building import build
from reveil.grouping.bang.keys import interleaved, sort_keys
from reveil.grouping.bang.regions import Regions
from tests.core.kernels.plain import bang as plain
from tests.core.kernels.plain import bang_build as plain_build
from tests.core.kernels.plain import bang_sort as plain_sort

quick = settings(deadline=None, max_examples=40)
BITS = (3, 1, 0, 4)


@st.composite
def points(draw, bits=BITS, most=40):
    n = draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    spread = draw(st.sampled_from([1, 2, 16]))  # few different points, or many
    return np.stack([rng.integers(0, max(1, min(2**b, spread)), n) for b in bits], axis=1).astype(np.int32)


def texts(cells, bits=BITS):
    return [plain.interleave(row, bits) for row in cells.tolist()]


def names(regions):
    return [format(number, f"0{level}b") if level else "" for number, level in regions.numbers()]


@quick
@given(points((7, 13, 1, 30, 22), most=10))
def test_interleave(cells):
    bits = (7, 13, 1, 30, 22)  # 73 bits in two words, coordinates of several digits
    cells[0] = [2**b - 1 for b in bits]
    cells[-1] = [2**b // 3 for b in bits]
    words = interleaved(cells, bits)
    found = ["".join(format(w, "064b") for w in row) for row in words.tolist()]
    assert found == [text.ljust(128, "0") for text in texts(cells, bits)]


@quick
@given(st.integers(0, 200), st.integers(1, 3), st.sampled_from([2, 2**9, 2**63]), st.integers(0, 2**32 - 1))
def test_sort(n, width, spread, seed):
    keys = np.random.default_rng(seed).integers(0, spread, (n, width), np.uint64)
    order, ordered = sort_keys(keys)
    assert order.tolist() == plain_sort.order(keys.tolist())
    assert (ordered == keys[order]).all()


@quick
@given(points(), st.sets(st.text("01", max_size=8), max_size=12))
def test_regions(cells, named):
    regions = Regions.named([(int(r or "0", 2), len(r)) for r in named | {""}], BITS)
    own = names(regions)
    assert own == sorted(named | {""})
    assert regions.parents.tolist() == plain.parents(own)
    keys = interleaved(cells, BITS)
    assert regions.find(keys).tolist() == [plain.find(own, key) for key in texts(cells)]
    lo, hi = regions.box_cells()
    assert [list(zip(a, b, strict=True)) for a, b in zip(lo.tolist(), hi.tolist(), strict=True)] == [
        plain.box(r, BITS) for r in own
    ]


@quick
@given(points(), st.integers(1, 5))
def test_divide(cells, capacity):
    _order, keys = sort_keys(interleaved(cells, BITS))
    blocks = build(keys, BITS, capacity)
    expected = plain_build.divide("", sorted(texts(cells)), capacity)
    assert names(blocks.regions) == sorted(expected)
    assert blocks.counts.tolist() == [len(expected[region]) for region in sorted(expected)]
    assert (blocks.of_record == blocks.regions.find(keys)).all()


@quick
@given(points(), st.integers(1, 5))
def test_paths(cells, least):
    _order, keys = sort_keys(interleaved(cells, BITS))
    n = len(keys)
    room = bang_build.BlockParts(np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int32))
    offsets = np.empty(2, np.int64)
    own = np.arange(n, dtype=np.int32)
    bang_build.paths(keys, bang_build.BlockRanges(own, np.zeros(1, np.int64), np.array([n])), least, offsets, room)
    first, last, level = (part[: offsets[1]].tolist() for part in room)
    ordered = sorted(texts(cells))
    assert [ordered[f][:deep] for f, deep in zip(first, level, strict=True)] == plain_build.candidates(ordered, least)
    assert all(ordered[f][:deep] == ordered[l - 1][:deep] for f, l, deep in zip(first, last, level, strict=True))
