"""Small nasty series of another tool's files, and all their worlds, counted by code of this module alone.

People share quasi values, move, leave and come back with another value; boxes overlap, are wider than they need be, are
stars or sets; rows are left out, and sensitive values are null or suppressed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations_with_replacement, permutations, product

import polars as pl

import reveil as rv

NOBODYS = ("\0one", "\0two")  # two values that nobody told: whoever is in no row, or in a suppressed one, may have them
LARGEST = 40_000
SCHEMA = rv.Schema(person="pid", quasi=["x", "y"], sensitive="s", types={"s": "text", "x": "number", "y": "text"})


@dataclass(frozen=True)
class Month:
    """What everybody has (``values``, ``x``, ``y``), and the rows: cell of x, cell of y, value, and whose it is."""

    values: dict
    x: dict
    y: dict
    rows: list

    @property
    def truth(self):
        own = [(p, self.x[p], self.y[p], value) for p, value in self.values.items()]
        return pl.DataFrame(own, schema={"pid": str, "x": int, "y": str, "s": str}, orient="row")

    @property
    def release(self):
        return pl.DataFrame([row[:3] for row in self.rows], schema={"x": str, "y": str, "s": str}, orient="row")

    @property
    def is_whole(self):
        return len(self.rows) == len(self.values) and all(row[2] != "*" for row in self.rows)


def draw(dice, kind):
    """Draw a series; ``kind`` names what may happen in it: moving, drop, star."""
    persons = [f"p{n}" for n in range(dice.integers(2, 7))]
    span, values = int(dice.integers(1, 6)), [*"abcd"[: dice.integers(2, 5)]]
    values[0] = None if dice.random() < 0.3 else values[0]
    x = {p: int(dice.integers(0, span + 1)) for p in persons}
    y = {p: "uvw"[dice.integers(3)] for p in persons}
    stays, changes = dice.choice([0.4, 0.75, 0.95]), dice.choice([0, 0.2, 0.6])
    last, months = {}, []
    for _ in range(dice.integers(1, 4)):
        here = [p for p in persons if dice.random() < stays] or persons[:1]
        for p in here:
            if p not in last or dice.random() < changes:
                last[p] = values[dice.integers(len(values))]
            if "moving" in kind and dice.random() < 0.2:
                x[p] = int(dice.integers(0, span + 1))
        order = sorted(here, key=lambda p: (x[p], p)) if dice.random() < 0.5 else dice.permutation(here).tolist()
        rows, most = [], int(dice.integers(1, 4))
        while order:
            members = [order.pop(0) for _ in range(min(len(order), int(dice.integers(1, most + 2))))]
            cells = _cell_of_x({x[p] for p in members}, dice), _cell_of_y({y[p] for p in members}, dice)
            rows += [(*cells, "*" if "star" in kind and dice.random() < 0.12 else last[p], p) for p in members]
        if "drop" in kind:
            rows = [row for row in rows if dice.random() > 0.15] or rows
        rows = [rows[i] for i in dice.permutation(len(rows))]
        months.append(Month({p: last[p] for p in here}, dict(x), dict(y), rows))
    return months


def _cell_of_x(own, dice):
    lo, hi = min(own), max(own)
    if dice.random() < 0.2:
        lo, hi = lo - int(dice.integers(2)), hi + int(dice.integers(2))
    which = dice.random()
    if which < 0.12:
        return "*"
    if which < 0.3:
        return "{" + ", ".join(map(str, sorted(own))) + "}"
    return f"[{lo}, {hi}]" if lo < hi else str(lo)


def _cell_of_y(own, dice):
    return "*" if dice.random() < 0.4 else "{" + ", ".join(sorted(own)) + "}" if len(own) > 1 else min(own)


def _admits(cell, value):
    if cell == "*":
        return True
    parts = cell.strip("[{}]").split(", ")
    return int(parts[0]) <= value <= int(parts[1]) if cell[0] == "[" else str(value) in parts


def told(months):
    """Return ``[person][place]``: whether their value is another than when they were last there."""
    found, last = {}, {}
    for place, month in enumerate(months):
        for person, value in month.values.items():
            if person in last:
                found.setdefault(person, {})[place] = last[person] != value
            last[person] = value
    return found


class Worlds:
    """All worlds of some months: who is in which group with which value. ``share`` is None where they are too many."""

    def __init__(self, months, changes):
        domain = sorted({v for month in months for v in month.values.values()}, key=str)
        ways = [_ways_of_one(month, [*domain, *NOBODYS]) for month in months]
        people = [list(month.values) for month in months]

        def after(state, place):
            before = dict(state)
            for values, many in ways[place].items():
                own = dict(zip(people[place], values, strict=True))
                known = ((p, changes.get(p, {}).get(place)) for p in own)
                if all(change is None or (before[p] != own[p]) == change for p, change in known):
                    yield own, tuple(sorted({**before, **own}.items())), many

        states = [Counter({(): 1})]
        for place in range(len(months)):
            states.append(Counter())
            for state, many in states[-2].items():
                for _, then, more in after(state, place):
                    states[-1][then] += many * more
            if len(states[-1]) > LARGEST:
                self.share = None
                return
        self.total, behind, self.share = sum(states[-1].values()), dict.fromkeys(states[-1], 1), {}
        for place in reversed(range(len(months))):
            here, tally = {}, {person: Counter() for person in people[place]}
            for state, many in states[place].items():
                here[state] = 0
                for own, then, more in after(state, place):
                    worlds = more * behind.get(then, 0)
                    here[state] += worlds
                    for person, value in own.items() if worlds else ():
                        tally[person][value] += many * worlds
            behind = here
            self.share |= {(p, place): {v: n / self.total for v, n in own.items()} for p, own in tally.items()}


def _ways_of_one(month, anything):
    """Count the ways in which people can have values in one release: by their values, everybody's in order."""
    boxes = {}
    for cell_x, cell_y, value, _ in month.rows:
        boxes.setdefault((cell_x, cell_y), []).append(value)
    rows, people = list(boxes.values()), list(month.values)
    fits = [[g for g, (a, b) in enumerate(boxes) if _admits(a, month.x[p]) and _admits(b, month.y[p])] for p in people]
    outside = len(people) - len(month.rows)
    ways = Counter()
    for chosen in product(*([*own, None] if outside else own for own in fits)):
        counts = Counter(chosen)
        if counts[None] != outside or any(counts[g] != len(own) for g, own in enumerate(rows)):
            continue
        parts = [[i for i, g in enumerate(chosen) if g == number] for number in range(len(rows))]
        values = [
            {
                order
                for more in combinations_with_replacement(anything, own.count("*"))
                for order in permutations([*(v for v in own if v != "*"), *more])
            }
            for own in rows
        ]
        parts.append([i for i, g in enumerate(chosen) if g is None])
        values.append(set(product(anything, repeat=outside)))
        for each in product(*values):
            own = [None] * len(people)
            for members, taken in zip(parts, each, strict=True):
                for i, value in zip(members, taken, strict=True):
                    own[i] = value
            ways[tuple(own)] += 1
    return ways
