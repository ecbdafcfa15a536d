"""The kernels of the first cuts against their plain twins."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reveil.core.arrays import numbered_pairs
from reveil.core.kernels import cells
from tests.core.kernels.plain import cells as plain

CODES = 6


@st.composite
def trees(draw):
    """Return cuts as arrays: node by node, each below others that come later."""
    attribute, code, below = [-1], [-1], [-1]
    for _ in range(draw(st.integers(0, 4))):
        leaves = [node for node, a in enumerate(attribute) if a < 0]
        node = draw(st.sampled_from(leaves))
        attribute[node], code[node], below[node] = draw(st.integers(0, 1)), draw(st.integers(0, CODES)), len(attribute)
        attribute, code, below = [*attribute, -1, -1], [*code, -1, -1], [*below, -1, -1]
    return attribute, code, below


RECORDS = st.lists(st.tuples(st.integers(0, CODES - 1), st.integers(0, CODES - 1)), max_size=30)


@given(tree=trees(), records=RECORDS)
def test_descend(tree, records):
    attribute, code, below = tree
    out = np.empty(len(records), np.int32)
    rows = np.array(records, np.int32).reshape(-1, 2).T.copy()
    cells.descend(rows, np.array(attribute), np.array(code, np.int32), np.array(below), out)
    assert out.tolist() == plain.descend(records, attribute, code, below)


@given(records=st.lists(st.tuples(st.integers(-1, 2), st.integers(0, CODES - 1)), max_size=30))
def test_count(records):
    place, codes = np.array(records, np.int32).reshape(-1, 2).T.copy()
    counts = np.zeros((3, CODES), np.int64)
    cells.count(place, codes, counts)
    found = {(at, code): counts[at, code] for at, code in zip(*np.nonzero(counts), strict=True)}
    assert found == plain.count(*zip(*records, strict=True)) if records else not found


@given(pairs=st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), max_size=30))
def test_numbered_pairs(pairs):
    high, low = np.array(pairs, np.int64).reshape(-1, 2).T
    different = sorted(set(pairs))
    places, many = numbered_pairs(high, low)
    assert (places.tolist(), many) == ([different.index(pair) for pair in pairs], len(different))
