"""The kernels of tries against their plain twins."""

import numpy as np
import pytest

from reveil.core.kernels import tries
from tests.core.kernels.plain import tries as plain_tries

BITS = 7


def _buckets(seed: int) -> list[tuple[list[str], list[int], int]]:
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(3):
        size, values = int(rng.integers(1, 25)), int(rng.integers(2, 5))
        keys = sorted(format(int(k), f"0{BITS}b") for k in rng.integers(0, 2 ** int(rng.integers(1, BITS + 1)), size))
        made.append((keys, rng.integers(0, values, size).tolist(), values))
    return made


@pytest.mark.parametrize("seed", range(40))
def test_nesting(seed):
    buckets = _buckets(seed)
    keys = np.array([[int(k, 2) << (64 - BITS)] for own, _, _ in buckets for k in own], np.uint64)
    shared = np.empty(len(keys), np.int64)
    tries.shared_bits(keys, shared)
    starts = np.cumsum([0, *(len(own) for own, _, _ in buckets)])
    values = np.array([many for _, _, many in buckets], np.int64)
    value = np.array([s for _, own, _ in buckets for s in own], np.int64)
    sizes = np.array([np.bincount(own).max() for _, own, _ in buckets])
    offsets = np.concatenate([[0], np.cumsum(sizes * values)]).astype(np.int64)
    cells = np.full(offsets[-1], -9, np.int32)
    tries.nest(np.arange(len(keys), dtype=np.int32), value, shared, starts, values, cells, offsets[:-1])
    for b, (own, value_of, many) in enumerate(buckets):
        groups = cells[offsets[b] : offsets[b + 1]].reshape(-1, many)
        found = [tuple(None if r < 0 else int(r - starts[b]) for r in row) for row in groups]
        assert sorted(found, key=str) == sorted(plain_tries.nest(own, value_of, many), key=str)


def test_shared_bits_over_several_words():
    keys = np.array([[5, 0], [5, 1], [5, 1], [4, 1], [2**63, 0]], np.uint64)
    out = np.empty(5, np.int64)
    tries.shared_bits(keys, out)
    assert out.tolist() == [0, 127, 128, 63, 0]
