"""Random series that begin with a release from elsewhere, and all that may be believed after them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from fractions import Fraction

import polars as pl

import reveil as rv
from reveil.testing import Group, enumerate_members, enumerate_worlds
from tests.guarantees.plain_book import PlainSeries

SCHEMA = rv.Schema(person="pid", quasi=("x",), sensitive="s")
TYPES = {"pid": pl.String, "x": pl.Int64, "s": pl.String}


def table(*rows: tuple[str, int, str]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=TYPES, orient="row")


def published(*groups: tuple[int, int, str]) -> pl.DataFrame:
    """Return a table of intervals: from, to, and the values."""
    rows = [(f"[{low}, {high}]", value) for low, high, values in groups for value in values]
    return pl.DataFrame(rows, schema={"x": pl.String, "s": pl.String}, orient="row")


@dataclass(frozen=True)
class Case:
    """A table, a release of some of it that any tool made, and the tables that follow."""

    frames: list[pl.DataFrame]
    groups: list[tuple[int, int, str]]  # boxes and values; two that look alike are one
    part: int | None  # the release is of the records below

    @property
    def first(self) -> pl.DataFrame:
        """The part of the table that the release was made of."""
        return self.frames[0] if self.part is None else self.frames[0].filter(pl.col("x") < self.part)

    def release(self) -> pl.DataFrame:
        return published(*self.groups)


def random_case(seed: int, values: str, *, changes: bool, returns: bool, people: int = 6, later: int = 3) -> Case:
    """Make a case: groups of neighbours or of anybody, some records left out, then people who come, go and change."""
    rng = random.Random(seed)  # noqa: S311 -- for tests
    names = [f"p{n}" for n in range(rng.randint(3, people))]
    width = rng.choice([1, 3, 6])
    life = {name: [rng.randint(1, width), rng.choice(values)] for name in names}
    frames = [table(*((name, *own) for name, own in life.items()))]
    part = rng.randint(2, width + 1) if rng.random() < 0.4 else None
    inside = [name for name in names if part is None or life[name][0] < part] or names
    part = None if len(inside) == len(names) else part
    boxes = random_groups({name: (life[name][0], life[name][1]) for name in inside}, rng)
    here, gone = set(names), set()
    for _ in range(later):
        for name in sorted(here):
            if rng.random() < 0.2:
                here.discard(name)
                gone.add(name)
        for name in sorted(gone):
            if returns and rng.random() < 0.4:
                here.add(name)
                gone.discard(name)
        for _ in range(rng.randint(0, 2)):
            name = f"p{len(life)}"
            life[name] = [rng.randint(1, width), rng.choice(values)]
            here.add(name)
        for name in sorted(here):
            if changes and rng.random() < 0.15:
                life[name][1] = rng.choice(values)
        if here:
            frames.append(table(*((name, *life[name]) for name in sorted(here))))
    return Case(frames, boxes, part)


def random_groups(people: dict[str, tuple[int, str]], rng: random.Random) -> list[tuple[int, int, str]]:
    """Group some people as another tool may: neighbours or anybody, perhaps not all of them."""
    share = rng.choice([1, 0.85])
    kept = [name for name in people if rng.random() < share] or list(people)
    rng.shuffle(kept)
    if rng.random() < 0.6:
        kept.sort(key=lambda name: people[name][0])
    boxes: dict[tuple[int, int], str] = {}
    while kept:
        size = min(rng.randint(2, 4), len(kept))
        size = len(kept) if len(kept) - size == 1 else size
        own, kept = kept[:size], kept[size:]
        box = (min(people[n][0] for n in own), max(people[n][0] for n in own))
        boxes[box] = "".join(sorted(boxes.get(box, "") + "".join(people[n][1] for n in own)))
    return [(*box, own) for box, own in boxes.items()]


def groups_of(own: PlainSeries, prepared, frame: pl.DataFrame) -> list[Group]:
    """Return who is in which group of a release of this series, and its values."""
    groups, values = prepared.release.group_values()
    placed = own.placed(prepared, frame["pid"].to_list())
    return [
        Group(
            tuple(who for who, (_, group) in placed.items() if group == number),
            tuple(values["s"].filter(pl.Series(groups == number))),
        )
        for number in sorted(set(groups.tolist()))
    ]


def own_first(seed: int, values: str, guarantee, *, returns: bool) -> tuple[list[Group], Told] | None:
    """Publish a table, adopt a release of the next one, and go on; None if one of the first two is refused."""
    case = random_case(seed, values, changes=False, returns=returns)
    if len(case.frames) < 3:
        return None
    people = {person: (x, value) for person, x, value in case.frames[1].iter_rows()}
    second = Case(case.frames[1:], random_groups(people, random.Random(seed)), None)  # noqa: S311 -- for tests
    own = PlainSeries(SCHEMA, guarantee, seed)
    try:
        first = groups_of(own, own.publish(case.frames[0]), case.frames[0])
        own.adopt(second.first, second.release())
    except rv.ReveilError:
        return None
    return first, Told.published(own, second)


@dataclass(frozen=True)
class Told:
    """What everybody can see after a case was published: the adopted groups, and who is in which later group."""

    case: Case
    later: list[list[Group]] = field(default_factory=list)
    times: list[int] = field(default_factory=list)  # the frame of each later release

    @classmethod
    def of(cls, case: Case, guarantee, seed: int, before: Case | None = None) -> Told:
        """Adopt and publish; what is refused is not published. ``before``: adopt the release of this one first."""
        own = PlainSeries(SCHEMA, guarantee, seed)
        if before is not None:
            own.adopt(before.first, before.release())
        own.adopt(case.first, case.release())
        return cls.published(own, case)

    @classmethod
    def published(cls, own: PlainSeries, case: Case) -> Told:
        """Publish the tables that follow the adopted release."""
        told = cls(case)
        for t, frame in enumerate(case.frames[1:], 1):
            try:
                prepared = own.publish(frame)
            except rv.ReveilError:
                continue
            told.later.append(groups_of(own, prepared, frame))
            told.times.append(t)
        return told

    def memberships(self):
        """Yield all that may be thought of who was in the adopted groups."""
        where = dict(self.case.first.select("pid", "x").iter_rows())
        boxes = self.case.groups

        def fits(person: str, g: int) -> bool:
            return boxes[g][0] <= where[person] <= boxes[g][1]

        return enumerate_members(list(where), fits, [len(values) for _, _, values in boxes])

    def series(self, members) -> list[list[Group]]:
        """Return all releases, the adopted one with these members."""
        groups = self.case.groups
        return [[Group(own, tuple(g[2])) for own, g in zip(members, groups, strict=True)], *self.later]

    def changes(self, releases: list[list[Group]]) -> dict[str, dict[int, bool]]:
        """Return whose value is another than when they were published last, which everybody may know."""
        truth = [dict(frame.select("pid", "s").iter_rows()) for frame in self.case.frames]
        last: dict[str, str] = {}
        known: dict[str, dict[int, bool]] = {}
        for at, (t, groups) in enumerate(zip([0, *self.times], releases, strict=True)):
            for person in (person for group in groups for person in group.members):
                value = truth[t].get(person, last.get(person))  # dirty records are as they were
                if person in last:
                    known.setdefault(person, {})[at] = value != last[person]
                last[person] = value
        return known

    def adopted_share(self) -> dict[str, Fraction]:
        """Return how strongly the adopted release alone tells on each person who may be in it."""
        where = dict(self.case.first.select("pid", "x").iter_rows())
        return {
            person: max(
                (
                    Fraction(max(values.count(v) for v in values), len(values))
                    for low, high, values in self.case.groups
                    if low <= x <= high
                ),
                default=Fraction(0),
            )
            for person, x in where.items()
        }

    def beliefs(self, *, changes: bool):
        """Yield, for each membership, the releases and the beliefs of who knows it."""
        for members in self.memberships():
            releases = self.series(members)
            found = enumerate_worlds(releases, self.changes(releases) if changes else None)
            if found.worlds:
                yield releases, found
