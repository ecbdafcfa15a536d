"""The worlds of small components: all of them, counted, or some of them, drawn.

A component has appearances, each a person in a release, in the order in which they are filled; an appearance has
options: a group, a value, and the rows of the group with that value. A world takes an option for every appearance, no
more rows than there are, no more of a group than it has room, and obeys what is known of each life and of the
signatures of a person.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reveil.core.kernels import kernel
from reveil.core.kernels.chains import go_together


class Options(NamedTuple):
    """The appearances of component c are ``appearances[components[c]:components[c + 1]]``, in the order of lives.

    Appearance s has the options ``first[s]:first[s + 1]``. ``rank`` numbers the different values of an appearance from
    0.
    """

    components: npt.NDArray[np.int64]  # (components + 1)
    appearances: npt.NDArray[np.int64]  # (appearances of the components)
    first: npt.NDArray[np.int64]  # (all appearances + 1)
    group: npt.NDArray[np.int64]  # (options)
    value: npt.NDArray[np.int32]  # (options)
    row: npt.NDArray[np.int64]  # (options): the rows of the group with the value
    rank: npt.NDArray[np.int64]  # (options)


class Lives(NamedTuple):
    """What is known of the appearances of one person, and of the sets of values of the groups.

    ``before`` and ``changed`` are as in :func:`reveil.core.kernels.chains.chain`. ``everywhere``: any two sets of a
    person are equal or share nothing; otherwise those of an appearance and the one before it are equal where ``kept``.
    """

    before: npt.NDArray[np.int64]  # (all appearances)
    changed: npt.NDArray[np.int8]  # (all appearances)
    everywhere: bool
    kept: npt.NDArray[np.bool_]  # (all appearances)
    sets: npt.NDArray[np.uint64]  # (groups, words): the values of each group as bits


class Free(NamedTuple):
    """What nobody has taken yet; used up and given back on the way, and in the end as it was."""

    rows: npt.NDArray[np.int64]  # (rows of groups and values): how many
    room: npt.NDArray[np.int64]  # (groups): how many records


@kernel
def _fits(i, o, options, lives, free, chosen):
    """Return whether appearance i may take option o after what was chosen before."""
    group, value, before = options.group, options.value, lives.before
    if free.rows[options.row[o]] == 0 or free.room[group[o]] == 0:
        return False
    j = before[i]
    if j >= 0 and chosen[j] >= 0:
        if lives.changed[i] == 0 and value[chosen[j]] != value[o]:
            return False
        if lives.changed[i] == 1 and value[chosen[j]] == value[o]:
            return False
    while j >= 0:
        bound = chosen[j] >= 0 and (lives.everywhere or (lives.kept[i] and j == before[i]))
        if bound and not go_together(lives.sets, group[o], group[chosen[j]], lives.everywhere):
            return False
        j = before[j]
    return True


@kernel
def count(given, lives, free, once, steps, tally):
    """Count the worlds of each component, and in ``tally`` those that take each option; -1 where it is given up.

    ``given`` are the options, and ``tally`` is (options). ``once``: worlds with the same values are one, however many
    memberships allow it, and ``tally`` has them at the first option with the value. More than ``steps`` steps, and a
    component is given up.
    """
    components, appearances, options, rank = given.components, given.appearances, given.first, given.rank
    group, row, left, room = given.group, given.row, free.rows, free.room
    chosen = np.full(options.shape[0] - 1, -1, np.int64)
    worlds = np.zeros(components.shape[0] - 1, np.int64)
    keys = np.empty(steps + 1 if once else 1, np.int64)
    for c in range(components.shape[0] - 1):
        first, many = components[c], components[c + 1] - components[c]
        room_for_keys = 1.0
        for d in range(many):
            top = 0
            for o in range(options[appearances[first + d]], options[appearances[first + d] + 1]):
                top = max(top, rank[o] + 1)
            room_for_keys *= max(top, 1)
        if once and room_for_keys > 2.0**62:
            worlds[c] = -1
            continue
        depth, done, found = 0, 0, 0
        pointer = np.empty(many + 1, np.int64)
        pointer[0] = options[appearances[first]] if many > 0 else 0
        while depth >= 0 and many > 0:
            done += 1
            if done > steps:
                break
            if depth == many:
                if once:
                    key = 0
                    for d in range(many):
                        s = appearances[first + d]
                        top = 0
                        for o in range(options[s], options[s + 1]):
                            top = max(top, rank[o] + 1)
                        key = key * top + rank[chosen[s]]
                    keys[found] = key
                else:
                    for d in range(many):
                        tally[chosen[appearances[first + d]]] += 1
                found += 1
                depth -= 1
                continue
            s = appearances[first + depth]
            if chosen[s] >= 0:
                left[row[chosen[s]]] += 1
                room[group[chosen[s]]] += 1
                chosen[s] = -1
            o = pointer[depth]
            while o < options[s + 1] and not _fits(s, o, given, lives, free, chosen):
                o += 1
            if o == options[s + 1]:
                depth -= 1
                continue
            chosen[s] = o
            left[row[o]] -= 1
            room[group[o]] -= 1
            pointer[depth] = o + 1
            depth += 1
            if depth < many:
                pointer[depth] = options[appearances[first + depth]]
        for d in range(many):
            s = appearances[first + d]
            if chosen[s] >= 0:
                left[row[chosen[s]]] += 1
                room[group[chosen[s]]] += 1
                chosen[s] = -1
        if done > steps:
            worlds[c] = -1
            for d in range(many):
                tally[options[appearances[first + d]] : options[appearances[first + d] + 1]] = 0
            continue
        if once:
            keys[:found].sort()
            different = 0
            for k in range(found):
                if k > 0 and keys[k] == keys[k - 1]:
                    continue
                different += 1
                key = keys[k]
                for back in range(many):
                    s = appearances[first + many - 1 - back]
                    top = 0
                    for o in range(options[s], options[s + 1]):
                        top = max(top, rank[o] + 1)
                    digit, key = key % top, key // top
                    for o in range(options[s], options[s + 1]):
                        if rank[o] == digit:
                            tally[o] += 1
                            break
            found = different
        worlds[c] = found
    return worlds


@kernel
def draw(given, lives, free, dice, tally):
    """Draw worlds of each component, one for each line of ``dice``: every appearance takes any option that fits.

    ``given`` are the options, ``tally`` is (options), and ``dice`` (lines, appearances of the largest component).

    A world that was likelier to be drawn weighs less: its weight is the product of how many options there were. In
    ``tally`` is the weight of the worlds that take each option. Returns the sums of the weights and of their squares,
    in units of the largest weight there can be. A line that runs into a dead end weighs nothing.
    """
    components, appearances, options = given.components, given.appearances, given.first
    group, row, before, left, room = given.group, given.row, lives.before, free.rows, free.room
    chosen = np.full(options.shape[0] - 1, -1, np.int64)
    total = np.zeros(components.shape[0] - 1)
    squares = np.zeros(components.shape[0] - 1)
    most = 1
    for s in range(options.shape[0] - 1):
        most = max(most, options[s + 1] - options[s])
    good = np.empty(most, np.int64)  # the options of an appearance that fit
    for c in range(components.shape[0] - 1):
        first, many = components[c], components[c + 1] - components[c]
        for line in range(dice.shape[0]):
            weight, reached = 1.0, 0
            for d in range(many):
                s = appearances[first + d]
                fitting = 0
                for o in range(options[s], options[s + 1]):
                    # Most options that do not fit have no row or no room left, and whoever is new has no life to obey.
                    if left[row[o]] == 0 or room[group[o]] == 0:
                        continue
                    if before[s] < 0 or _fits(s, o, given, lives, free, chosen):
                        good[fitting] = o
                        fitting += 1
                if fitting == 0:
                    weight = 0.0
                    break
                chosen[s] = good[int(dice[line, d] * fitting)]
                left[row[chosen[s]]] -= 1
                room[group[chosen[s]]] -= 1
                weight *= fitting / (options[s + 1] - options[s])
                reached += 1
            total[c] += weight
            squares[c] += weight * weight
            for d in range(reached):
                s = appearances[first + d]
                tally[chosen[s]] += weight
                left[row[chosen[s]]] += 1
                room[group[chosen[s]]] += 1
                chosen[s] = -1
    return total, squares
