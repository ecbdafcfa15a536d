"""How wide published cells are, as the kernels take it: the attributes of a table side by side in flat arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from polars import Float64

from reveil.core.arrays import offsets_of
from reveil.core.kernels.widening import Attributes
from reveil.models.encoding import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from reveil.models.encoding import Attribute

_SPAN, _SET, _TREE = 0, 1, 2


def attributes_of(
    quasi: Sequence[Attribute], *, weighted: bool = False, occurring: Sequence[int] | None = None
) -> Attributes:
    """Lay the attributes of a table side by side; ``weighted``: widths are multiplied by the weight of their column.

    ``occurring`` is how many values of each occur in the table, where the records at hand are a part of it.

    Where the leaves of a hierarchy are numbers in their order, a cell is taken to be as wide as all the leaves from its
    least to its greatest: ages that lie together tell more than as many from both ends.
    """
    kinds = np.zeros(len(quasi), np.int64)
    levels = np.zeros(len(quasi), np.int64)
    level_offsets = np.zeros(len(quasi), np.int64)
    steps = np.zeros((len(quasi), 2))
    nodes, widths, positions = [np.zeros(0, np.int32)], [np.zeros(0)], [np.zeros(0)]
    for a, attribute in enumerate(quasi):
        size = attribute.null_code
        factor = attribute.weight if weighted else 1.0
        different = int((np.unique(attribute.codes) < size).sum()) if occurring is None else occurring[a]
        steps[a] = factor / max(size - 1, 1), factor / max(different, 1)
        if attribute.kind is Kind.TAXONOMY:
            kinds[a] = _TREE if not attribute.tight else _SPAN if _ascends(attribute.domain) else _SET
        elif attribute.listed:
            kinds[a] = _SET
        positions.append(factor * attribute.positions)
        if attribute.taxonomy is not None:
            tree = attribute.taxonomy
            level_offsets[a] = sum(map(len, nodes))
            levels[a] = len(tree.levels)
            nodes.append(tree.levels.ravel())
            widths.append((factor * (tree.hi - tree.lo) / max(size - 1, 1))[tree.levels].ravel())
    return Attributes(
        kinds,
        np.array([a.null_code for a in quasi], np.int64),
        offsets_of([len(a.positions) for a in quasi]),
        np.concatenate(positions),
        steps,
        level_offsets,
        levels,
        np.concatenate(nodes).astype(np.int32),
        np.concatenate(widths),
    )


def _ascends(domain: pl.Series) -> bool:
    """Return whether texts are numbers, each larger than the one before."""
    numbers = domain.cast(Float64, strict=False)
    return len(domain) > 1 and not numbers.null_count() and bool((numbers.diff().drop_nulls() > 0).all())
