"""The kernels of cuts by loss and of exchanges against plain definitions."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reveil.core.kernels import exchange, gains
from reveil.grouping.widths import attributes_of
from reveil.models.domains import Domain, Kind
from reveil.models.encoding import Attribute
from reveil.tables.hierarchy import Taxonomy
from tests.core.kernels.plain import gains as plain

# Not numbers: ascending ones count as a span.
TREE = Taxonomy.load({"N": {"a": ["v0", "v1"], "b": ["v2", "v3", "v4"]}, "S": ["v5", "v6"]})


def table(seed, records, *, size=7):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.integers(0, size + 1, records) for _ in range(4)]).astype(np.int32)
    numbers = pl.Series(np.cumsum(rng.integers(1, 9, size)))
    texts = pl.Series([f"v{code}" for code in range(size)])
    quasi = [
        Attribute(Domain("span", Kind.INTERVAL, numbers, None, 2.0), rows[:, 0]),
        Attribute(Domain("set", Kind.SET, texts), rows[:, 1]),
        Attribute(Domain("tree", Kind.TAXONOMY, texts, TREE), rows[:, 2]),
        Attribute(Domain("tight", Kind.TAXONOMY, texts, TREE, 1.0, True), rows[:, 3]),
    ]
    nodes = list(zip(TREE.lo.tolist(), TREE.hi.tolist(), strict=True))
    described = []
    for attribute in quasi:
        seen = max(len({code for code in attribute.codes.tolist() if code < size}), 1)
        kind = "listed" if attribute.listed else "tree" if attribute.taxonomy is not None else "span"
        w = attribute.weight
        places = (w * attribute.positions).tolist()
        described.append(plain.PlainAttribute(kind, size, places, w / (size - 1), w / seen, nodes))
    return rows, attributes_of(quasi, weighted=True), described


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(2, 24), st.integers(1, 4), st.booleans())
def test_the_best_cut_is_the_one_with_the_largest_gain(seed, records, least, whole):
    rows, attributes, described = table(seed, records)
    shape = (1, rows.shape[1])
    best = gains.BestCuts(np.empty(shape), np.empty(shape, np.int32), np.empty(shape, np.int64))
    marks = gains.SeenMarks(np.zeros(len(attributes.positions), np.int64), np.zeros(1, np.int64))
    gains.propose(rows, np.array([0]), np.array([records]), attributes, least, 1000 if whole else 0, marks, best)
    for a in range(shape[1]):
        wanted = plain.gains(rows.tolist(), a, described, least, whole=whole)
        # A cut that gains nothing is still a cut; one that costs is taken where there is no other.
        if not wanted or max(wanted.values()) <= -1:
            assert best.left[0, a] == 0
            continue
        assert best.gain[0, a] == pytest.approx(max(wanted.values()), abs=1e-9)
        assert wanted[int(best.cut[0, a])] == pytest.approx(best.gain[0, a], abs=1e-9)
        assert best.left[0, a] == (rows[:, a] <= best.cut[0, a]).sum()


@settings(deadline=None, max_examples=25)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 6),
    st.integers(2, 5),
    st.sampled_from([exchange.FREE, exchange.ALIKE, exchange.SHARE, exchange.DISTINCT]),
)
def test_exchanges_keep_the_rule_and_end_where_nothing_improves(seed, many, size, kind):
    rows, attributes, described = table(seed, many * size)
    rng = np.random.default_rng(seed)
    # Every group starts with as many different values as it has records.
    values = np.concatenate([rng.permutation(size) for _ in range(many)]).astype(np.int32)
    most, least = 2 * size, size - 1
    members = np.zeros((many, most), np.int32)
    members[:, :size] = np.arange(many * size).reshape(many, size)
    sizes = np.full(many, size, np.int64)
    near = np.tile(np.arange(many), (many, 1))
    bound = 2.0 if kind == exchange.DISTINCT else float(size - 1)
    before = [[int(r) for r in members[g, :size]] for g in range(many)]
    rule = exchange.ValueRule(kind, bound, least, np.zeros(0, np.int32) if kind == exchange.FREE else values)
    exchange.improve(rows, exchange.GroupLists(members, sizes, near), attributes, rule, 100)
    after = [members[g, : sizes[g]].tolist() for g in range(many)]
    assert sorted(r for group in after for r in group) == list(range(many * size))
    assert cost(rows, after, described) <= cost(rows, before, described) + 1e-9
    for group, was in zip(after, before, strict=True):
        counts = Counter(values[group].tolist())
        assert len(group) >= least
        if kind == exchange.ALIKE:
            assert counts == Counter(values[was].tolist())
        if kind == exchange.SHARE:
            assert max(counts.values()) * bound <= len(group)
        if kind == exchange.DISTINCT:
            assert len(counts) >= bound
    if kind == exchange.FREE:
        assert not moves(rows, after, described, least, most)


def cost(rows, groups, described):
    return sum(len(group) * plain.box_width(rows[group].tolist(), described) for group in groups)


def moves(rows, groups, described, least, most):
    """Every move of one record that makes its group wider by which two groups would cost less."""
    found = []
    for g, one in enumerate(groups):
        for h, other in enumerate(groups):
            if g == h or len(one) <= least or len(other) >= most:
                continue
            now = cost(rows, [one, other], described)
            for record in one:
                rest = [r for r in one if r != record]
                if not plain.box_width(rows[rest].tolist(), described) < plain.box_width(rows[one].tolist(), described):
                    continue
                moved = [rest, [*other, record]]
                if cost(rows, moved, described) < now - 1e-6:
                    found.append((record, g, h))
    return found
