"""Minimality: exact Bayes over the publisher's own code, on series small enough to try every table."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np

from reveil.adversary.attacks.base import Attack, Findings, mask_of
from reveil.releases.groups import groups_of
from reveil.releases.table import LEVEL

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping

    from reveil.adversary.evidence import Evidence
    from reveil.core.json_values import JSON
    from reveil.releases.release import Release

    History: TypeAlias = tuple[dict[str, str | None], ...]  # per release: the value of each person, by name
    Publisher: TypeAlias = Callable[[History], Mapping[Hashable, Fraction]]

PERSONS, VALUES, TABLES = 6, 4, 100_000


class Minimality(Attack):
    """What does the output tell somebody who knows the publisher's program and everything but the dice?

    Whatever a publisher does because of a value tells that value: a group that would have been finer, a counterfeit
    that would not be there, had the values been otherwise. Beforehand every history of values is equally likely that
    agrees with who is there when and with the changes that are known; afterwards it is as likely as the publisher is
    to make this output of it. The posterior is exact.

    ``publisher(history)`` returns every output that the program may have for a history, with its probability; a
    history has for each release the value of each person by name. ``output`` is what was really published, in the
    form the publisher gives; by default :func:`seen` of the releases, which forgets the order of rows and the numbers
    of groups, as dice decide them. ``values`` are those that anybody may have, by default those of the evidence.

    Without a publisher, or with more than a few persons and values, it does not run, and says so in its summary:
    nothing found is promised by the blind grade of a guarantee alone.
    Source: 003, section 4; 000.
    """

    name: ClassVar[str] = "minimality"

    def __init__(
        self,
        publisher: Publisher | None = None,
        output: Hashable | None = None,
        values: tuple[str | None, ...] | None = None,
    ) -> None:
        self.publisher, self.output, self.values = publisher, output, values

    def run(self, evidence: Evidence, rng: np.random.Generator) -> Findings:
        """Try every history."""
        if self.publisher is None:
            return Findings.not_made("no publisher was handed over: Minimality(publisher=...)")
        domain = evidence.values.to_list() if self.values is None else list(self.values)
        why = _too_large(evidence, domain)
        if why is not None:
            return Findings.not_made(why)
        output = seen(*(view.release for view in evidence.views)) if self.output is None else self.output
        joint: dict[tuple[int, int, str | None], Fraction] = {}
        total, tables = Fraction(0), 0
        for history, places in _histories(evidence, domain):
            tables += 1
            chance = Fraction(self.publisher(history).get(output, 0))
            total += chance
            if chance:
                for place in places:
                    joint[place] = joint.get(place, Fraction(0)) + chance
        summary: dict[str, JSON] = {"ran": True, "tables": tables, "possible": total > 0}
        codes = {value: code for code, value in enumerate(evidence.values.to_list())}
        best: dict[tuple[int, int], tuple[Fraction, int]] = {}
        for (person, t, value), chance in joint.items():
            belief = chance / total
            # A value that no release has cannot be named; it is still believed, by somebody else's attack.
            if value in codes and belief > best.get((person, t), (Fraction(0), 0))[0]:
                best[person, t] = belief, codes[value]
        return Findings(
            np.array([person for person, _ in best], np.int32),
            np.array([float(belief) for belief, _ in best.values()]),
            np.array([code for _, code in best.values()], np.int32),
            np.ones(len(best), np.bool_),
            np.full(len(best), mask_of(evidence, *range(len(evidence.views))), np.int64),
            summary,
            None,
            np.array([t for _, t in best], np.int32),
        )


def seen(*releases: Release) -> tuple[frozenset[tuple[object, ...]], ...]:
    """Return what releases say, whatever the order of the rows and the numbers of the groups.

    For each release the groups that there are, with how often: the cells of their rows and their values, both in
    order, and how many of them are counterfeit.
    """
    return tuple(_seen(release) for release in releases)


def _seen(release: Release) -> frozenset[tuple[object, ...]]:
    groups = groups_of(release)
    cells: dict[int, list[tuple[str, ...]]] = {}
    nested = () if release.levels is None else (LEVEL,)
    names = [name for name in release.text.columns if name in release.cells or name in nested]
    rows = release.text.select(names).fill_null("").rows() if names else [()] * len(groups.index)
    for group, row in zip(groups.index.tolist(), rows, strict=True):
        cells.setdefault(group, []).append(row)
    numbers, values = release.group_values()
    at = np.searchsorted(groups.numbers, numbers)
    told: dict[int, list[tuple[str, ...]]] = {}
    for group, row in zip(at.tolist(), values.rows(), strict=True):
        told.setdefault(group, []).append(tuple(map(repr, row)))
    counts: dict[tuple[object, ...], int] = {}
    for group, fakes in enumerate(groups.fakes.tolist()):
        key = (tuple(sorted(cells.get(group, []))), tuple(sorted(told.get(group, []))), fakes)
        counts[key] = counts.get(key, 0) + 1
    return frozenset((*key, many) for key, many in counts.items())


def _too_large(evidence: Evidence, domain: list[str | None]) -> str | None:
    if len(evidence.persons) > PERSONS or len(domain) > VALUES:
        return f"it tries every table, of at most {PERSONS} persons and {VALUES} values"
    if evidence.known == "nothing":
        return "who is in the table is not known"
    if prod(len(domain) for view in evidence.views for _ in view.present) > TABLES:
        return f"there are more than {TABLES:,} histories of values"
    return None


def _histories(
    evidence: Evidence, domain: list[str | None]
) -> Iterator[tuple[History, list[tuple[int, int, str | None]]]]:
    """Yield every history that agrees with what is known, and its values by place of the person and release."""
    names = evidence.persons.to_list()
    attendance = [(t, int(p)) for t, view in enumerate(evidence.views) for p in view.present]
    told = [int(changed) for of_release in evidence.changed for changed in of_release]
    before: list[int | None] = []
    last: dict[int, int] = {}
    for i, (_, person) in enumerate(attendance):
        before.append(last.get(person))
        last[person] = i
    for drawn in product(domain, repeat=len(attendance)):
        good = all(
            change < 0 or j is None or (value != drawn[j]) == bool(change)
            for value, change, j in zip(drawn, told, before, strict=True)
        )
        if good:
            history: History = tuple({} for _ in evidence.views)
            for (t, person), value in zip(attendance, drawn, strict=True):
                history[t][names[person]] = value
            yield history, [(person, t, value) for (t, person), value in zip(attendance, drawn, strict=True)]
