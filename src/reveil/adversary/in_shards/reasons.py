"""Why attacks are not made in shards: each says what it would need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reveil.adversary.in_shards.asking import ATTACKS
from reveil.adversary.result import AT_ONCE
from reveil.releases.limits import signatures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.adversary.in_shards.slices import KnownSeries

_GIVEN = {
    "household": "who belongs together is not known: declare the column with relation = true, and give the snapshots",
    "minimality": "no publisher was handed over: Minimality(publisher=...)",
    "prior": "no prior was given: --prior uniform, releases or a file",
    "pairs": "nobody said which values occur together: --pairs truth or a table",
}


def reasons(series: KnownSeries, chosen: Sequence[str], *, odd: bool, even: bool) -> dict[str, str]:
    """Return which of the attacks are not made, and why.

    ``odd``: whether any life has a gap or a change; ``even``: whether all groups have two values or more, each as often
    as the others.
    """
    found = {name: AT_ONCE for name in chosen if name not in ATTACKS}
    if not any(column.relation for column in series.schema.columns):
        found["household"] = _GIVEN["household"]
    found |= {name: why for name, why in _GIVEN.items() if name in found and name != "household"}
    if series.schema.relation is not None and "household" in chosen:
        found["household"] = AT_ONCE
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
