"""The kernels of the dendrogram against their plain twins."""

import numpy as np
import pytest

from reveil.grouping.bang.dendrogram import Dendrogram
from tests.core.kernels.plain import dendrogram as plain


def _blocks(seed):
    rng = np.random.default_rng(seed)
    m, d = int(rng.integers(1, 40)), int(rng.integers(1, 4))
    sizes = rng.integers(1, 9, m)
    volumes = 2.0 ** -rng.integers(0, 6, m)
    ends = np.sort(rng.integers(0, 9, (2, m, d)), axis=0) / 8  # coarse, so that there are ties
    pairs = rng.integers(0, m, (2, int(rng.integers(0, 3 * m)))).astype(np.int32)
    pairs = pairs[:, pairs[0] != pairs[1]]
    return rng, sizes, volumes, ends, (pairs[0], pairs[1])


def tree_of(dendrogram):
    block = {int(leaf): b for b, leaf in enumerate(dendrogram.leaves) if leaf >= 0}

    def below(node):
        if dendrogram.left[node] < 0:
            return block[node]
        for child in (dendrogram.left[node], dendrogram.right[node]):
            assert dendrogram.parents[child] == node
        return below(int(dendrogram.left[node])), below(int(dendrogram.right[node]))

    assert dendrogram.parents[dendrogram.root] == -1
    return below(dendrogram.root)


@pytest.mark.parametrize("seed", range(60))
def test_merging_and_changing(seed):
    rng, sizes, volumes, (lo, hi), pairs = _blocks(seed)
    made = Dendrogram.of(sizes, volumes, lo, hi, pairs)
    clusters = [
        plain.Cluster(b, int(sizes[b]), float(volumes[b]), tuple(lo[b].tolist()), tuple(hi[b].tolist()))
        for b in range(len(sizes))
    ]
    tree = plain.dendrogram(clusters, zip(*(own.tolist() for own in pairs), strict=True))
    assert tree_of(made) == tree
    assert made.order.tolist() == plain.leaves(tree)
    m = len(sizes)
    new = np.arange(m, m + int(rng.integers(0, 8)), dtype=np.int32)
    old = np.array([rng.integers(0, block) for block in new], np.int32)
    grown = made.split(old, new)
    for before, after in zip(old.tolist(), new.tolist(), strict=True):
        tree = plain.split(tree, before, after)
    assert tree_of(grown) == tree
    gone = rng.permutation(m + len(new))[: int(rng.integers(0, m + len(new)))].astype(np.int32)
    for block in gone.tolist():
        tree = plain.removed(tree, block)
    left = grown.without(gone)
    assert tree_of(left) == tree
    assert left.order.tolist() == plain.leaves(tree)
    assert len(left.left) <= 4 * len(left.order), "what is gone does not pile up"
    assert tree_of(made) == plain.dendrogram(clusters, zip(*(own.tolist() for own in pairs), strict=True)), "unchanged"
