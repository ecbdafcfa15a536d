"""The kernels of the measures against their plain twins."""

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from reveil.analysis.measures.columns import MeasuredColumn
from reveil.analysis.measures.divergence import box_weights
from reveil.core.kernels import windows
from reveil.models.domains import Domain
from reveil.models.encoding import Attribute, Kind
from reveil.releases.table import Cells
from reveil.tables.notation import Form
from tests.core.kernels.plain import densities as plain_densities
from tests.core.kernels.plain import windows as plain_windows

quick = settings(deadline=None, max_examples=60)


@quick
@given(st.integers(1, 60), st.integers(1, 3), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_count(records, width, asked, seed):
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, 8, (width, records)).astype(np.int32)
    lo = rng.integers(0, 8, (asked, width)).astype(np.int32)
    hi = lo + rng.integers(0, 5, (asked, width)).astype(np.int32)
    used = rng.random((asked, width)) < 0.6
    found = np.zeros(asked, np.int64)
    windows.count(columns, lo, hi, used, found)
    assert found.tolist() == plain_windows.count(columns.T.tolist(), lo.tolist(), hi.tolist(), used.tolist())


def test_count_over_many_blocks():
    columns = (np.arange(10_000, dtype=np.int32) % 10)[None, :]
    found = np.zeros(1, np.int64)
    windows.count(columns, np.array([[2]], np.int32), np.array([[4]], np.int32), np.array([[True]]), found)
    assert found.tolist() == [3_000]


@quick
@given(st.integers(1, 60), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_weights_of_boxes(points, boxes, seed):
    """Intervals with nulls beside sets with nulls and gaps."""
    rng = np.random.default_rng(seed)
    size = 6
    at = rng.integers(0, size + 1, (points, 2)).astype(np.int32)
    lo = rng.integers(0, size, boxes)
    hi = np.minimum(lo + rng.integers(0, 4, boxes), size - 1)
    null = rng.random(boxes) < 0.3
    alone = null & (rng.random(boxes) < 0.3)
    ends = {"lo": np.where(alone, None, lo).tolist(), "hi": np.where(alone, None, hi).tolist()}
    intervals = pl.DataFrame({**ends, "null": null}, schema={"lo": pl.Int64, "hi": pl.Int64, "null": pl.Boolean})
    numbers = Attribute(Domain("n", Kind.INTERVAL, pl.Series("n", range(size), dtype=pl.Int64)), at[:, 0])
    words = [*"abcdef"]
    member_codes = [sorted(rng.choice(size + 1, rng.integers(1, 4), replace=False).tolist()) for _ in range(boxes)]
    lists = pl.Series("w", [[[*words, None][c] for c in codes] for codes in member_codes], dtype=pl.List(pl.String))
    texts = Attribute(Domain("w", Kind.SET, pl.Series("w", words)), at[:, 1])
    index, rows = np.arange(boxes, dtype=np.int32), np.ones(boxes, np.int64)
    columns = [
        MeasuredColumn(numbers, Cells(Form.INTERVAL, intervals.to_struct("n"), index), rows),
        MeasuredColumn(texts, Cells(Form.SET, lists, index), rows),
    ]
    admitted = [
        ({*(() if alone[b] else range(lo[b], hi[b] + 1)), *((size,) if null[b] else ())}, set(member_codes[b]))
        for b in range(boxes)
    ]
    weights = rng.integers(1, 9, boxes).astype(np.float64)
    assert box_weights(columns, at, weights).tolist() == plain_densities.weights_on(
        at.tolist(), admitted, weights.tolist()
    )
