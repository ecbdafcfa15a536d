"""The verdict: what all the attacks together say about each person, and whether the series keeps its word."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.adversary.attacks.base import BITS, Attack, Findings
from reveil.adversary.sentences import known_to, sentence
from reveil.adversary.set_limits import kept

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from reveil.adversary.evidence import Evidence, View
    from reveil.adversary.set_limits import LimitTrial
    from reveil.core.arrays import BoolArray, CodeArray, IntArray
    from reveil.core.json_values import JSON
    from reveil.models.limits import Limit

FloatArray = npt.NDArray[np.float64]

FORMAT = 1
TOLERANCE = 1e-9
LIMITS = (0.5, 0.2)


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    ``persons``: for each person of whom anything is believed, the highest belief, the value, the attack, the releases
    it needed (counted from 1), whether the number is exact, whether the value is right (null without truth), and the
    highest belief that is proven of the person, by whichever attack. ``certain`` are all the values that can be read
    off, with the release in which the person has them (a person may have several, at different times). ``summary``
    counts persons, ``attacks`` has the same per attack, ``releases`` per release; ``held`` is whether nothing proven
    exceeds what is promised and the threshold. ``limits`` are what is promised of people who are not told apart (k,
    diversity, closeness), each with how far it was tried, and ``beyond`` the persons who are beyond one of them.
    ``not_run`` says why an attack was not made; ``notes`` what could not be read, and how it was taken; ``unread`` are
    the columns with labels that nobody explains.
    """

    persons: pl.DataFrame = field(repr=False)
    certain: pl.DataFrame = field(repr=False)
    summary: dict[str, Any]
    attacks: dict[str, dict[str, Any]] = field(repr=False)
    releases: list[dict[str, JSON]] = field(repr=False)
    known: str
    sentence: str
    column: str = ""
    everybody: pl.Series = field(default_factory=lambda: pl.Series([], dtype=pl.String), repr=False)
    limits: list[dict[str, Any]] = field(default_factory=list, repr=False)
    beyond: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False)
    not_run: dict[str, str] = field(default_factory=dict, repr=False)
    notes: list[str] = field(default_factory=list, repr=False)
    unread: list[str] = field(default_factory=list, repr=False)

    def __repr__(self) -> str:
        """Say the sentence: names and values stay out of logs."""
        return f"<Audit: {self.sentence}>"

    @property
    def held(self) -> bool:
        """Whether the series' own bound and the threshold are kept."""
        return bool(self.summary["held"])

    @cached_property
    def breaches(self) -> pl.DataFrame:
        """The persons above the bound; without one, those who are more likely than not to be known."""
        bound = self.summary["bound"]
        limit = (LIMITS[0] if bound is None else bound) + TOLERANCE
        return self.persons.filter(pl.col("proven") > limit)

    @property
    def ran(self) -> list[str]:
        """The attacks that were made."""
        return [name for name in self.attacks if name not in self.not_run]

    def to_json(self, *, everybody: bool = False) -> dict[str, Any]:
        """Return what is written as JSON: the persons beyond what is promised, or everybody, found out about or not."""
        shown = self.breaches
        if self.beyond.height:
            more = self.beyond.filter(~pl.col("person").is_in(shown["person"].implode()))
            shown = pl.concat([shown, more], how="diagonal")
        if everybody:
            rest = self.everybody.filter(~self.everybody.is_in(self.persons["person"].implode())).alias("person")
            nothing = {"releases": pl.lit([], dtype=pl.List(pl.Int64)), "exact": pl.lit(False)}
            shown = pl.concat([self.persons, rest.to_frame().with_columns(**nothing)], how="diagonal")
        return {
            "format": FORMAT,
            "releases": self.releases,
            "known": self.known,
            "attacks": self.attacks,
            "persons": shown.drop("proven").to_dicts(),
            "certain": self.certain.to_dicts(),
            "summary": self.summary,
            "sentence": self.sentence,
            "limits": self.limits,
            "ran": self.ran,
            "not_run": self.not_run,
            "notes": self.notes,
            "unread": self.unread,
        }


@dataclass(frozen=True)
class _Best:
    """The best finding of each of some persons, with what is needed to compare it with others."""

    person: CodeArray
    belief: FloatArray
    proven: FloatArray
    value: CodeArray
    exact: BoolArray
    mask: IntArray
    at: CodeArray
    attack: CodeArray
    ever: BoolArray

    def at_places(self, places: IntArray) -> _Best:
        """Keep some of the findings."""
        return _Best(*(getattr(self, name)[places] for name in self.__dataclass_fields__))


Made = dict[str, tuple[Attack, Findings]]  # attacks and what they found


