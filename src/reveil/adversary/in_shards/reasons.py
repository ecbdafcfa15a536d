"""Why attacks are not made in shards: each says what it would need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reveil.adversary.in_shards.asking import ATTACKS
from reveil.adversary.result import AT_ONCE
from reveil.releases.limits import signatures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.adversary.in_shards.slices import KnownSeries

# Attacks by what nobody hands over here: they say themselves what they lack.
_LACKING = ("columns", "minimality", "pairs", "prior", "program", "values")


def reasons(series: KnownSeries, chosen: Sequence[str], *, odd: bool, even: bool) -> dict[str, str]:
    """Return which of the attacks are not made in shards, and why.

    ``odd``: whether any life has a gap or a change; ``even``: whether all groups have two values or more, each as often
    as the others.
    """
    found = {name: AT_ONCE for name in chosen if name not in (*ATTACKS, *_LACKING)}
    if series.schema.relation is None:
        found.pop("household", None)
    if not series.schema.plain:
        found.pop("plain", None)
    columns = {frozenset(known.release.cells) for known in series.releases}
    if len(columns) == 1 and not any(limit.attack == "sequential" for limit in series.limits):
        found.pop("sequential", None)
    if any(limit.permanent for limit in series.limits):
        found["serial"] = f"values are declared as permanent: {AT_ONCE}"
    if not (even and _kept_apart(series, odd=odd)):
        found["tau"] = f"people and groups hang together over the releases: {AT_ONCE}"
    return {name: why for name, why in found.items() if name in chosen}


def _kept_apart(series: KnownSeries, *, odd: bool) -> bool:
    """Return whether the releases keep everybody's sets of values equal or apart, as their manifests declare it."""
    known = [one.release.manifest.promise for one in series.releases if one.release.manifest.promise.is_known]
    stated = signatures(known[-1]) if known else None
    return stated == "apart" or (stated == "kept" and series.known == "events" and not odd)
