"""What slices found, put together: the same numbers as an audit in one memory tells."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from reveil.adversary.rates import sampled
from reveil.adversary.result import Audit
from reveil.adversary.sampling import note_of_sample
from reveil.adversary.sentences import known_to, sentence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reveil.adversary.in_shards.homes import Partial
    from reveil.adversary.in_shards.slices import KnownSeries


Figures = dict[str, Any]  # of an attack or of all of them, as a summary has them


@dataclass(frozen=True)
class OfGroups:
    """What was counted over all groups of a release: how far their values are from the table's, and who fits them."""

    farthest: float
    mean: float
    ratio: float
    fewest: int | None  # persons who may be in a group, of those in which anybody may be
    tells: bool


@dataclass(frozen=True)
class Counted:
    """What is counted over whole releases, for one sensitive column."""

    series: KnownSeries
    groups: tuple[OfGroups, ...]
    elsewhere: Mapping[str, Mapping[str, int | None]]  # summaries of attacks on slices of groups


def put_together(parts: Sequence[Partial], counted: Counted, notes: Sequence[str], *, drawn: bool) -> Audit:
    """Return the audit of one sensitive column; ``drawn``: not everybody was attacked."""
    everybody = sum(part.persons for part in parts)
    parts = [part for part in parts if part.audit is not None]
    audits = [part.audit for part in parts if part.audit is not None]
    first, series = audits[0], counted.series
    persons = pl.concat([audit.persons for audit in audits])
    persons = persons.sort("proven", "belief", "person", descending=[True, True, False])
    certain = pl.concat([audit.certain for audit in audits])
    beyond = [audit.beyond for audit in audits if audit.beyond.height]
    baseline = {
        "table": float(series.releases[-1].shares.max(initial=0.0)),
        "last_release": _added([audit.summary["baseline"]["last_release"] for audit in audits]),
    }
    summary = {**first.summary, **_added([audit.summary for audit in audits])}
    attacked = sum(audit.summary["persons"] for audit in audits)
    summary["persons"] = everybody
    if drawn:
        summary["sample"] = sampled(attacked, everybody, summary["certain"])
    summary["held"] = all(audit.held for audit in audits)
    summary["baseline"] = baseline
    attacks = {name: _attack(name, parts, audits, counted) for name in first.attacks}
    releases = [
        {
            **of_release,
            "rows": known.rows,
            "groups": known.groups,
            "persons": known.present,
            "needed_by": sum(int(str(audit.releases[at]["needed_by"])) for audit in audits),
        }
        for at, (of_release, known) in enumerate(zip(first.releases, series.releases, strict=True))
    ]
    return Audit(
        persons,
        certain.sort("person", "release"),
        summary,
        attacks,
        releases,
        first.known,
        sentence(series.column, known_to(first.known), persons, summary),
        series.column,
        pl.concat([audit.everybody for audit in audits]),
        _limits(audits, series),
        pl.concat(beyond) if beyond else first.beyond,
        first.not_run,
        [
            *notes,
            *(note for note in first.notes if note not in notes),
            *([f"{note_of_sample(attacked, everybody)}; so are the figures of attacks and limits"] if drawn else []),
        ],
        first.unread,
    )


def _added(counts: Sequence[Figures]) -> Figures:
    """Add up how many persons are above what, of whom something is certain, and how far beliefs go at most."""
    right = [one["certain_and_right"] for one in counts if one["certain_and_right"] is not None]
    above = {
        key: None if counts[0]["above"][key] is None else sum(one["above"][key] for one in counts)
        for key in counts[0]["above"]
    }
    return {
        "certain": sum(one["certain"] for one in counts),
        "certain_and_right": sum(right) if right else None,
        "above": above,
        "highest": max(one["highest"] for one in counts),
        "highest_proven": max(one["highest_proven"] for one in counts),
    }


def _attack(name: str, parts: Sequence[Partial], audits: Sequence[Audit], counted: Counted) -> Figures:
    """Put together what an attack says of itself."""
    told = [audit.attacks[name] for audit in audits]
    found = {**told[0], **_added(told)}
    if not found.get("ran", True):
        return found
    if name == "linkage":
        found |= _linkage(parts, told, counted)
    elif name == "homogeneity":
        highest = [one["highest_per_release"] for one in told]
        found["highest_per_release"] = [max(each) for each in zip(*highest, strict=True)]
    elif name == "skewness":
        telling = [each for each in counted.groups if each.tells]
        found["distance_max"] = max((each.farthest for each in telling), default=0.0)
        found["distance_mean_per_release"] = [each.mean for each in telling]
        found["largest_ratio"] = max((each.ratio for each in telling), default=0.0)
    elif name == "intersection":
        found["runs"] = sum(one["runs"] for one in told)
    elif name == "tau":
        found["certain"] = sum(one["certain"] for one in told)
        many: Counter[str] = Counter()
        for one in told:
            many.update(one["found"])
        found["found"] = dict(many)
    return found | dict(counted.elsewhere.get(name, {}))


def _linkage(parts: Sequence[Partial], told: Sequence[Figures], counted: Counted) -> Figures:
    per_release = []
    for at, groups in enumerate(counted.groups):
        each = [one["per_release"][at] for one in told]
        chances = [part.chances[at] for part in parts]
        smallest = [one["smallest"] for one in each if one["smallest"] is not None]
        per_release.append(
            {
                "prosecutor": max(one["prosecutor"] for one in each),
                "journalist": 0.0 if groups.fewest is None else 1 / groups.fewest,
                "marketer": sum(total for total, _ in chances) / max(sum(many for _, many in chances), 1),
                "smallest": min(smallest) if smallest else None,
                "nowhere": sum(one["nowhere"] for one in each),
            }
        )
    names = ("prosecutor", "journalist", "marketer")
    return {**{name: max(one[name] for one in per_release) for name in names}, "per_release": per_release}


def _limits(audits: Sequence[Audit], series: KnownSeries) -> list[Figures]:
    """Put together how far each limit was tried."""
    smaller = {
        limit.says: limit.about == "link" or bool(getattr(limit.model, "smaller_is_better", False))
        for known in series.releases
        for limit in known.limits
    }
    found = []
    for at, first in enumerate(audits[0].limits):
        each = [audit.limits[at] for audit in audits]
        worst = [one["worst"] for one in each if one["worst"] is not None]
        farthest = max if smaller.get(first["says"], True) else min
        many = sum(one["persons"] for one in each)
        held = many == 0 if first["held"] is not None else None
        found.append({**first, "worst": farthest(worst) if worst else None, "persons": many, "held": held})
    return found
