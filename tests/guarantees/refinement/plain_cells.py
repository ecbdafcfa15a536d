"""Cells of the common refinement, counted by hand from what was published and who is behind which row."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import reveil as rv


@dataclass
class Told:
    """Everything that a recipient who can follow records has: per release, the group and value of each person."""

    releases: list[dict[object, tuple[int, object]]] = field(default_factory=list)
    asked: list[set[object]] = field(default_factory=list)

    def add(self, release: rv.Release, placed: dict[object, tuple[int, int]], asked: list[object]) -> None:
        values = release.table["disease"].to_list()
        self.releases.append({person: (group, values[row]) for person, (row, group) in placed.items()})
        self.asked.append(set(asked))

    def cells(self) -> list[list[object]]:
        """Persons who were in the same groups, or absent, in all releases."""
        people = sorted({person for told in self.releases for person in told}, key=str)
        found: dict[tuple[object, ...], list[object]] = {}
        for person in people:
            found.setdefault(tuple(told.get(person, (None,))[0] for told in self.releases), []).append(person)
        return list(found.values())

    def histograms(self, people: list[object]) -> list[Counter]:
        """What these people show, release by release in which they were."""
        return [Counter(told[p][1] for p in people) for told in self.releases if people and people[0] in told]

    def invalid(self, guarantee: rv.Refinement) -> list[list[object]]:
        """Cells that break the model in any release."""
        return [cell for cell in self.cells() if not all(holds(guarantee, counts) for counts in self.histograms(cell))]

    def betrayed(self) -> list[object]:
        """People whose value changed beside somebody who was not asked for: the two are told apart."""
        found = []
        for number, told in enumerate(self.releases):
            for group in {group for group, _ in told.values()}:
                members = [p for p, (own, _) in told.items() if own == group]
                if all(p in self.asked[number] for p in members):
                    continue
                for person in members:
                    before = [t[person][1] for t in self.releases[:number] if person in t]
                    found += [person] if before and before[-1] != told[person][1] else []
        return found


def holds(guarantee: rv.Refinement, counts: Counter) -> bool:
    size = sum(counts.values())
    if guarantee.k is not None and size < guarantee.k:
        return False
    if guarantee.l is None:
        return True
    if guarantee.diversity == "distinct":
        return len(counts) >= guarantee.l
    if guarantee.diversity == "frequency":
        return max(counts.values()) * guarantee.l <= size
    entropy = -sum(n / size * math.log(n / size) for n in counts.values())
    return entropy >= math.log(guarantee.l) - 1e-9
