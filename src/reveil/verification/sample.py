"""A sampled release: does every row occur often enough, on the declared grid, and does delta follow?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from reveil.errors import ConfigError, VerificationError
from reveil.grid import checked_scales, grid_column
from reveil.notation import to_text
from reveil.sampling import Sampling

if TYPE_CHECKING:
    from reveil.codes import Codes
    from reveil.release import Release


def is_sample(release: Release) -> bool:
    """Return whether a manifest keeps secret how many records were left out."""
    return release.manifest["suppressed"] is None


def check_sample(release: Release, codes: Codes) -> dict[str, Any]:
    """Check what only a sampled release promises, and return what it achieves beside the model.

    Whether records were taken by dice, and how likely each was, no table can say.
    """
    told = release.manifest["guarantee"]
    try:
        sampling = Sampling(int(told["k"]), told["beta"], told["epsilon"])
        scales = checked_scales(told["method"]["scales"])
        columns = [grid_column(a, scales.get(a.name)) for a in codes.quasi]
    except (KeyError, TypeError, ValueError, ConfigError):
        raise VerificationError(
            "the manifest does not say how many records were left out, and describes no sample on a grid"
        ) from None
    if told.get("delta") != sampling.delta:
        raise VerificationError("the manifest claims another delta than follows from k, beta and epsilon")
    for column in columns:
        name = column.attribute.name
        declared = to_text(column.cells(np.arange(column.null_cell + 1)), column.form)
        if not release.cells[name].text.is_in(declared.implode(), nulls_equal=True).all():
            raise VerificationError(f"column {name!r} has cells that are not of the declared grid", column=name)
    rows = pl.DataFrame({"class": release.classes, **{f"v{i}": s for i, s in enumerate(release.values)}})
    rare = rows.group_by(pl.all()).len().filter(pl.col("len") < sampling.k).height
    if rare:
        raise VerificationError(
            f"{rare:,} rows, all columns counted, occur less than {sampling.k} times",
            hint="Sensitive values are part of a cell: a rare one beside a frequent cell must not be published.",
        )
    return {"delta": sampling.delta}
