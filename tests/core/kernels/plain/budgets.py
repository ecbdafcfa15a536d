"""Plain twins of :mod:`reveil.core.kernels.budgets`: lists and dictionaries, item by item."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from reveil.core.kernels.budget_mending import CUTS, MERGED, TRIES
from reveil.core.kernels.budgets import VALUES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass
class Items:
    """Items along a curve: the value of each (-1: none), what each needs for which value, and where it lies."""

    values: Sequence[int]
    needs: Sequence[dict[int, float]]
    points: Sequence[Sequence[float]]
    most: Sequence[int]

    def allowed(self, members: Sequence[int], size: int | None = None) -> bool:
        """Return whether some items may be in a group of so many, by default alone."""
        size = len(members) if size is None else size
        own = [self.values[i] for i in members]
        return all(
            own.count(v) <= self.most[size] and all(own.count(v) * self.needs[i].get(v, 0.0) <= size for i in members)
            for v in set(own)
            if v >= 0
        )

    def stretch(self, members: Iterable[int], item: int) -> float:
        """Return by how much an item stretches the box of some others, side by side."""
        total = 0.0
        for a, x in enumerate(self.points[item]):
            low, high = min(self.points[i][a] for i in members), max(self.points[i][a] for i in members)
            total += max(high, x) - min(low, x) - (high - low)
        return total


def grow(
    items: Items, seeds: Iterable[int], hold: Sequence[int], least: int, limit: int, domain: int, neighbours: int
) -> list[int]:
    """Form groups from the seeds on; return the label of each item, -1 for those left over."""
    total = len(items.values)
    labels = [-1] * total
    free = set(range(total))
    counts = [sum(v == key - 1 for v in items.values) for key in range(domain + 1)]
    by_count = sorted(range(domain + 1), key=lambda key: -counts[key])
    groups, heavy, fresh = 0, list[int](), -1

    def beside(value: int, seed: int) -> list[int]:
        own = sorted(i for i in free if items.values[i] == value)
        return [i for i in own if i >= seed][:1] + [i for i in own if i < seed][-1:]

    def best_of(candidates: Iterable[int]) -> int | None:
        found, cost = None, inf
        for i in candidates:
            if items.stretch(members, i) < cost and items.allowed([*members, i], target):
                found, cost = i, items.stretch(members, i)
        return found

    for seed in seeds:
        if seed not in free:
            continue
        target = next((size for size in range(least, limit + 1) if items.allowed([seed], size)), None)
        if target is None:
            continue
        left = len(free)
        rest = [sum(items.values[i] == value for i in free) for value in range(domain)]
        if fresh < 0 or 16 * left <= 15 * fresh:
            fresh, heavy = left, [v for v in range(domain) if rest[v] * 2 * least >= left * hold[v]]
        members, asked = [seed], 0
        free.discard(seed)
        by_place = sorted(free)
        right, behind = [i for i in by_place if i > seed], [i for i in by_place if i < seed][::-1]
        around: list[int] | None = None
        while len(members) < target:
            best = None
            while asked < len(heavy) and best is None:
                value = heavy[asked]
                own = sum(items.values[i] == value for i in members)
                if rest[value] - own > (left - target) // least * hold[value]:
                    best = best_of(beside(value, seed))
                asked += best is None
            if best is None:
                if around is None:
                    right, behind = [i for i in right if i in free], [i for i in behind if i in free]
                    around = []
                    while len(around) < neighbours and (right or behind):
                        if right:
                            around.append(right.pop(0))
                        if behind and len(around) < neighbours:
                            around.append(behind.pop(0))
                best = best_of(i for i in around if i in free)
            if best is None and (right or behind):
                open_ones = [
                    key - 1
                    for key in by_count
                    if (rest[key - 1] if key else sum(items.values[i] < 0 for i in free))
                    and (key == 0 or sum(items.values[i] == key - 1 for i in members) < items.most[target])
                ]
                best = best_of(i for value in open_ones[:VALUES] for i in beside(value, seed))
            if best is not None:
                members.append(best)
                free.discard(best)
            elif target < limit:
                target += 1
            else:
                break
        if len(members) == target:
            for i in members:
                labels[i] = groups
            groups += 1
    return labels


def place(items: Items, labels: list[int], todo: Iterable[int], reach: int) -> list[int]:
    """Put items into groups nearby that stay allowed, or merge some of these."""
    labels = list(labels)
    total = len(labels)
    for item in todo:
        order = [item + s // 2 if s % 2 == 0 else item - s // 2 for s in range(2, 2 * reach + 2)]
        neighbours = list(dict.fromkeys(labels[j] for j in order if 0 <= j < total and labels[j] >= 0))
        members = {g: [i for i in range(total) if labels[i] == g] for g in neighbours}
        able = [g for g in neighbours if len(members[g]) + 1 < len(items.most) and items.allowed([*members[g], item])]
        if able:
            labels[item] = min(able[:TRIES], key=lambda g: items.stretch(members[g], item))
            continue
        union = [item]
        for many, g in enumerate(neighbours):
            if many == MERGED or len(union) + len(members[g]) >= len(items.most):
                break
            union += members[g]
            if items.allowed(union):
                for i in union:
                    labels[i] = neighbours[0]
                break
    return labels


def split(items: Items, labels: Sequence[int], least: int) -> list[list[int]]:
    """Split large groups across their widest side while both parts are allowed; return the groups."""
    done = []
    stack = [[i for i, own in enumerate(labels) if own == g] for g in sorted(set(labels) - {-1})]
    while stack:
        own = stack.pop()
        done.append(own)
        size = len(own)
        if size < 2 * least or size >= len(items.most):
            continue
        sides = list(zip(*(items.points[i] for i in own), strict=True))
        side = max(range(len(sides)), key=lambda a: max(sides[a]) - min(sides[a]))
        own.sort(key=lambda i: items.points[i][side])
        for step in range(CUTS):
            cut = size // 2 + ((step + 1) // 2 if step % 2 else -(step // 2))
            if cut < least or size - cut < least:
                break
            if items.allowed(own[:cut]) and items.allowed(own[cut:]):
                stack += [own[:cut], own[cut:]]
                done.pop()
                break
    return done
