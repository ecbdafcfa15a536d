"""Plain twin of :mod:`reveil.core.kernels.chains`, over sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reveil.core.kernels.chains import FEW

if TYPE_CHECKING:
    from collections.abc import Sequence

Sets = list[set[int]]


def admit(candidates: Sets, groups: Sequence[set[int]], loose: Sequence[bool], masks: Sets) -> tuple[Sets, Sets]:
    """Return each appearance's groups that share a value with its mask, and the mask without what none of them has."""
    left, narrowed = [], []
    for own, free, mask in zip(candidates, loose, masks, strict=True):
        good = {g for g in own if groups[g] & mask}
        if not own or (not good and not free):
            left.append(own)
            narrowed.append(mask)
            continue
        left.append(good)
        narrowed.append(mask if free else mask & set().union(*(groups[g] for g in good)))
    return left, narrowed


def chain(before: Sequence[int], changed: Sequence[int], masks: Sets) -> Sets:
    """Return the masks narrowed along each life, forwards and then backwards."""
    masks = [set(mask) for mask in masks]
    for order in (range(len(masks)), range(len(masks) - 1, -1, -1)):
        for i in order:
            j = before[i]
            if j < 0 or changed[i] < 0:
                continue
            if changed[i] == 0:
                if masks[i] & masks[j]:
                    masks[i] = masks[j] = masks[i] & masks[j]
                    masks[j] = set(masks[j])
                continue
            for one, other in ((i, j), (j, i)):
                if len(masks[one]) == 1 and masks[other] != masks[one]:
                    masks[other] = masks[other] - masks[one]
    return masks


def agree(
    persons: Sequence[Sequence[int]],
    candidates: Sets,
    groups: Sequence[set[int]],
    before: Sequence[int],
    kept: Sequence[bool],
    loose: Sequence[bool],
    *,
    everywhere: bool,
) -> Sets:
    """Return each appearance's groups whose values go with a group that the person may have at any other time."""
    left = [set(own) for own in candidates]
    for own in persons:
        for j in own:
            if loose[j] or not 0 < len(left[j]) <= FEW:
                continue
            for i in own:
                linked = (before[i] == j and kept[i]) or (before[j] == i and kept[j])
                if i == j or not (everywhere or linked):
                    continue
                good = {
                    g
                    for g in left[i]
                    if any(groups[g] == groups[h] or (everywhere and not groups[g] & groups[h]) for h in left[j])
                }
                if good or loose[i]:
                    left[i] = good
    return left


def settle(
    candidates: Sequence[Sequence[int]], told: Sequence[Sequence[int]], groups: Sequence[set[int]]
) -> list[tuple[int, int, int, bool]]:
    """Return for each appearance how many groups go with what is told, the least values, the first, if all agree."""
    found = []
    for own, known in zip(candidates, told, strict=True):
        left = [g for g in own if all(groups[g] == groups[h] or not groups[g] & groups[h] for h in known)]
        if not left:
            found.append((0, 0, -1, False))
            continue
        least = min(len(groups[g]) for g in left)
        found.append((len(left), least, left[0], all(groups[g] == groups[left[0]] for g in left)))
    return found
