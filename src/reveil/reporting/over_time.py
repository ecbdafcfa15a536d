"""What is measured over the releases together: risk, trends, and how well releases can be compared."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from reveil.adversary.over_time import audit_over_time
from reveil.adversary.sentences import broken
from reveil.analysis.measures.churn import churn
from reveil.analysis.measures.comparability import comparability
from reveil.analysis.measures.trend import trend_error
from reveil.core.errors import ReveilError
from reveil.reporting.levels import AttackRequest, at_every_level
from reveil.reporting.placing import placement_of
from reveil.vault.requests import asks_the_same

if TYPE_CHECKING:
    from collections.abc import Callable

    from reveil.adversary import Audit
    from reveil.adversary.over_time import AuditStep
    from reveil.core.json_values import JSON
    from reveil.reporting.attackable import Attackable
    from reveil.reporting.holdings import Held, Holdings

ATTACK = ("highest", "highest_proven", "certain")


def risk(
    open_to: Attackable | None,
    notes: list[str],
    asked: AttackRequest,
    values: Audit | None,
    *,
    stage: Callable[[str], None],
) -> SeriesRisk | None:
    """Return how strongly values could be believed as the series went on; None without snapshots.

    The attacks are those of an audit, with the background that the guarantee is against, and then with every other
    that the tables allow; ``values`` is what was found by somebody who knows sensitive values. Persons are counted.
    """
    if open_to is None:
        return None
    about = open_to.about
    lost = [held for held in about.releases if held.missing is not None]
    if lost:
        notes.append("The attacks lack the releases that are missing: whoever holds these may know more.")
    found = audit_over_time(
        open_to.sources, about.schema, open_to.truth, guarantee=about.guarantee, stage=stage,
        sample=asked.sample, population_size=asked.population_size, gathering=open_to.gathering,
    )  # fmt: skip
    notes += found.audit.notes
    levels, not_tried = at_every_level(open_to, found.audit, asked, values, stage=stage)
    stronger = [level for level in levels if level.stronger and not about.guarantee.traits.remembers]
    more = max(stronger, key=lambda level: level.badness) if stronger else None
    summary = found.audit.summary
    content: dict[str, JSON] = {
        "known": found.audit.known,
        "releases": len(open_to.held),
        "persons": summary["persons"],
        "bound": summary["bound"],
        "held": summary["held"],
        "certain": summary["certain"],
        "certain_and_right": summary["certain_and_right"],
        "above_bound": summary["above"]["bound"],
        "above_half": summary["above"]["0.5"],
        "highest_proven": summary["highest_proven"],
        "sentence": found.audit.sentence,
        "limits": found.audit.limits,
        "broken": broken(found.audit.limits),
        "unread": found.audit.unread,
        "knows_more": None
        if more is None
        else {"known": more.known, "certain": more.certain, "sentence": more.sentence},
        "levels": [level.to_json() for level in levels],
        "levels_not_tried": not_tried,
        "worst": max(range(len(levels)), key=lambda n: levels[n].badness),
        "sample": summary.get("sample"),
        "columns": [_column(name, steps) for name, steps in found.steps.items()],
        "risks": found.audit.risks,
        "table_risks": [table.to_json() for table in found.audit.table_risks],
    }
    return SeriesRisk(content, found.audit)


@dataclass(frozen=True)
class SeriesRisk:
    """What the attacks found as the report tells it, and all of it for the owner."""

    content: dict[str, JSON]
    audit: Audit


def _column(name: str, steps: list[AuditStep]) -> dict[str, JSON]:
    """Return the attacks on one sensitive column: what each believed after so many releases, if anything."""
    last = steps[-1].audit
    telling = [
        attack
        for attack, found in last.attacks.items()
        if any((step.audit.attacks[attack]["highest"] or 0) > 0 for step in steps)
    ]
    return {
        "name": name,
        "steps": [
            {
                "releases": step.releases,
                "highest": step.audit.summary["highest"],
                "highest_proven": step.audit.summary["highest_proven"],
                "certain": step.audit.summary["certain"],
                "table": step.audit.summary["baseline"]["table"],
                "last_release": step.audit.summary["baseline"]["last_release"]["highest_proven"],
            }
            for step in steps
        ],
        "attacks": [
            {
                "name": attack,
                "about": last.attacks[attack]["about"],
                "judged": last.attacks[attack]["judged"],
                "attacker": last.attacks[attack]["attacker"],
                **{key: [step.audit.attacks[attack][key] for step in steps] for key in ATTACK},
                "median": [step.medians[attack] for step in steps],
            }
            for attack in telling
        ],
        # Linkage finds rows, not values: it has a number of its own.
        "linkage": (last.attacks.get("linkage") or {}).get("prosecutor"),
        "found_nothing": [attack for attack in last.ran if attack not in telling and attack != "linkage"],
        "not_run": [{"name": name, "why": why} for name, why in last.not_run.items()],
    }


def trend(about: Holdings, notes: list[str], queries: int, *, stage: Callable[[str], None]) -> dict[str, JSON] | None:
    """Return how wrong trends are that are read off the releases of the same part of the table as the last one."""
    able = [held for held in about.at_hand if held.snapshot is not None and not held.adopted and not held.strange]
    if able and able[-1].row is not None:
        request = able[-1].row.request
        able = [held for held in able if held.row is not None and asks_the_same(held.row.request, request)]
    snapshots = [held.snapshot for held in able if held.snapshot is not None]
    releases = [held.release for held in able if held.release is not None]
    stage("measuring trends")
    try:
        found = trend_error(snapshots, releases, queries)
    except ReveilError as error:
        notes.append(f"Trends cannot be measured: {error.message}.")
        return None
    return None if found is None else {**found, "releases": [held.number for held in able]}


def comparing(about: Holdings, *, stage: Callable[[str], None]) -> list[dict[str, JSON]]:
    """Return for each two releases in a row on how much of the space they agree, and who changed boxes unchanged."""
    found = []
    for before, after in pairwise(about.at_hand):
        if before.release is None or after.release is None:
            continue
        stage(f"comparing release {before.number} with {after.number}")
        moved = _churn(about, before, after)
        found.append(
            {
                "from": before.number,
                "to": after.number,
                "comparability": comparability(before.release, after.release, about.schema),
                "churn": None if moved is None else moved["share"],
                "unchanged": None if moved is None else moved["persons"],
            }
        )
    return found


def _churn(about: Holdings, before: Held, after: Held) -> dict[str, JSON] | None:
    """Return the churn between two releases, where the snapshots are given and the vault kept who was where."""
    if before.snapshot is None or after.snapshot is None or before.release is None or after.release is None:
        return None
    if before.strange or after.strange:
        return None
    places = placement_of(about, before), placement_of(about, after)
    if places[0] is None or places[1] is None:
        return None
    return churn((before.snapshot, after.snapshot), (before.release, after.release), places)
