"""People attacked slice by slice: everybody is in one, with all their releases and all the groups they may be in."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.adversary.appearances import appearances_of
from reveil.adversary.attacks.base import Findings, joined
from reveil.adversary.attacks.intersection import in_sets
from reveil.adversary.attacks.tau import kept_apart
from reveil.adversary.cells import runs_of
from reveil.adversary.judging import judge
from reveil.adversary.strongest import LIMITS, TOLERANCE
from reveil.core import registry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.adversary.attacks.base import Attack
    from reveil.adversary.evidence import Evidence
    from reveil.adversary.in_shards.slices import KnownSeries
    from reveil.adversary.judging import Made
    from reveil.adversary.result import Audit
    from reveil.adversary.sampling import Draw

HOME = "home"
PAYLOAD = pl.Schema({"payload": pl.Binary})
SHOWN = 20  # persons of a slice who are kept, beside those of whom something is proven
PAIRED = ("absence", "correspondence", "difference", "intersection")  # attacks that need whole groups, or cells
FOUND = pl.Schema(
    {
        HOME: pl.Int32,
        "person": pl.String,
        "column": pl.Int32,
        "attack": pl.Int32,
        "belief": pl.Float64,
        "value": pl.Int32,
        "exact": pl.Boolean,
        "mask": pl.Int64,
        "lower": pl.Float64,
        "at": pl.Int32,
    }
)


@dataclass(frozen=True)
class AttackPlan:
    """What is attacked, and how: ``elsewhere`` are attacks whose findings come from slices of groups.

    ``not_made`` says why the others are not. ``threshold``, ``seed`` and ``named`` are those of the audit;
    ``draw``: who is attacked, where not everybody is.
    """

    series: KnownSeries
    attacks: tuple[str, ...]
    elsewhere: tuple[str, ...]
    not_made: Mapping[str, str]
    threshold: float | None
    seed: int
    named: bool
    everybody: bool
    draw: Draw | None = None


@dataclass(frozen=True)
class Partial:
    """What was found about the people of a slice.

    ``persons`` is how many there are, attacked or not; ``audit`` is None where none was.
    ``chances`` are, release by release, the sum of their chances to be found and how many of them could be;
    ``contradicts``: whether the releases contradict the rule that they declare.
    """

    column: int
    home: int
    persons: int
    audit: Audit | None = field(repr=False)
    chances: tuple[tuple[float, int], ...]
    contradicts: bool


@dataclass(frozen=True)
class AttackHome:
    """Work: the people of a slice, all of whose releases and groups are here."""

    plans: tuple[AttackPlan, ...]  # column by column

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Attack them, column by column."""
        people = table.filter(pl.col("t").is_not_null() & pl.col("person").is_not_null())
        groups = table.filter(pl.col("size").is_not_null()).unique(["t", "g"])
        elsewhere = table.filter(pl.col("attack").is_not_null())
        if not people.height:
            return PAYLOAD.to_frame()
        found = [_attacked(plan, people, groups, elsewhere) for plan in self.plans]
        return pl.DataFrame({"payload": [pickle.dumps(partial) for partial in found]}, schema=PAYLOAD)


def _attacked(plan: AttackPlan, people: pl.DataFrame, groups: pl.DataFrame, elsewhere: pl.DataFrame) -> Partial:
    """Attack the people of a slice, and judge what is found."""
    series, home, everybody = plan.series, int(people[HOME][0]), people["person"].n_unique()
    if plan.draw is not None:
        people = people.filter(pl.Series(plan.draw.takes(people["person"])))
        if not people.height:
            return Partial(series.place, home, everybody, None, (), contradicts=False)
    evidence = series.of_people(people, groups)
    told = elsewhere.filter(pl.col("column") == series.place)
    findings, broken = _made(plan, evidence, told)
    last, broken_alone = (findings, False)
    if len(evidence.views) > 1:
        last, broken_alone = _made(plan, evidence.last_alone, None)
    audit = judge(evidence, findings, last, plan.threshold, named=plan.named)
    return Partial(
        series.place, home, everybody, _kept(plan, audit), _chances(evidence), contradicts=broken or broken_alone
    )


