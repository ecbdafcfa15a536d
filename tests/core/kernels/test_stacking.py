"""The kernels of Stack & Deal against their plain twin, and what every deal must have."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from reveil.core.kernels import stacking
from reveil.grouping.groupers._cutting import next_lower
from tests.core.kernels.plain import stacking as plain

WIDE = 3001  # so many codes that few records are sorted rather than counted


@st.composite
def piles(draw):
    """Records with codes of a few attributes, small and large domains, and a value each."""
    n = draw(st.integers(1, 60))
    domains = draw(st.lists(st.sampled_from([1, 2, 5, 40, WIDE]), min_size=1, max_size=3))
    dice = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = np.stack([dice.integers(0, size, n) for size in domains], axis=1)
    values = dice.integers(0, draw(st.integers(1, 9)), n)
    values[dice.random(n) < draw(st.sampled_from([0.0, 0.5]))] = 0  # a frequent value
    depths = [dice.integers(0, 4, size).tolist() if size > 1 and draw(st.booleans()) else None for size in domains]
    return (
        rows,
        values,
        domains,
        depths,
        [draw(st.sampled_from([0.0, 1 / size])) for size in domains],
        draw(st.integers(1, n)),
    )


@settings(deadline=None, max_examples=60)
@given(piles())
def test_the_deal_is_that_of_the_plain_twin_and_gives_every_group_its_share(pile):
    rows, values, domains, depths, steps, groups = pile
    n, counts = len(rows), np.bincount(values)
    positions = [np.arange(size) / max(size - 1, 1) for size in domains]
    boundary = [np.array(own or [0] * size, np.int32) for size, own in zip(domains, depths, strict=True)]
    about = stacking.CodeLayout(
        np.concatenate(positions),
        np.concatenate(boundary),
        np.concatenate([next_lower(own) for own in boundary]),
        np.cumsum([0, *domains][:-1]).astype(np.int64),
        np.array([own is not None for own in depths]),
        np.array(steps),
    )
    columns, index, first = rows.T.astype(np.int32).copy(), np.arange(n, dtype=np.int32), np.zeros(n, np.bool_)
    least, below = counts // groups, np.cumsum(counts) // groups
    dealt = values.astype(np.int32)
    records = stacking.StackedRecords(columns, dealt, index, first)
    stacking.deal(records, 0, n, groups, stacking.Quotas(least, below), about, False)
    assert (rows[index] == columns.T).all()
    assert (dealt == values[index]).all()

    found = np.split(index, np.flatnonzero(first)[1:])
    sizes = np.array([len(group) for group in found])
    shares = np.array([np.bincount(values[group], minlength=len(counts)) for group in found])
    assert len(found) == groups
    assert ((sizes == n // groups) | (sizes == n // groups + 1)).all()
    assert ((shares == least) | (shares == least + 1)).all()
    together = np.cumsum(shares, axis=1)
    assert ((together == below) | (together == below + 1)).all()

    expected = plain.deal(
        rows.tolist(),
        values.tolist(),
        groups,
        counts.tolist(),
        [own.tolist() for own in positions],
        depths,
        steps,
    )
    assert [group.tolist() for group in found] == expected