def made(evidence: Evidence, attacks: Mapping[str, Attack], seed: int, *, stage: Callable[[str], None]) -> Made:
    """Make the attacks. Each has its own dice: what it draws must not depend on which others are made."""
    found: Made = {}
    for name, attack in attacks.items():
        stage(name)
        found[name] = (attack, attack.run(evidence, np.random.default_rng([seed, *name.encode()])))
    return found


def judge(evidence: Evidence, findings: Made, last: Made, threshold: float | None, *, named: bool) -> Audit:
    """Bring the findings of all attacks together; ``last`` are those on the last release alone.

    An attack that says something else than the guarantee bounds (a value was theirs at some time, or lies in a range)
    is reported and not judged; unless it was ``named`` by the caller and no promise of the series is in the way.
    """
    bounded = {name for name, (attack, _) in findings.items() if _bounded(attack, evidence.limits)}
    promise = evidence.bound if bounded else None
    bound = min((limit for limit in (promise, threshold) if limit is not None), default=None)
    judged = {name for name in findings if name in bounded or (named and promise is None)}
    not_run = {
        name: finding.summary["why"] for name, (_, finding) in findings.items() if not finding.summary.get("ran", True)
    }
    told, best, certain_ = _brought_together(evidence, findings, bounded, judged, bound)
    right = _right(evidence, best)
    breaks = bound is not None and bool((best.proven > bound + TOLERANCE).any())
    # A promise about sets of people is broken by a set.
    breaks |= any((finding.summary.get("cells") or {}).get("invalid", 0) > 0 for _, finding in findings.values())
    # What is promised of people who are told apart is judged by those who are.
    limits = kept(evidence, {name for name in findings if name not in not_run})
    breaks |= any(trial.many for trial in limits)
    # Without a promise that is about these attacks there is nothing to break.
    summary = {
        "persons": len(evidence.persons),
        **_counts(best, right, bound),
        "bound": bound,
        "held": not breaks,
        "baseline": _baseline(evidence, last, bounded, judged, bound),
    }
    persons = _frame(evidence, best, right, list(findings))
    persons = persons.sort("proven", "belief", "person", descending=[True, True, False])
    knows = known_to(evidence.known, 0 if evidence.others is None else evidence.others.many)
    said = sentence(evidence.column, knows, persons, summary, evidence.unread)
    certain = _facts(evidence, _dated(evidence, certain_), list(findings))
    return Audit(
        persons,
        certain,
        summary,
        told,
        _releases(evidence, best),
        evidence.known,
        said,
        evidence.column,
        evidence.persons,
        [trial.to_json() for trial in limits],
        _beyond(evidence, limits),
        not_run,
        list(evidence.notes),
        list(evidence.unread),
    )


def _brought_together(
    evidence: Evidence, findings: Made, bounded: set[str], judged: set[str], bound: float | None
) -> tuple[dict[str, dict[str, JSON]], _Best, _Best]:
    """Return what each attack found, the best finding about each person, and everything that is certain."""
    told: dict[str, dict[str, JSON]] = {}
    parts, facts = [], []
    for number, (name, (attack, raw)) in enumerate(findings.items()):
        found = raw.without(evidence.declared("harmless")) if name in bounded else raw  # no bound is about these
        whole = _whole(found, number, ever=attack.about == "ever")
        best = _dated(evidence, _first(whole, bound, len(evidence.persons)))
        counts = _counts(best, _right(evidence, best), bound)
        told[name] = {"about": attack.about, "judged": name in judged, **counts, **found.summary}
        if name in judged:
            parts.append(best)
        elif attack.about == "value":  # no part of the promise, but certainty contradicts it
            parts.append(best.at_places(np.flatnonzero(best.exact & (best.belief >= 1 - TOLERANCE))))
        if attack.about == "value":
            facts.append(whole.at_places(np.flatnonzero(found.exact & (found.belief >= 1 - TOLERANCE))))
    return told, _first(_concatenated(parts), bound, len(evidence.persons)), _concatenated(facts)


def _bounded(attack: Attack, limits: Sequence[Limit]) -> bool:
    """Return whether the promise of the series is about what an attack believes; without one, about any value."""
    named = [limit for limit in limits if limit.attack is not None]
    bounds = named or [limit for limit in limits if limit.at_most is not None and limit.about != "link"]
    if not bounds:
        return attack.about == "value"
    return any(limit.speaks_of(attack.name, attack.about) for limit in bounds)