def _made(plan: AttackPlan, evidence: Evidence, told: pl.DataFrame | None) -> tuple[Made, bool]:
    """Make the attacks; what comes from elsewhere is about all releases, and not about the last one alone."""
    made: Made = {}
    broken = False
    for name in plan.attacks:
        attack: Attack = registry.find("attacks", name)()
        rng = np.random.default_rng([plan.seed, *name.encode()])
        if name in plan.not_made:
            found = Findings.not_made(plan.not_made[name])
        elif name == "tau":
            apart = kept_apart(evidence, appearances_of(evidence, candidates=False))
            broken |= apart is None
            found = Findings.not_made("the releases contradict their own rule") if apart is None else apart
        elif told is not None and name in plan.elsewhere:
            found = _from_elsewhere(evidence, told.filter(pl.col("attack") == PAIRED.index(name)))
            if name == "intersection":
                runs = runs_of(evidence)
                found = joined([found, in_sets(evidence, runs)], {"runs": len(runs.person), "with_ids": False})
        else:
            found = attack.run(evidence, rng)
        made[name] = attack, found
    return made, broken


def _kept(plan: AttackPlan, audit: Audit) -> Audit:
    """Return what is told of a slice: without those of whom nothing is proven, unless everybody is asked for."""
    if plan.everybody:
        return audit
    persons, bound = audit.persons, audit.summary["bound"]
    limit = (LIMITS[0] if bound is None else bound) + TOLERANCE
    certain = pl.col("exact") & (pl.col("belief") >= 1 - TOLERANCE)
    first = pl.int_range(pl.len()) < SHOWN
    nobody = audit.everybody.clear()
    return replace(audit, persons=persons.filter(certain | (pl.col("proven") > limit) | first), everybody=nobody)


def _from_elsewhere(evidence: Evidence, told: pl.DataFrame) -> Findings:
    """Return findings that slices of groups made about the people of this one."""
    if told.height:
        told = told.filter(pl.col("person").is_in(evidence.persons.implode()))  # of others, nothing is told
    person = evidence.persons.search_sorted(told["person"]) if told.height else pl.Series([], dtype=pl.Int32)
    return Findings(
        person.to_numpy().astype(np.int32),
        told["belief"].to_numpy(),
        told["value"].to_numpy().astype(np.int32),
        told["exact"].to_numpy(),
        told["mask"].to_numpy().astype(np.int64),
        {},
        told["lower"].to_numpy(),
        told["at"].to_numpy().astype(np.int32),
    )


def _chances(evidence: Evidence) -> tuple[tuple[float, int], ...]:
    """Return what the marketer's risk is the mean of, as the attack linkage counts it."""
    found = []
    for view in evidence.views:
        filled = view.candidates.lengths > 0
        rows = view.candidates.reduce(np.add, view.sizes[view.candidates.items])
        chance = 1 / np.maximum(rows[filled], 1)
        found.append((float(chance.sum()), int((filled | view.crowded).sum())))
    return tuple(found)


def unpacked(payload: bytes) -> Partial:
    """Return what a worker packed."""
    partial: Partial = pickle.loads(payload)  # noqa: S301  (packed by a worker of ours)
    return partial


@dataclass(frozen=True)
class FindHomes:
    """Work: give the persons of a bucket, all of whose releases are here, a home: the region where they came first.

    ``odd0``, ... say, column by column, whether anybody's life has a gap or a change that a rule would have to know.
    """

    sensitive: int
    returns: pl.Schema

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Look at their lives."""
        if not table.height:
            return self.returns.to_frame()
        lives = table.sort("person", "t")
        follows = (pl.col("person") == pl.col("person").shift(1)).fill_null(value=False)
        gap = follows & (pl.col("t") > pl.col("t").shift(1) + 1)
        odd = [
            (gap | (follows & (pl.col(f"v{s}") != pl.col(f"v{s}").shift(1)))).fill_null(value=False).alias(f"odd{s}")
            for s in range(self.sensitive)
        ]
        home = pl.when(~follows).then(pl.col("region")).forward_fill().alias(HOME)
        return lives.with_columns(home, *odd).select(self.returns.names())
