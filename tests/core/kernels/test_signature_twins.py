"""The kernels of signatures against their plain twins."""

from itertools import pairwise

import numpy as np
import pytest

from reveil.core.kernels import nearest_free, split
from tests.core.kernels.plain import nearest_free as plain_nearest_free
from tests.core.kernels.plain import split as plain_split


def _pools(seed: int) -> tuple[np.random.Generator, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 40))
    values = rng.integers(0, 4, size).astype(np.int32)
    ranks = rng.permutation(size).astype(np.int64)
    records = np.flatnonzero(rng.random(size) < 0.7).astype(np.int32)
    return rng, values, ranks, rng.random((size, 2)), records


def _linked(records, values, ranks, points, domain=4) -> nearest_free.Pool:
    pool = records[np.lexsort((ranks[records], values[records]))]
    starts = np.concatenate([[0], np.cumsum(np.bincount(values[pool], minlength=domain))]).astype(np.int64)
    links = np.arange(len(pool) + 1, dtype=np.int64)
    return nearest_free.Pool(pool, starts, links, links.copy(), ranks, points)


@pytest.mark.parametrize("seed", range(60))
def test_filling_holes(seed):
    rng, values, ranks, points, records = _pools(seed)
    pool = _linked(records, values, ranks, points)
    wanted = rng.integers(0, 4, 25).astype(np.int32)
    anchors = rng.integers(0, len(values), 25).astype(np.int32)
    quota = rng.integers(0, 8, 4).astype(np.int64)
    expected = plain_nearest_free.fill(
        plain_nearest_free.Pool(records.tolist(), values, ranks, points),
        dict(enumerate(quota.tolist())),
        list(zip(wanted.tolist(), anchors.tolist(), strict=True)),
    )
    assert nearest_free.fill_holes(pool, quota, wanted, anchors).tolist() == expected


@pytest.mark.parametrize("seed", range(60))
def test_drawing_steps(seed):
    rng, values, ranks, points, records = _pools(seed)
    pool = _linked(records, values, ranks, points)
    plan = [(sorted(rng.permutation(4)[: rng.integers(1, 5)].tolist()), int(rng.integers(1, 5))) for _ in range(3)]
    members = np.array([value for own, _ in plan for value in own], np.int32)
    offsets = np.cumsum([0, *(len(own) for own, _ in plan)]).astype(np.int64)
    drawn, ends = nearest_free.draw_steps(
        pool, np.diff(pool.starts), members, offsets, np.array([amount for _, amount in plan], np.int64)
    )
    expected = plain_nearest_free.draw(plain_nearest_free.Pool(records.tolist(), values, ranks, points), plan)
    assert [drawn[a:b].tolist() for a, b in pairwise(ends)] == expected


@pytest.mark.parametrize("seed", range(60))
def test_fitting_movers(seed):
    rng, values, ranks, _, records = _pools(seed)
    told = [frozenset(rng.permutation(6)[: rng.integers(1, 3)].tolist()) for _ in records]
    sets = [frozenset(rng.permutation(6)[:2].tolist()) for _ in range(8)]
    holes = sorted((int(rng.integers(0, 4)), int(rng.integers(0, 40)), int(rng.integers(0, 8))) for _ in range(30))
    flat = [sorted(own) for own in told]
    found = nearest_free.fit_movers(
        nearest_free.Movers(
            records,
            np.array([code for own in flat for code in own], np.int32),
            np.cumsum([0, *map(len, flat)]).astype(np.int64),
        ),
        nearest_free.Holes(
            np.arange(30),
            np.searchsorted([hole[0] for hole in holes], np.arange(5)).astype(np.int64),
            np.array([hole[1] for hole in holes], np.int64),
            np.array([hole[2] for hole in holes], np.int64),
            np.array([code for own in sets for code in sorted(own)], np.int32),
            np.arange(9, dtype=np.int64) * 2,
        ),
        ranks,
        values,
    )
    expected = plain_nearest_free.fit(
        list(zip(records.tolist(), told, strict=True)),
        [(value, rank, sets[s]) for value, rank, s in holes],
        values,
        ranks,
        nearest_free.HOLES_TRIED,
    )
    assert found.tolist() == expected


@pytest.mark.parametrize("seed", range(80))
def test_splitting_a_bucket(seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 12, rng.integers(1, 6))
    lengths[rng.integers(0, len(lengths))] += 1
    size = int(lengths.sum())
    points = np.stack([rng.permutation(size), rng.permutation(size)], axis=1) / size
    order = rng.permutation(size).astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    lists = [order[a:b].tolist() for a, b in pairwise(starts)]
    groups, values = int(lengths.max()), len(lengths)
    cells = np.full(groups * values, -1, np.int32)
    whole = np.array([0, values], np.int64), np.array([groups], np.int64)
    split.split(order, starts, *whole, points, cells, np.zeros(1, np.int64))
    assert cells.reshape(groups, values).tolist() == plain_split.split(lists, points)
    before = cells.reshape(groups, values).tolist()
    split.swap(cells, np.zeros(1, np.int64), *whole, points)
    assert cells.reshape(groups, values).tolist() == plain_split.swap(before, points)


@pytest.mark.parametrize("seed", range(60))
def test_gathering_around_movers(seed):
    """Every mover is in one group of different values, which nobody in it was told; nobody is taken twice."""
    rng, values, ranks, points, records = _pools(seed)
    movers = np.setdiff1d(np.arange(len(values)), records).astype(np.int32)
    movers = movers[np.argsort(values[movers], kind="stable")]
    told = [sorted(set(rng.integers(4, 10, rng.integers(1, 4)).tolist())) for _ in movers]
    pool = _linked(records, values, ranks, points, 10)
    mover_starts = np.searchsorted(values[movers], np.arange(11)).astype(np.int64)
    left = np.diff(pool.starts)
    formed, chosen = nearest_free.gather_groups(
        nearest_free.Movers(
            movers,
            np.array([code for own in told for code in own], np.int32),
            np.cumsum([0, *map(len, told)]).astype(np.int64),
        ),
        mover_starts,
        pool,
        left,
        values,
        rng.permutation(10).astype(np.int32),
        3,
    )
    real = formed[formed >= 0]
    assert len(np.unique(real)) == len(real)
    assert set(movers.tolist()) <= set(real.tolist()) <= set(movers.tolist()) | set(records.tolist())
    barred = dict(zip(movers.tolist(), told, strict=True))
    for group, own in zip(formed.tolist(), chosen.tolist(), strict=True):
        assert len(set(own)) == 3
        assert all(record < 0 or values[record] == value for record, value in zip(group, own, strict=True))
        assert not set(own) & {code for record in group for code in barred.get(record, [])}
    assert left.sum() == len(records) - np.isin(real, records).sum()