def merged(results: Sequence[Audit]) -> Audit:
    """Put the audits of several sensitive columns together: per person the column with the highest belief."""
    first = results[0]
    if len(results) == 1:
        return first
    columns = [audit.column for audit in results]
    frames = [
        audit.persons.with_columns(pl.lit(column).alias("column"))
        for audit, column in zip(results, columns, strict=True)
    ]
    bound = first.summary["bound"]
    above = pl.lit(False) if bound is None else pl.col("proven") > bound + TOLERANCE
    everybody = pl.concat(frames).with_columns(above.alias("\0above"))
    order = everybody.sort("\0above", "belief", "exact", descending=True, maintain_order=True)
    persons = order.unique("person", keep="first", maintain_order=True).drop("\0above")
    held = all(audit.summary["held"] for audit in results)
    counts = _frame_counts(persons, bound)
    baseline = {column: audit.summary["baseline"] for column, audit in zip(columns, results, strict=True)}
    summary = {**first.summary, **counts, "held": held, "baseline": baseline}
    attacks = {
        name: {column: audit.attacks[name] for column, audit in zip(columns, results, strict=True)}
        for name in first.attacks
    }
    said = " ".join(audit.sentence for audit in results)
    beyond = pl.concat([audit.beyond for audit in results if audit.beyond.height] or [first.beyond])
    # An attack that was made on one of the columns was made.
    not_run = {name: why for name, why in first.not_run.items() if all(name in audit.not_run for audit in results)}
    certain = pl.concat(
        [audit.certain.with_columns(pl.lit(c).alias("column")) for audit, c in zip(results, columns, strict=True)]
    )
    return Audit(
        persons,
        certain,
        summary,
        attacks,
        first.releases,
        first.known,
        said,
        everybody=first.everybody,
        limits=_once([limit for audit in results for limit in audit.limits]),
        beyond=beyond.unique("person", keep="first", maintain_order=True) if beyond.height else beyond,
        not_run=not_run,
        notes=_once([note for audit in results for note in audit.notes]),
        unread=first.unread,
    )


def _once(said: list[object]) -> list[Any]:
    return [one for place, one in enumerate(said) if one not in said[:place]]


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


def _whole(found: Findings, number: int, *, ever: bool) -> _Best:
    """Return all findings of an attack in the form in which they are compared."""
    at = np.full(len(found.person), -1, np.int32) if found.at is None else found.at
    return _Best(
        found.person,
        found.belief,
        found.proven,
        found.value,
        found.exact,
        found.release_mask,
        at,
        np.full(len(found.person), number, np.int32),
        np.full(len(found.person), ever),
    )


def _first(whole: _Best, bound: float | None, persons: int) -> _Best:
    """Keep one finding of each person: a proven breach before all, then belief, then exactness, then few releases."""
    limit = np.inf if bound is None else bound + TOLERANCE
    breach = whole.proven > limit
    top, proven = np.zeros(persons), np.zeros(persons)
    np.maximum.at(top, whole.person, whole.belief)
    np.maximum.at(proven, whole.person, whole.proven)
    # Sorting is dear: only what can win is sorted.
    able = np.flatnonzero(breach | (whole.belief >= top[whole.person] - TOLERANCE))
    whole = whole.at_places(able)
    few = np.bitwise_count(whole.mask.astype(np.uint64))
    rounded = np.round(whole.belief, 9)
    keys = (whole.attack, few, ~whole.exact, -whole.proven, -rounded, ~breach[able], whole.person)
    order = np.lexsort(keys)
    first = order[np.flatnonzero(np.diff(whole.person[order], prepend=-1))]
    best = whole.at_places(first)
    # A weaker finding may be proven where the strongest is an estimate: both are told.
    return replace(best, proven=proven[best.person])


def _concatenated(parts: list[_Best]) -> _Best:
    nobody = _whole(Findings.nothing(), 0, ever=False)
    names = _Best.__dataclass_fields__
    return _Best(*(np.concatenate([getattr(part, name) for part in (nobody, *parts)]) for name in names))


def _dated(evidence: Evidence, best: _Best) -> _Best:
    """Say of which release the value is: the first of those needed that has the person."""
    at = best.at.copy()
    for view in evidence.views:
        there = np.zeros(len(evidence.persons), np.bool_)
        there[view.present] = True
        needed = _has_bit(evidence, best.mask, view.number)
        at[(at < 0) & needed & there[best.person]] = view.number
    return replace(best, at=at)


def _has_bit(evidence: Evidence, mask: IntArray, number: int) -> BoolArray:
    bit = number - max(len(evidence.views) - BITS, 0)
    has: BoolArray = ((mask >> max(bit, 0)) & 1).astype(np.bool_) & (bit >= 0)
    return has


def _truth(view: View, persons: int) -> CodeArray:
    truth = np.full(persons, -1, np.int32)
    if view.truth is not None:
        truth[view.present] = view.truth
    return truth


def _right(evidence: Evidence, best: _Best) -> npt.NDArray[np.int8]:
    """Return whether each finding is right: 1 or 0, -1 where nobody knows."""
    right = np.full(len(best.person), -1, np.int8)
    for view in evidence.views:
        true_value = _truth(view, len(evidence.persons))[best.person]
        asked = (true_value >= 0) & (best.value >= 0) & ((best.at == view.number) | best.ever)
        right[asked] = np.maximum(right[asked], true_value[asked] == best.value[asked])
    return right


