"""What could be found out as the series went on: the same attacks on the first release, the first two, and so on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from reveil.adversary.counting import STATES
from reveil.adversary.field_risk import field_risks
from reveil.adversary.gathering import Gathering
from reveil.adversary.judging import judge, made
from reveil.adversary.result import Audit, merged
from reveil.adversary.sampling import some_of
from reveil.core import registry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reveil.adversary.attacks.base import Attack
    from reveil.adversary.evidence import Evidence
    from reveil.adversary.field_risk import ReleaseRisk
    from reveil.adversary.promises import Promising
    from reveil.tables.schema import Schema

STEPS = 6


@dataclass(frozen=True)
class AuditStep:
    """The attacks on the first so many ``releases``: what an audit says of them, and the median belief of each attack.

    The median is over everybody who was there by then; of whom an attack says nothing it believes 0.
    """

    releases: int
    audit: Audit
    medians: dict[str, float]


@dataclass(frozen=True)
class AuditOverTime:
    """The steps for each sensitive column, and the audit of all releases and columns together."""

    steps: dict[str, list[AuditStep]]
    audit: Audit


def audit_over_time(
    releases: Sequence[object],
    schema: Schema,
    truth: Sequence[object],
    known: str | None = None,
    threshold: float | None = None,
    seed: int = 0,
    *,
    guarantee: Promising | None = None,
    steps: int = STEPS,
    sample: int | None = None,
    population_size: int | None = None,
    gathering: Gathering | None = None,
    stage: Callable[[str], None] = lambda _: None,
) -> AuditOverTime:
    """Attack at most ``steps`` beginnings of a series, the first release alone and all together among these.

    The releases are read and compared with people once, which is most of the work. Arguments are those of
    :func:`~reveil.adversary.audit`. A plain column in which somebody changes later is not trusted in an earlier step
    either: there the attack that joins by it says less than it could have said then. Exact counts share the steps that
    one audit has: with many columns and releases more is told by limits.
    """
    stage("reading releases")
    attacks: dict[str, Attack] = {name: registry.find("attacks", name)() for name in sorted(registry.names("attacks"))}
    if gathering is None:
        gathering = Gathering.prepared(list(releases), schema, None, list(truth), guarantee=guarantee)
    gathering = gathering.knowing(known)
    schema = gathering.schema
    found: dict[str, list[AuditStep]] = {}
    beginnings = _beginnings(len(releases), steps)
    states = STATES // (2 * len(schema.sensitive) * len(beginnings))
    risks: list[ReleaseRisk] = []
    for column in schema.sensitive:
        evidence = gathering.on(column)
        if not found:
            risks = field_risks(evidence.views, population_size, stage=stage)
        evidence = replace(some_of(evidence, sample, seed), states=states)
        found[column] = []
        several = "" if len(schema.sensitive) == 1 else f" on {column}"
        for many in beginnings:
            stage(f"attacking {many} of {len(releases)} releases{several}")
            part = replace(evidence, views=evidence.views[:many], changed=evidence.changed[:many])
            found[column].append(_step(part, attacks, threshold, seed))
    whole = merged([steps[-1].audit for steps in found.values()])
    return AuditOverTime(found, replace(whole, table_risks=risks))


def _beginnings(releases: int, steps: int) -> list[int]:
    """Return how many releases each step has: from one to all, about evenly."""
    return sorted({int(many) for many in np.linspace(1, releases, min(steps, releases)).round()})


def _step(evidence: Evidence, attacks: dict[str, Attack], threshold: float | None, seed: int) -> AuditStep:
    there = np.zeros(len(evidence.persons), np.bool_)
    for view in evidence.views:
        there[view.present] = True
    findings = made(evidence, attacks, seed, stage=lambda _: None)
    last = findings if len(evidence.views) == 1 else made(evidence.last_alone, attacks, seed, stage=lambda _: None)
    medians = {}
    for name, (_, found) in findings.items():
        top = np.zeros(len(there))
        np.maximum.at(top, found.person, found.belief)
        medians[name] = float(np.median(top[there])) if there.any() else 0.0
    return AuditStep(len(evidence.views), judge(evidence, findings, last, threshold, named=False), medians)
