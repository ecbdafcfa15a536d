"""The verdict: what all the attacks together say about each person, and whether the series keeps its word."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from reveil.adversary.attacks.base import Attack, Findings
from reveil.adversary.rates import sampled
from reveil.adversary.result import Audit
from reveil.adversary.sampling import note_of_sample
from reveil.adversary.sentences import known_to, sentence
from reveil.adversary.set_limits import kept
from reveil.adversary.strongest import (
    LIMITS,
    TOLERANCE,
    Strongest,
    concatenated,
    counts,
    dated,
    every_finding,
    facts_of,
    framed,
    has_bit,
    rightness,
    strongest,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from reveil.adversary.evidence import Evidence
    from reveil.adversary.set_limits import LimitTrial
    from reveil.core.json_values import JSON

Made = dict[str, tuple[Attack, Findings]]  # attacks and what they found


def made(evidence: Evidence, attacks: Mapping[str, Attack], seed: int, *, stage: Callable[[str], None]) -> Made:
    """Make the attacks. Each has its own dice: what it draws must not depend on which others are made."""
    found: Made = {}
    for name, attack in attacks.items():
        stage(name)
        findings = attack.run(evidence, np.random.default_rng([seed, *name.encode()]))
        if evidence.sample is not None:
            findings = findings.keep(evidence.sample[findings.person])
        found[name] = (attack, findings)
    return found


def judge(evidence: Evidence, findings: Made, last: Made, threshold: float | None, *, named: bool) -> Audit:
    """Bring the findings of all attacks together; ``last`` are those on the last release alone.

    An attack that says something else than the guarantee bounds (a value was theirs at some time, or lies in a range)
    is reported and not judged; unless it was ``named`` by the caller and no promise of the series is in the way.
    """
    bounded = {name for name, (attack, _) in findings.items() if _bounded(attack, evidence)}
    promise = evidence.bound if bounded else None
    bound = min((limit for limit in (promise, threshold) if limit is not None), default=None)
    judged = {name for name in findings if name in bounded or (named and promise is None)}
    not_run = {
        name: finding.summary["why"] for name, (_, finding) in findings.items() if not finding.summary.get("ran", True)
    }
    told, best, certain_ = _brought_together(evidence, findings, bounded, judged, bound)
    knows = known_to(evidence.known, 0 if evidence.others is None else evidence.others.many)
    for attack_findings in told.values():
        attack_findings.setdefault("attacker", f"somebody who knows {knows}")
    right = rightness(evidence, best)
    breaks = bound is not None and bool((best.proven > bound + TOLERANCE).any())
    # A promise about sets of people is broken by a set.
    breaks |= any((finding.summary.get("cells") or {}).get("invalid", 0) > 0 for _, finding in findings.values())
    # What is promised of people who are told apart is judged by those who are.
    limits = kept(evidence, {name for name in findings if name not in not_run})
    breaks |= any(trial.many for trial in limits)
    # Without a promise that is about these attacks there is nothing to break.
    summary = {
        "persons": len(evidence.persons),
        **counts(best, right, bound),
        "bound": bound,
        "held": not breaks,
        "baseline": _baseline(evidence, last, bounded, judged, bound),
    }
    notes = [*evidence.notes, *(found.summary["note"] for _, found in findings.values() if "note" in found.summary)]
    everybody = evidence.persons
    if evidence.sample is not None:
        everybody = everybody.filter(pl.Series(evidence.sample))
        summary["sample"] = sampled(len(everybody), len(evidence.persons), cast("int", summary["certain"]))
        notes.append(note_of_sample(len(everybody), len(evidence.persons)))
    persons = framed(evidence, best, right, list(findings))
    persons = persons.sort("proven", "belief", "person", descending=[True, True, False])
    beside = [
        attack.knows for name, (attack, _) in findings.items() if name in judged - not_run.keys() and attack.knows
    ]
    knows = ", and ".join([knows, *beside])
    said = sentence(evidence.column, knows, persons, summary, evidence.unread)
    certain = facts_of(evidence, dated(evidence, certain_), list(findings))
    return Audit(
        persons,
        certain,
        summary,
        told,
        _releases(evidence, best),
        evidence.known,
        said,
        evidence.column,
        everybody,
        [trial.to_json() for trial in limits],
        _beyond(evidence, limits),
        not_run,
        notes,
        list(evidence.unread),
        next((found.guesses for _, found in findings.values() if found.guesses is not None), None),
    )


def _brought_together(
    evidence: Evidence, findings: Made, bounded: set[str], judged: set[str], bound: float | None
) -> tuple[dict[str, dict[str, JSON]], Strongest, Strongest]:
    """Return what each attack found, the best finding about each person, and everything that is certain."""
    told: dict[str, dict[str, JSON]] = {}
    parts, facts = [], []
    for number, (name, (attack, raw)) in enumerate(findings.items()):
        found = raw.without(evidence.declared("harmless")) if name in bounded else raw  # no bound is about these
        about = attack.about_in(evidence)
        whole = every_finding(found, number, ever=about == "ever")
        best = dated(evidence, strongest(whole, bound, len(evidence.persons)))
        found_counts = counts(best, rightness(evidence, best), bound)
        told[name] = {"about": about, "judged": name in judged, **found_counts, **found.summary}
        if name in judged:
            parts.append(best)
        elif about == "value":  # no part of the promise, but certainty contradicts it
            parts.append(best.at_places(np.flatnonzero(best.exact & (best.belief >= 1 - TOLERANCE))))
        if about == "value":
            facts.append(whole.at_places(np.flatnonzero(found.exact & (found.belief >= 1 - TOLERANCE))))
    return told, strongest(concatenated(parts), bound, len(evidence.persons)), concatenated(facts)


def _bounded(attack: Attack, evidence: Evidence) -> bool:
    """Return whether the promise of the series is about what an attack believes; without one, about any value."""
    limits, about = evidence.limits, attack.about_in(evidence)
    named = [limit for limit in limits if limit.attack is not None]
    bounds = named or [limit for limit in limits if limit.at_most is not None and limit.about != "link"]
    if not bounds:
        return about == "value"
    return any(limit.speaks_of(attack.name, about) for limit in bounds)


def _beyond(evidence: Evidence, limits: Sequence[LimitTrial]) -> pl.DataFrame:
    """Return who is beyond a limit: with the chance to find their row, or the share of the group's likeliest value."""
    frames = [
        pl.DataFrame(
            {
                "person": evidence.persons.gather(trial.persons),
                "belief": pl.Series(trial.chance, dtype=pl.Float64).fill_nan(None),
                "value": pl.Series([None] * len(trial.persons), dtype=pl.String),
                "attack": pl.Series([trial.attack] * len(trial.persons), dtype=pl.String),
                "releases": pl.Series((trial.at + 1)[:, None].tolist(), dtype=pl.List(pl.Int64)),
                "exact": True,
                "right": pl.Series([None] * len(trial.persons), dtype=pl.Boolean),
            }
        )
        for trial in limits
        if trial.many
    ]
    if not frames:
        return pl.DataFrame()
    return pl.concat(frames).sort("belief", descending=True, maintain_order=True).unique("person", maintain_order=True)


def _baseline(
    evidence: Evidence, last: Made, bounded: set[str], judged: set[str], bound: float | None
) -> dict[str, object]:
    """Return what could be believed without comparing releases: by the table alone, and by the last release alone."""
    view, alone = evidence.views[-1], evidence.last_alone
    table = np.bincount(view.codes, view.counts, max(len(evidence.values), 1)) / max(int(view.counts.sum()), 1)
    _, best, _ = _brought_together(alone, last, bounded, judged, bound)
    return {"table": float(table.max(initial=0.0)), "last_release": counts(best, rightness(alone, best), bound)}


def _releases(evidence: Evidence, best: Strongest) -> list[dict[str, JSON]]:
    return [
        {
            "release": view.number + 1,
            "rows": int(view.sizes.sum()),
            "groups": view.n_groups,
            "guarantee": view.promise.kind,
            "persons": len(view.present),
            "needed_by": int((has_bit(evidence, best.mask, view.number) & (best.proven > LIMITS[0])).sum()),
        }
        for view in evidence.views
    ]
