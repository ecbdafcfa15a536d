"""Program: somebody who knows the publisher's program asks why the groups are as they are."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from reveil.adversary.attacks.base import Attack, Findings, mask_of
from reveil.adversary.drawn_worlds import DrawnWorlds
from reveil.adversary.fitting import is_foreign
from reveil.adversary.sentences import known_to
from reveil.adversary.viewing import values_told
from reveil.releases.groups import groups_of
from reveil.releases.table import LEVEL

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from reveil.adversary.evidence import Evidence
    from reveil.core.arrays import IntArray
    from reveil.core.json_values import JSON
    from reveil.releases.release import Release

FloatArray = npt.NDArray[np.float64]

APPEARANCES = 5_000  # people of all releases together, beyond which no output is ever met again
MOST_RUNS = 1_000_000
ENOUGH = 50  # worlds that reproduce everything, from which on nothing less is asked for
DOUBT = 0.01


class Simulation(Protocol):
    """Publishes tables with other values; ``history`` has for each release the value of each person by name."""

    def __call__(self, history: Sequence[dict[str, str | None]], seed: int) -> Sequence[Release] | None:
        """Return the releases, None where the publisher refuses."""


@dataclass(frozen=True)
class KnownProgram:
    """A publisher, for how many seconds it may be run, and how often at most."""

    publish: Simulation = field(repr=False)
    seconds: float
    runs: int = MOST_RUNS


class Program(Attack):
    """The publisher is run on tables that agree with the releases, and those count that make it publish the same.

    Tables are drawn from the worlds of the counted grade, all alike (by importance sampling,
    :mod:`reveil.adversary.drawn_worlds`); each is published once with fresh dice. Those that reproduce all the
    releases, as far as anybody sees them (:func:`group_keys`: boxes, values and counterfeits of the groups; not the
    order of rows or the numbers of groups), are as likely as somebody believes who knows everything but the dice.
    Where too few do, a person is looked at alone: tables count that reproduce the groups of this person, which is what
    somebody believes who asks why just these are so.

    Shares are estimates. Each comes with a lower limit that holds for all of them together with 99 % (Clopper and
    Pearson, Bonferroni); where weights of tables differ, by the effective number of draws. Nothing is exact, and
    nothing found proves nothing: large tables are hardly ever met again. Cost: one publication for each table, as many
    as the minutes given allow. It judges promises of the blind grade; the grades counted and worlds are not about it.
    Source: Wong, Fu, Wang, Pei 2007 (minimality); Cormode, Li, Li, Srivastava 2010.
    """

    name: ClassVar[str] = "program"
    about: ClassVar[Literal["value", "ever", "range", "guess", "given"]] = "given"
    knows: ClassVar[str] = "the publisher's program and settings"

    def about_in(self, evidence: Evidence) -> str:
        """Return that it is about a value where all releases promise that to somebody who knows the program."""
        return "value" if all(view.promise.grade == "blind" for view in evidence.views) else self.about

    def run(self, evidence: Evidence, rng: np.random.Generator) -> Findings:
        """Draw tables and publish them until the time is over."""
        why = _why_not(evidence)
        if evidence.program is None or why is not None:
            return Findings.not_made(why or "")
        drawn = DrawnWorlds(evidence)
        if not drawn.possible:
            return Findings.not_made("not everybody's group is known, or the releases contradict each other")
        runs = _Runs(evidence, drawn)
        end = time.monotonic() + evidence.program.seconds
        while runs.tables < evidence.program.runs and (not runs.tables or time.monotonic() < end):
            if not runs.one_more(evidence.program.publish, rng):
                return Findings.not_made("no table was found that agrees with the releases")
        return runs.findings(f"somebody who knows {known_to(evidence.known)}, and {self.knows}")


def _why_not(evidence: Evidence) -> str | None:
    if evidence.program is None:
        return "no publisher was handed over: --attack program --minutes M, with --truth"
    if evidence.known == "nothing":
        return "who is in the table is not known"
    if any(is_foreign(view.release) for view in evidence.views):
        return "a release of another tool is not published again by this one"
    if any(getattr(view.release.manifest, "selection", None) for view in evidence.views):
        return "a release of a part of the table is not published again"
    if evidence.schema is not None and len(evidence.schema.sensitive) > 1:
        return "with several sensitive columns it is not known what the others have"
    if sum(len(view.present) for view in evidence.views) > APPEARANCES:
        return f"it is for small tables, of at most {APPEARANCES:,} people in all releases together"
    return None


class _Runs:
    """Tables that were published, and which of them reproduced what."""

    def __init__(self, evidence: Evidence, drawn: DrawnWorlds) -> None:
        self.evidence, self.drawn = evidence, drawn
        self.tables = self.refused = self.whole_many = 0
        self.keys = [group_keys(view.release, evidence.column) for view in evidence.views]
        self.seen = [Counter(keys) for keys in self.keys]
        self.names = evidence.persons.to_list()
        self.texts = evidence.values.to_list()
        appearances = drawn.appearances
        self.group = np.concatenate([view.sure for view in evidence.views])
        self.values: list[IntArray] = []  # of the tables that reproduced any group, and their weights
        self.weights: list[float] = []
        self.whole: list[bool] = []
        self.met: list[npt.NDArray[np.bool_]] = []  # whether the group of each appearance was reproduced
        self.person, self.release = appearances.person, appearances.release

    def one_more(self, publish: Simulation, rng: np.random.Generator) -> bool:
        """Draw a table and publish it."""
        world = self.drawn.draw(rng)
        if world is None:
            return False
        values, weight = world
        history: list[dict[str, str | None]] = [{} for _ in self.keys]
        for person, release, value in zip(self.person.tolist(), self.release.tolist(), values.tolist(), strict=True):
            history[release][self.names[person]] = self.texts[value]
        releases = publish(history, int(rng.integers(2**31)))
        self.tables += 1
        if releases is None or len(releases) != len(self.keys):
            self.refused += 1
            return True
        seen = [Counter(group_keys(release, self.evidence.column)) for release in releases]
        whole = seen == self.seen
        self.whole_many += whole
        again = [np.array([key in now for key in keys], np.bool_) for keys, now in zip(self.keys, seen, strict=True)]
        met = np.array(
            [g >= 0 and again[t][g] for g, t in zip(self.group.tolist(), self.release.tolist(), strict=True)], np.bool_
        )
        if whole or met.any():
            self.values.append(values)
            self.weights.append(weight)
            self.whole.append(whole)
            self.met.append(met | whole)
        return True

    def findings(self, attacker: str) -> Findings:
        """Return the likeliest value of each person in each release."""
        summary: dict[str, JSON] = {
            "attacker": attacker,
            "tables": self.tables,
            "refused": self.refused,
            "reproduced": self.whole_many,
            "by": "all releases" if self.whole_many >= ENOUGH else "the groups of each person",
            "confidence": 1 - DOUBT,
        }
        if not self.values:
            return Findings.nothing({**summary, "equal_weights": True, "persons": 0})
        values, weights = np.array(self.values), np.exp(np.array(self.weights) - max(self.weights))
        equal = bool(np.allclose(weights, weights[0]))
        n, domain = self.drawn.appearances.n, len(self.texts)
        tests = n * domain
        best = np.zeros((n, 4))  # belief, value, limit, worlds
        for persons in self._people():
            kept = np.array(self.whole) if self.whole_many >= ENOUGH else np.array(self.met)[:, persons].all(axis=1)
            if not kept.any():
                continue
            mine = np.ones(int(kept.sum())) if equal else weights[kept]
            effective = mine.sum() ** 2 / (mine**2).sum()
            for appearance in persons:
                share = np.bincount(values[kept, appearance], mine, domain) / mine.sum()
                value = int(share.argmax())
                limit = lower_limit(share[value] * effective, effective, DOUBT / tests)
                best[appearance] = share[value], value, limit, effective
        told = np.flatnonzero(best[:, 3] > 0)
        mask = np.full(len(told), mask_of(self.evidence, *range(len(self.keys))), np.int64)
        summary |= {"equal_weights": equal, "persons": len(np.unique(self.person[told]))}
        # No number of draws makes anything certain.
        belief = np.minimum(best[told, 0], 1 - 1 / (best[told, 3] + 2))
        return Findings(
            self.person[told],
            np.maximum(belief, best[told, 2]),
            best[told, 1].astype(np.int32),
            np.zeros(len(told), np.bool_),
            mask,
            summary,
            best[told, 2],
            self.release[told],
        )

    def _people(self) -> list[list[int]]:
        """Return the appearances of each person."""
        found: dict[int, list[int]] = {}
        for appearance, person in enumerate(self.person.tolist()):
            found.setdefault(person, []).append(appearance)
        return list(found.values())


def lower_limit(many: float, of: float, doubt: float) -> float:
    """Return the lower end of the interval of Clopper and Pearson.

    >>> round(lower_limit(10, 10, 0.05), 4)
    0.7411
    """
    return 0.0 if many <= 0 else float(betaincinv(many, of - many + 1, doubt))


def group_keys(release: Release, column: str) -> list[Hashable]:
    """Return what is seen of each group: the cells of its rows, its values, and how many of them are counterfeit."""
    groups = groups_of(release)
    nested = () if release.levels is None else (LEVEL,)
    names = [name for name in release.text.columns if name in release.cells or name in nested]
    rows = release.text.select(names).fill_null("").rows() if names else [()] * len(groups.index)
    cells: list[list[tuple[str, ...]]] = [[] for _ in groups.numbers]
    for group, row in zip(groups.index.tolist(), rows, strict=True):
        cells[group].append(row)
    told: list[list[str]] = [[] for _ in groups.numbers]
    numbers, _ = release.group_values()
    texts = values_told(release, column).to_list()
    for group, text in zip(np.searchsorted(groups.numbers, numbers).tolist(), texts, strict=True):
        told[group].append("\0" if text is None else text)
    return [
        (tuple(sorted(rows)), tuple(sorted(values)), int(fakes))
        for rows, values, fakes in zip(cells, told, groups.fakes, strict=True)
    ]
