"""The kernels of possible worlds against their plain twins."""

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from reveil.core.kernels import permutations, widening
from reveil.guarantees.worlds.space import CodeSpace
from tests.core.kernels.plain import permutations as plain_permutations
from tests.core.kernels.plain import widening as plain_widening
from tests.guarantees.worlds.small import codes_of

quick = settings(deadline=None, max_examples=60)
TREE = {"north": ["a", "b"], "south": {"east": ["c", "d"], "west": ["e"]}}


@quick
@given(st.integers(1, 30), st.integers(0, 999))
def test_cycles(n, seed):
    rng = np.random.default_rng(seed)
    one, other = (rng.permutation(n).astype(np.int32) for _ in range(2))
    labels, many = permutations.cycles(one, other)
    assert (labels.tolist(), many) == plain_permutations.cycles(one.tolist(), other.tolist())


@quick
@given(st.integers(2, 4), st.lists(st.integers(0, 2), min_size=1, max_size=12), st.integers(0, 999), st.data())
def test_nearest_first(l, values, seed, data):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 5, (len(values), 2)).astype(np.float64)  # whole numbers add up without rounding
    wanted = data.draw(st.permutations(values))
    order = rng.permutation(len(values)).astype(np.int32)
    given_ = np.array(values, np.int32)
    found = permutations.nearest_first(order, np.array([0, len(values)]), given_, np.array(wanted, np.int32), points, l)
    assert found.tolist() == plain_permutations.nearest_first(order.tolist(), values, wanted, points.tolist(), l)


@quick
@given(st.integers(2, 12), st.integers(1, 3), st.integers(0, 999))
def test_costs(n, filled, seed):
    rng = np.random.default_rng(seed)

    def some(values):
        return [values[i] for i in rng.integers(0, len(values), n)]

    frame = pl.DataFrame(
        {"x": some([0, 1, 5, 9, None]), "s": some([*"pqrst", None]), "t": some([*"abcde", None]), "value": some("vw")},
        schema={"x": pl.Int64, "s": pl.String, "t": pl.String, "value": pl.String},
    )
    codes = codes_of(frame, ["x", "s", "t"], hierarchies={"t": TREE})
    space = CodeSpace.of(codes)
    members = np.stack([rng.permutation(n) for _ in range(3)], axis=1).astype(np.int32)
    members[:, 0] = np.arange(n)
    about = space.attributes
    boxes = widening.boxes(space.points, about.nulls)
    for m in range(1, filled):
        widening.widen(space.points, members[:, m], about.nulls, boxes)
    rows, persons = rng.permutation(n), rng.permutation(n)
    found = widening.costs(space.points, boxes, members, filled, rows, persons, about)
    tree = codes.quasi[2].taxonomy
    attributes = [
        (
            int(about.kinds[a]),
            int(about.nulls[a]),
            attribute.positions.tolist(),
            tuple(about.steps[a]),
            list(zip(tree.lo.tolist(), tree.hi.tolist(), strict=True)),
        )
        for a, attribute in enumerate(codes.quasi)
    ]
    points = space.points.tolist()
    wide = widening.widths_of(space.points, members, about)
    plain = [plain_widening.cost([points[m] for m in own], attributes) for own in members]
    assert np.abs(wide - plain).max() < 1e-12
    for i, row in enumerate(rows):
        for j, person in enumerate(persons):
            inside = [points[m] for m in (*members[row, :filled], person)]
            assert abs(found[i, j] - plain_widening.cost(inside, attributes)) < 1e-12
