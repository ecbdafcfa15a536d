"""Does everybody keep their signature? The rule of tau-safety, checked from published values and placements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from reveil.errors import VerificationError
from reveil.snapshot import canonical_text

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from reveil.release import Release


def check_signatures(
    release: Release, placement: npt.NDArray[np.integer], told: pl.DataFrame, blocks: pl.DataFrame
) -> None:
    """Raise unless every person's new signature equals each one they were told before, or shares nothing with it.

    ``placement[row]`` is the record of a row, -1 for counterfeits. ``told`` has the columns ``record`` and ``block``:
    the signatures that each record's person was in. ``blocks`` has ``block`` and the text of each ``value`` in it.
    Nothing is taken from the code that made the groups: signatures are read off the published values.
    """
    if release.groups is None:
        raise VerificationError("a release with signatures needs a column of groups")
    groups, values = release.group_values()
    rows = pl.DataFrame({"group": groups, "value": canonical_text(values.to_series())})
    # Few sets of values are many groups' signatures: numbers stand for values, and numbers for sets of them.
    rows = rows.with_columns(value=pl.col("value").rank("dense").fill_null(0))
    sets = rows.sort("group", "value").group_by("group", maintain_order=True).agg("value")
    sets = sets.with_columns(signature=pl.col("value").rank("dense"))
    names = pl.DataFrame({"text": canonical_text(values.to_series()), "value": rows["value"]}).unique()
    placed = pl.DataFrame({"record": placement, "group": release.groups}).filter(pl.col("record") >= 0)
    met = told.join(placed, on="record").join(sets.select("group", "signature"), on="group")
    pairs = met.group_by("signature", "block").agg(persons=pl.len())
    members = sets.unique("signature").select("signature", "value").explode("value")
    known = blocks.rename({"value": "text"}).join(names, on="text", how="left", nulls_equal=True)
    common = (
        pairs.join(known, on="block")
        .join(members, on=["signature", "value"])
        .group_by("signature", "block")
        .agg(common=pl.len())
    )
    broken = (
        pairs.join(common, on=["signature", "block"])
        .join(blocks.group_by("block").agg(told=pl.len()), on="block")
        .join(members.group_by("signature").agg(size=pl.len()), on="signature")
        .filter((pl.col("common") != pl.col("told")) | (pl.col("common") != pl.col("size")))
    )
    if broken.height:
        raise VerificationError(
            f"{broken['persons'].sum():,} persons would get a signature that is neither equal to one they were told "
            "nor shares nothing with it",
            hint="This release is not safe and was not published. Please report it.",
        )