def _counts(best: _Best, right: npt.NDArray[np.int8], bound: float | None) -> dict[str, JSON]:
    certain = best.exact & (best.belief >= 1 - TOLERANCE)
    above = {str(limit): int((best.proven > limit + TOLERANCE).sum()) for limit in LIMITS}
    return {
        "certain": int(certain.sum()),
        "certain_and_right": int((certain & (right == 1)).sum()) if (right >= 0).any() else None,
        "above": {**above, "bound": None if bound is None else int((best.proven > bound + TOLERANCE).sum())},
        "highest": float(best.belief.max(initial=0.0)),
        "highest_proven": float(best.proven.max(initial=0.0)),
    }


def _frame_counts(persons: pl.DataFrame, bound: float | None) -> dict[str, object]:
    certain = persons.filter(pl.col("exact") & (pl.col("belief") >= 1 - TOLERANCE))
    limits = {**{str(limit): limit for limit in LIMITS}, "bound": bound}
    return {
        "certain": certain.height,
        "certain_and_right": int(certain["right"].sum()) if persons["right"].is_not_null().any() else None,
        "above": {
            key: None if limit is None else persons.filter(pl.col("proven") > limit + TOLERANCE).height
            for key, limit in limits.items()
        },
        "highest": persons["belief"].max() or 0.0,
        "highest_proven": persons["proven"].max() or 0.0,
    }


def _baseline(
    evidence: Evidence, last: Made, bounded: set[str], judged: set[str], bound: float | None
) -> dict[str, object]:
    """Return what could be believed without comparing releases: by the table alone, and by the last release alone."""
    view, alone = evidence.views[-1], evidence.last_alone
    table = np.bincount(view.codes, view.counts, max(len(evidence.values), 1)) / max(int(view.counts.sum()), 1)
    _, best, _ = _brought_together(alone, last, bounded, judged, bound)
    return {"table": float(table.max(initial=0.0)), "last_release": _counts(best, _right(alone, best), bound)}


def _releases(evidence: Evidence, best: _Best) -> list[dict[str, JSON]]:
    return [
        {
            "release": view.number + 1,
            "rows": int(view.sizes.sum()),
            "groups": view.n_groups,
            "guarantee": view.promise.kind,
            "persons": len(view.present),
            "needed_by": int((_has_bit(evidence, best.mask, view.number) & (best.proven > LIMITS[0])).sum()),
        }
        for view in evidence.views
    ]


def _frame(evidence: Evidence, best: _Best, right: npt.NDArray[np.int8], names: list[str]) -> pl.DataFrame:
    masks, place = np.unique(best.mask, return_inverse=True)
    listed = [
        [view.number + 1 for view in evidence.views if _has_bit(evidence, masks[i : i + 1], view.number)[0]]
        for i in range(len(masks))
    ]
    return pl.DataFrame(
        {
            "person": evidence.persons.gather(best.person),
            "belief": best.belief,
            "value": _named(evidence, best.value),
            "attack": pl.Series(names, dtype=pl.String).gather(best.attack),
            "releases": pl.Series(listed, dtype=pl.List(pl.Int64)).gather(place),
            "exact": best.exact,
            "right": pl.Series(right, dtype=pl.Int8).replace_strict(
                {1: True, 0: False, -1: None}, return_dtype=pl.Boolean
            ),
            "proven": best.proven,
        }
    )


def _named(evidence: Evidence, value: CodeArray) -> pl.Series:
    """Return values as texts; null where the belief is about whichever value it is."""
    if not len(evidence.values):
        return pl.Series([None] * len(value), dtype=pl.String)
    texts = evidence.values.gather(np.maximum(value, 0))
    return pl.select(pl.when(pl.Series(value >= 0)).then(texts)).to_series()


def _facts(evidence: Evidence, certain: _Best, names: list[str]) -> pl.DataFrame:
    """Return what can be read off: one line for each person and release, by the attack that needs fewest releases."""
    few = np.bitwise_count(certain.mask.astype(np.uint64))
    order = np.lexsort((certain.attack, few, certain.at, certain.person))
    key = certain.person[order].astype(np.int64) * (len(evidence.views) + 1) + certain.at[order]
    first = order[np.flatnonzero(np.diff(key, prepend=-2))]
    kept = certain.at_places(first)
    frame = _frame(evidence, kept, _right(evidence, kept), names)
    frame = frame.insert_column(1, pl.Series("release", kept.at + 1, dtype=pl.Int64))
    return frame.drop("proven", "belief", "exact")
