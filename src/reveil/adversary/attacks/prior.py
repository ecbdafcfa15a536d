"""Prior: somebody who knows what people like their target usually have reads the releases with that in mind."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.adversary.attacks.base import Attack, Findings, mask_of
from reveil.adversary.naive_bayes import NaiveBayes
from reveil.adversary.rates import CONFIDENCE, Rate, advantage
from reveil.adversary.sentences import known_to
from reveil.adversary.shared_rows import SharedRows, normalised
from reveil.core.arrays import BoolArray, CodeArray, IntArray, Ragged

if TYPE_CHECKING:
    from reveil.adversary.evidence import Evidence
    from reveil.adversary.priors import Beforehand
    from reveil.adversary.view import View
    from reveil.core.json_values import JSON

FloatArray = npt.NDArray[np.float64]

LEARNING = 3  # rounds in which guesses teach the prior, and the prior makes better guesses
TEACHERS = 3  # releases that teach: the first, the last and some between
NUMBERS = 300_000_000  # persons of all releases times values, beyond which the attack is not made


class Prior(Attack):
    """Guesses by chances of values given quasi values, and by who shares a group with whom.

    The adversary has a prior p(value | quasi values): uniform, from a file, or learnt by naive Bayes from the releases
    (each row's values are spread over whoever may have it; guesses then teach the prior, three times over). In each
    release a person's belief in a value is its chance times what their groups have left of it after all others took
    theirs (Sinkhorn's scaling); along a life in which the value is known to have stayed, the beliefs of the releases
    are averaged (multiplied, they would count the same prior several times over, and more guesses go wrong). Groups are
    those that admit the person; where placements name the persons of the rows, the groups are known, as the proofs of
    the counted grade take them to be, and which row is whose is not used.

    These are guesses and no shares of worlds: none is exact, no promise is about them, and a verdict never rests on
    them. What they are worth is measured, where the snapshots are given: how many are right, beside the prior alone and
    beside the same guesses about people who are not in the release, each with its 95 % interval (Wilson). Complexity:
    persons x candidate groups x values for each of at most 30 rounds. Source: Wong, Fu, Wang, Yu, Pei 2011 (what
    anonymised tables teach); Giomi, Boenisch, Wehmeyer, Tasnádi 2023 (attack, baseline, control).
    """

    name: ClassVar[str] = "prior"
    about: ClassVar[Literal["value", "ever", "range", "guess", "given"]] = "guess"
    knows: ClassVar[str] = "what people like these usually have"

    def run(self, evidence: Evidence, rng: np.random.Generator) -> Findings:
        """Return for each person the guess at their last attendance."""
        prior = evidence.prior
        if prior is None:
            return Findings.not_made("no prior was given: --prior uniform, releases or a file")
        if prior.why_not is not None:
            return Findings.not_made(prior.why_not)
        size = sum(len(view.present) for view in evidence.views) * max(len(evidence.values), 1)
        if size > NUMBERS:
            return Findings.not_made(
                f"{size:,} chances of persons and values are more than fit in memory: audit fewer releases at once"
            )
        seats = [_seats(evidence, view) for view in evidence.views]
        rows = [
            SharedRows.of(view, seated, len(evidence.values))
            for view, (seated, _) in zip(evidence.views, seats, strict=True)
        ]
        chances, control = _chances(prior, rows)
        guessed = [
            _guess(view, shared, seated, beside, group)
            for view, shared, seated, beside, group in zip(
                evidence.views, rows, chances, control, prior.control, strict=True
            )
        ]
        lives = _Lives(evidence, guessed)
        knows = known_to(evidence.known)
        in_groups = sum(many for _, many in seats)
        summary: dict[str, JSON] = {
            "prior": prior.kind,
            "from": prior.name,
            "attacker": f"somebody who knows {knows}, everybody's quasi values"
            + (", who is in which group" if in_groups else "")
            + f", and what people like these have ({_WHERE[prior.kind]})",
            "groups_known": in_groups,
            "confidence": CONFIDENCE,
            "releases": [
                {"release": view.number + 1, **guess.rates} for view, guess in zip(evidence.views, guessed, strict=True)
            ],
            "series": lives.summary(evidence.bound, guessed),
        }
        return lives.findings(summary)


_WHERE = {
    "uniform": "anything, all values being equally likely",
    "releases": "learnt from the releases themselves",
    "table": "learnt from a table about other people",
    "probabilities": "from a file of probabilities",
}


def _seats(evidence: Evidence, view: View) -> tuple[Ragged[np.int32], int]:
    """Return the groups that may hold each person, one where placements name it, and how many have one so."""
    if view.row_ids is None:
        return view.candidates, 0
    rows = pl.DataFrame({"id": view.row_ids, "group": view.row_groups}).drop_nulls("id")
    here = pl.DataFrame({"id": evidence.persons.gather(view.present)})
    group = here.join(rows, on="id", how="left", maintain_order="left")["group"]
    named = group.is_not_null().to_numpy()
    if not named.any():
        return view.candidates, 0
    rest = view.candidates.select(np.repeat(~named, view.candidates.lengths))
    lengths = np.where(named, 1, view.candidates.lengths)
    items = np.zeros(int(lengths.sum()), np.int32)
    owner = np.repeat(named, lengths)
    items[owner], items[~owner] = group.drop_nulls().to_numpy(), rest.items
    return Ragged.of_lengths(lengths, items), int(named.sum())


def _chances(prior: Beforehand, rows: list[SharedRows]) -> tuple[list[FloatArray], list[FloatArray | None]]:
    """Return what is believed beforehand of the people of each release and of each control group."""
    if prior.chances is not None and prior.control_chances is not None:
        return list(prior.chances), list(prior.control_chances)
    picked = sorted({int(n) for n in np.linspace(0, len(rows) - 1, min(TEACHERS, len(rows))).round()})
    beliefs = [_spread(rows[n]) for n in picked]
    for taught in range(LEARNING + 1):
        model = NaiveBayes.learn([(prior.features[n], belief) for n, belief in zip(picked, beliefs, strict=True)])
        if taught < LEARNING:
            beliefs = [rows[n].together(model.chances(prior.features[n]), rounds=10)[0] for n in picked]
    return [model.chances(features) for features in prior.features], [
        model.chances(features) for features in prior.control_features
    ]


def _spread(shared: SharedRows) -> FloatArray:
    """Return how strongly the groups alone make each value believed; nothing of whoever is in none."""
    sums = shared.members @ shared.rows
    return normalised(sums, np.zeros_like(sums))


@dataclass(frozen=True)
class _Guessed:
    """The guesses about the people of one release: beliefs and chances of everybody, and how many are right."""

    beliefs: FloatArray = field(repr=False)
    chances: FloatArray = field(repr=False)
    rates: dict[str, JSON]
    control: Rate | None


def _guess(view: View, shared: SharedRows, chances: FloatArray, control: FloatArray | None, group: Any) -> _Guessed:
    """Guess everybody's value by one release."""
    beliefs, left = shared.together(chances)
    there = None
    if group is not None and control is not None:
        shape = (len(group.groups), view.n_groups)
        beside = replace(shared, members=type(shared.members)(
            (np.ones(len(group.groups.items)), group.groups.items, group.groups.offsets), shape=shape
        ))  # fmt: skip
        guesses = normalised(control * (beside.members @ left), control).argmax(axis=1)
        there = Rate(int((guesses == group.truth).sum()), len(guesses))
    rates: dict[str, JSON] = {
        **_rates(view.truth, beliefs=beliefs, singly=shared.singly(chances), chances=chances),
        "control": None if there is None else there.to_json(),
        "belief": {"mean": _mean(beliefs), "prior_mean": _mean(chances)},
    }
    attack = _rate(view.truth, beliefs)
    rates["advantage"] = None if attack is None or there is None else advantage(attack, there)
    return _Guessed(beliefs, chances, rates, there)


def _rate(truth: CodeArray | None, beliefs: FloatArray) -> Rate | None:
    if truth is None or not len(truth):
        return None
    asked = truth >= 0
    return Rate(int((beliefs[asked].argmax(axis=1) == truth[asked]).sum()), int(asked.sum()))


def _rates(
    truth: CodeArray | None, *, beliefs: FloatArray, singly: FloatArray | None, chances: FloatArray
) -> dict[str, JSON]:
    """Return how often the attack, its simple form and the prior alone are right; None without the truth."""
    named = {"attack": beliefs, "attack_one_by_one": singly, "baseline": chances}
    found = {key: None if numbers is None else _rate(truth, numbers) for key, numbers in named.items()}
    return {key: None if rate is None else rate.to_json() for key, rate in found.items()}


def _mean(beliefs: FloatArray) -> float:
    return float(beliefs.max(axis=1).mean()) if beliefs.size else 0.0


class _Lives:
    """The guess about each person at their last attendance, by all the releases in which they had that value."""

    def __init__(self, evidence: Evidence, guessed: list[_Guessed]) -> None:
        self.evidence = evidence
        persons, domain = len(evidence.persons), max(len(evidence.values), 1)
        summed, many = np.zeros((persons, domain)), np.zeros(persons)
        self.belief, self.before = np.zeros(persons), np.zeros(persons)
        self.value, self.usual = np.full(persons, -1, np.int32), np.full(persons, -1, np.int32)
        self.at, self.mask = np.full(persons, -1, np.int32), np.zeros(persons, np.int64)
        self.truth = np.full(persons, -1, np.int32)
        for view, guess, changed in zip(evidence.views, guessed, evidence.changed, strict=True):
            here = view.present
            anew = changed != 0  # another value, or nobody knows
            summed[here[anew]], many[here[anew]] = 0.0, 0.0
            self.mask[here[anew]] = 0
            summed[here] += guess.beliefs
            many[here] += 1
            beliefs = summed[here] / many[here][:, None]
            self._take(view, beliefs, guess.chances)

    def _take(self, view: View, beliefs: FloatArray, chances: FloatArray) -> None:
        here = view.present
        if not len(here) or not beliefs.shape[1]:
            return
        self.value[here], self.belief[here] = beliefs.argmax(axis=1), beliefs.max(axis=1)
        self.usual[here], self.before[here] = chances.argmax(axis=1), chances.max(axis=1)
        self.at[here] = view.number
        self.mask[here] |= mask_of(self.evidence, view.number)
        self.truth[here] = -1 if view.truth is None else view.truth

    @property
    def _asked(self) -> IntArray:
        return np.flatnonzero(self.value >= 0)

    @property
    def _right(self) -> BoolArray:
        right: BoolArray = (self.value == self.truth) & (self.truth >= 0)
        return right

    def summary(self, bound: float | None, guessed: list[_Guessed]) -> dict[str, JSON]:
        """Return how often the guesses over all releases are right, and how many are beyond what is promised."""
        there = self._asked
        tried = there[self.truth[there] >= 0]
        attack = Rate(int(self._right[tried].sum()), len(tried)) if len(tried) else None
        baseline = Rate(int((self.usual[tried] == self.truth[tried]).sum()), len(tried)) if len(tried) else None
        control = next((guess.control for guess in reversed(guessed) if guess.control is not None), None)
        beyond = there[self.belief[there] > (0.5 if bound is None else bound) + 1e-9]
        return {
            "attack": None if attack is None else attack.to_json(),
            "baseline": None if baseline is None else baseline.to_json(),
            "control": None if control is None else control.to_json(),
            "advantage": None if attack is None or control is None else advantage(attack, control),
            "belief": {
                "mean": float(self.belief[there].mean()) if len(there) else 0.0,
                "prior_mean": float(self.before[there].mean()) if len(there) else 0.0,
            },
            "beyond": {
                "belief": 0.5 if bound is None else bound,
                "persons": len(beyond),
                "right": int(self._right[beyond].sum()) if len(tried) else None,
            },
        }

    def findings(self, summary: dict[str, JSON]) -> Findings:
        """Return the guesses: estimates without a limit, which prove nothing."""
        there = self._asked
        names = pl.concat([self.evidence.values.cast(pl.String), pl.Series([None], dtype=pl.String)])
        known = self.truth[there] >= 0
        table = pl.DataFrame(
            {
                "person": self.evidence.persons.gather(there),
                "release": self.at[there] + 1,
                "value": names.gather(self.value[there]),
                "belief": self.belief[there],
                "right": pl.Series(self._right[there]).set(pl.Series(~known), None),
                "prior_value": names.gather(self.usual[there]),
                "prior_belief": self.before[there],
                "prior_right": pl.Series(self.usual[there] == self.truth[there]).set(pl.Series(~known), None),
            }
        )
        return Findings(
            there.astype(np.int32), self.belief[there], self.value[there], np.zeros(len(there), np.bool_),
            self.mask[there], summary, None, self.at[there], table,
        )  # fmt: skip
