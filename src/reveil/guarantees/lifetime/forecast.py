"""How much of their budgets people have left, and how long it lasts. For the owner's eyes: values are shown."""

from __future__ import annotations

from fractions import Fraction  # noqa: TC003  (the example in a docstring uses it)
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.guarantees.lifetime.strategies import ROUNDING
from reveil.guarantees.lifetime.survival import Pairs

if TYPE_CHECKING:
    from reveil.core.json_values import JSON
    from reveil.guarantees.lifetime.strategies import Strategy


def forecast(
    ledger: pl.DataFrame,
    texts: pl.Series,
    strategy: Strategy,
    l: Fraction,
    releases: int,
    largest: float = np.inf,
    permanent: tuple[str, ...] = (),
) -> list[dict[str, JSON]]:
    """Return a row for each value that anybody was linked with, the tightest first.

    ``ledger`` has a row for each pair: ``person``, ``value``, ``survival``, ``links``. ``texts`` is what the codes of
    values stand for. After ``releases`` releases: ``persons`` were linked with the value, and ``used_up`` of these can
    be no more. ``quarters`` counts the others by what they have left of their budget: up to a quarter, a half, three
    quarters, all of it; ``least_left`` and ``average_left`` are over everybody. ``links_left`` is how often the
    tightest of the others can still be linked, at the smallest groups, and ``releases_left`` for how many releases
    anybody's links last at least, at the pace of theirs so far. A permanent value is told once and needs no more:
    there is no forecast.
    """
    if not ledger.height:
        return []
    pairs = Pairs.of(ledger.select(pl.col("person").alias("record"), "value", "survival", "links"))
    names = texts.gather(pairs.value)
    lasts = names.is_in(list(permanent)).fill_null(False).to_numpy()
    used = strategy.used_up(pairs.survival, pairs.links, l, largest) & ~lasts
    # The part of the budget that is left: 1 before the first link, 0 where the bound is reached.
    left = np.clip((pairs.survival - float(1 - 1 / l)) * float(l), 0.0, 1.0)
    further = strategy.further(pairs.survival, pairs.links, l, largest)
    pace = pairs.links / max(releases, 1)
    frame = pl.DataFrame(
        {
            "value": names,
            "used": used,
            "left": left,
            "further": pl.Series(further),
            "lasts": lasts,
            "pace": pace,
            "releases": np.floor(further / pace),
        }
    )
    open_ones = ~pl.col("used") & ~pl.col("lasts")
    told = (
        frame.group_by("value")
        .agg(
            pl.len().alias("persons"),
            pl.col("used").sum().alias("used_up"),
            pl.col("left").min().alias("least_left"),
            pl.col("left").mean().alias("average_left"),
            pl.col("left").filter(~pl.col("used")).alias("quarters"),
            pl.col("further").filter(open_ones).min().alias("links_left"),
            pl.col("releases").filter(open_ones).min().alias("releases_left"),
        )
        .with_columns(
            pl.col("releases_left").cast(pl.Int64),
            pl.concat_list(
                (pl.col("quarters").list.eval((pl.element() * 4 - 1e-9).floor().clip(0, 3) == part).list.sum())
                for part in range(4)
            ).alias("quarters"),
        )
        .sort("releases_left", "least_left", "value", nulls_last=True)
    )
    return told.to_dicts()


def most_releases(l: Fraction, share: float) -> int | None:
    """Return in how many releases everybody can be published whose value stays, if one value has this share of each.

    None if the value is not there. Proposition. Let everybody be in every release, in groups of n rows of which n_s
    have the value s. The mean over all persons of n_s/n is the share f of s in the table, and -log(1 - x) is convex,
    so that a release adds at least -log(1 - f) to -log S(o, s) on average over the persons o. After R releases somebody
    has S <= (1 - f)^R, and the bound asks for S >= 1 - 1/l. So R is at most log(1 - 1/l) / log(1 - f), under every
    strategy. ``ConstantRatio(releases=R)`` reaches it; with the most frequent value of a table this is how many
    releases a budget lasts for a table whose people stay.

    >>> most_releases(Fraction(2), 0.139), most_releases(Fraction(2), 0.05), most_releases(Fraction(2), 0.6)
    (4, 13, 0)
    """
    if share <= 0:
        return None
    if share >= 1:
        return 0
    return int(np.floor(np.log1p(-float(1 / l)) / np.log1p(-share) * (1 + ROUNDING)))
