"""A sampled release: does every row occur often enough, on the declared grid, and does delta follow?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import VerificationError
from reveil.core.json_values import list_in, number_in, object_in, whole_in
from reveil.tables.hierarchy import value_text
from reveil.tables.notation import Form, parsed, split_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.core.json_values import JSON
    from reveil.releases.release import Release
    from reveil.releases.table import Cells
    from reveil.tables.schema import Column
    from reveil.tables.snapshot import Snapshot

_BLOCK = 4096
_ROUNDING = 1e-9


def is_sample(release: Release) -> bool:
    """Return whether a manifest keeps secret how many records were left out."""
    return release.manifest.suppressed is None


def check_sample(release: Release, snapshot: Snapshot) -> dict[str, JSON]:
    """Check what only a sampled release promises, and return what it achieves beside the model.

    Whether records were taken by dice, and how likely each was, no table can say.
    """
    told = release.manifest.promise.guarantee()
    try:
        k, beta, epsilon, delta = whole_in(told["k"]), *(number_in(told[key]) for key in ("beta", "epsilon", "delta"))
        scales = object_in(object_in(told["method"])["scales"])
        if not (0 < beta < 1 and epsilon >= -math.log1p(-beta) * (1 - _ROUNDING)):
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise VerificationError(
            "the manifest does not say how many records were left out, and describes no sample on a grid"
        ) from None
    if not math.isclose(delta, delta_of(k, beta, epsilon), rel_tol=_ROUNDING, abs_tol=1e-290):
        raise VerificationError("the manifest claims another delta than follows from k, beta and epsilon")
    for name, cells in release.cells.items():
        if not _on_grid(cells, snapshot.frame[name].dtype, snapshot.schema[name], scales.get(name)):
            raise VerificationError(f"column {name!r} has cells that are not of the declared grid", column=name)
    rows = pl.DataFrame({"class": release.classes, **{f"v{i}": s for i, s in enumerate(release.values)}})
    rare = rows.group_by(pl.all()).len().filter(pl.col("len") < k).height
    if rare:
        raise VerificationError(
            f"{rare:,} rows, all columns counted, occur less than {k} times",
            hint="Sensitive values are part of a cell: a rare one beside a frequent cell must not be published.",
        )
    return {"delta": told["delta"]}


def delta_of(k: int, beta: float, epsilon: float) -> float:
    """Return the largest P[Bin(n, beta) > gamma n] over n from ceil(k / gamma - 1) on.

    Here gamma = 1 - (1 - beta) / e^epsilon. By the Chernoff bound exp(-n KL(gamma, beta)) no further n matters once
    that is below the largest found.
    """
    from scipy.stats import binom

    rest = (1 - beta) * math.exp(-epsilon)
    gamma = 1 - rest
    divergence = gamma * math.log(gamma / beta) + rest * math.log(rest / (1 - beta))
    best, first = 0.0, max(math.ceil(k / gamma - 1), 1)
    while True:
        n = np.arange(first, first + _BLOCK)
        # A product that is a whole number but for rounding is that number.
        best = max(best, float(np.max(binom.sf(np.floor(gamma * n * (1 + 1e-12)), n, beta))))
        first += _BLOCK
        if best == 0.0 or math.exp(-first * divergence) < best:
            return min(best, 1.0)


def _on_grid(cells: Cells, dtype: pl.DataType, column: Column, scale: JSON) -> bool:
    """Return whether every published cell is one of the declared ones, or null alone."""
    try:
        if cells.form is Form.INTERVAL:
            return _intervals_on_grid(cells.distinct, dtype, list_in(scale))
        if cells.form is Form.LABEL and column.taxonomy is not None:
            labels, null = split_label(cells.distinct)
            levels = column.taxonomy.levels
            nodes = np.unique(levels[len(levels) - 1 - whole_in(scale or 0)])
            known = [column.taxonomy.labels[node] for node in nodes]
            return bool((labels.is_null() | (labels.is_in(known) & ~null)).all())
        if scale is None:
            return bool((cells.distinct.list.len() == 1).all())
        wanted = {frozenset(value_text(value) for value in list_in(part)) for part in list_in(scale)} | {
            frozenset([None])
        }
        return all(frozenset(cell) in wanted for cell in cells.distinct.to_list())
    except (TypeError, ValueError, IndexError, pl.exceptions.PolarsError):
        return False


def _intervals_on_grid(cells: pl.Series, dtype: pl.DataType, cuts: Sequence[object]) -> bool:
    lo, hi, null = (cells.struct.field(name) for name in ("lo", "hi", "null"))
    texts = [value_text(cut) for cut in cuts]
    if isinstance(dtype, pl.Datetime):
        texts = [text if "T" in text else f"{text}T00:00:00" for text in texts]
    ends = parsed(pl.Series(texts, dtype=pl.String), dtype)
    behind = ends.tail(-1)
    if dtype == pl.Date:  # days are written with the last one in the cell
        before = (behind.to_physical() - 1).cast(pl.Date).to_list()
        behind = pl.Series([*before[:-1], ends[-1]], dtype=pl.Date)
    grid = pl.DataFrame({"lo": ends.head(-1), "hi": behind})
    intervals = pl.DataFrame({"lo": lo, "hi": hi, "null": null}).filter(pl.col("lo").is_not_null())
    return not intervals["null"].any() and intervals.join(grid, on=["lo", "hi"], how="anti").is_empty()
