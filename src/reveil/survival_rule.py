"""Was anybody ever told to have a value with more than 1/l? Checked from published values and placements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.errors import VerificationError
from reveil.notation import SUPPRESSED_VALUE
from reveil.snapshot import canonical_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    import numpy.typing as npt

    from reveil.release import Release

TOLERANCE = 1e-12


def check_survival(
    release: Release,
    placement: npt.NDArray[np.integer],
    survival: pl.DataFrame,
    l: Fraction | float,
    *,
    harmless: Sequence[str] = (),
    permanent: Sequence[str] = (),
    cohorts: pl.DataFrame | None = None,
    absent: pl.DataFrame | None = None,
) -> None:
    """Raise unless 1 - S is at most 1/l for every person and every value that is not harmless, with this release.

    ``placement[row]`` is the record of a row. ``survival`` has the columns ``record``, ``value`` (a text, null being a
    value) and ``survival``: what was told before. ``cohorts`` (``record``, ``cohort``: -1 as a record for an absent
    person): who must be published together or not at all; the pairs of its persons with ``permanent`` values spend
    once. ``absent`` has the columns ``group`` and ``absent``: how many persons who are not in the table dilute it.
    Nothing is taken from the code that made the groups: counts are read off the published values.
    """
    if release.groups is None:
        raise VerificationError("a release with budgets needs a column of groups")
    groups, values = release.group_values()
    texts = canonical_text(values.to_series()).alias("value")
    before = survival.select("record", "value", "survival")
    # Codes instead of texts: a pair is then one number.
    names = pl.concat([texts, before["value"]]).unique()
    place = pl.DataFrame({"value": names, "code": np.arange(len(names))})
    lasting = place.filter(pl.col("value").is_in(list(permanent)).fill_null(False))["code"].implode()
    free = place.filter(pl.col("value").is_in([*harmless, SUPPRESSED_VALUE]).fill_null(False))["code"].implode()
    rows = _coded(texts.to_frame(), place).with_columns(pl.Series("group", groups))
    sizes = rows.group_by("group").agg(pl.len().alias("n"))
    if absent is not None:
        sizes = sizes.join(absent.cast({"group": sizes.schema["group"]}), on="group", how="left").select(
            "group", pl.col("n") + pl.col("absent").fill_null(0)
        )
    shares = (
        rows.filter(~pl.col("code").is_in(free))
        .group_by("group", "code")
        .agg(pl.len().alias("n_s"))
        .join(sizes, on="group")
        .select("group", "code", now=1 - pl.col("n_s") / pl.col("n"))
    )
    members = pl.DataFrame({"record": placement.astype(np.int64), "group": release.groups})
    members = members.filter(pl.col("record") >= 0)
    pair = (pl.col("record").cast(pl.Int64) * len(names) + pl.col("code")).alias("pair")
    pairs = members.join(shares, on="group").with_columns(pair)
    known = _coded(before, place).select(pair, "survival")
    pairs = pairs.join(known, on="pair", how="left")
    once = pl.col("code").is_in(lasting) & pl.col("survival").is_not_null()
    if permanent:
        _check_cohorts(members, cohorts, pairs.filter(once))
    product = pl.when(once).then("survival").otherwise(pl.col("survival").fill_null(1.0) * pl.col("now"))
    broken = pairs.filter(1 - product > 1 / float(l) + TOLERANCE)["record"].n_unique()
    if broken:
        raise VerificationError(
            f"{broken:,} persons would be told ever to have had a value with more than 1/{float(l):g}",
            hint="This release is not safe and was not published. Please report it.",
        )


def _check_cohorts(members: pl.DataFrame, cohorts: pl.DataFrame | None, again: pl.DataFrame) -> None:
    """Check that cohorts are whole groups or absent, and that their permanent values are as frequent as they were."""
    wrong = again.filter((pl.col("survival") - pl.col("now")).abs() > TOLERANCE).height
    if cohorts is not None and cohorts.height:
        where = cohorts.select(pl.col("record").cast(pl.Int64), "cohort").join(members, on="record", how="left")
        sizes = members.group_by("group").agg(pl.len().alias("n"))
        whole = where.group_by("cohort").agg(
            pl.col("group").n_unique().alias("groups"), pl.col("group").first(), pl.len().alias("own")
        )
        apart = whole.join(sizes, on="group", how="left").filter(
            (pl.col("groups") > 1) | (pl.col("group").is_not_null() & (pl.col("n") != pl.col("own")))
        )
        wrong += apart.height
    if wrong:
        raise VerificationError(
            "persons who share a permanent value would not be published together as they were",
            hint="This release is not safe and was not published. Please report it.",
        )


def _coded(rows: pl.DataFrame, place: pl.DataFrame) -> pl.DataFrame:
    """Give each value its code."""
    return rows.join(place, on="value", how="left", maintain_order="left", nulls_equal=True)
