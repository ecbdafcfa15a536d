"""Tiny series on which every cell of the table in promise.md is tried."""

import shutil
import tomllib
from dataclasses import dataclass, field

import numpy as np
import polars as pl

import reveil as rv
from reveil.core import registry
from reveil.guarantees.settings import from_settings

VALUES = [f"d{n:02}" for n in range(12)]
SETTINGS = {
    "static": "k = 3\nl = 2",
    "m-invariance": "m = 2",
    "tau-safety": "m = 2",
    "refinement": "k = 3\nl = 2",
    "global": 'l = 2\nstrategy = "constant-ratio"\nreleases = 3',
    "worlds": "l = 2",
}
OTHER = "another number"
COLUMNS = ["age", "town", "disease"]


def _everybody(size=84):
    dice = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "pid": range(size),
            "age": dice.integers(20, 80, size),
            "town": dice.choice(["Ash", "Birk", "Corn"], size),
            "ward": dice.choice(["east", "west"], size),
            "income": dice.integers(1, 1_000, size),
            "disease": [VALUES[n % len(VALUES)] for n in range(size)],
            "drug": [f"m{n % 7}" for n in range(size)],
        }
    )


EVERYBODY = _everybody()


def people(first=0, last=72, columns=COLUMNS):
    return EVERYBODY[first:last].select("pid", *columns)


def guarantee(kind, *more):
    """Build a guarantee with more settings; a k that is added stands alone, without the l."""
    settings = tomllib.loads(SETTINGS[kind])
    for line in more:
        if line == OTHER:
            key = next(key for key in ("k", "m", "l") if key in settings)
            settings = {**settings, key: 4}
            continue
        added = tomllib.loads(line.replace("[...]", repr(VALUES)))
        settings = {**({} if "k" in added else settings), **added}
    return from_settings(registry.find("guarantees", kind), settings)


def schema(**more):
    return rv.Schema(**{"person": "pid", "quasi": ["age", "town"], "sensitive": "disease", **more})


@dataclass
class Request:
    """What is asked of a series: its columns, settings and method, and what happens before and at the release."""

    columns: dict = field(default_factory=dict)
    settings: list = field(default_factory=list)
    method: str | None = None
    first: int = 0
    last: int = 72
    more: list = field(default_factory=list)  # columns of the table beside the usual three
    without: list = field(default_factory=list)
    alter: list = field(default_factory=list)
    asked: dict = field(default_factory=dict)
    forget: list = field(default_factory=list)  # persons, and whether with a tombstone
    leave: bool = False  # half of the people are absent for one release
    adopt: bool = False

    def frame(self):
        frame = people(self.first, self.last, [*COLUMNS, *self.more])
        for change in self.alter:
            frame = change(frame)
        return frame.filter(~pl.col("pid").is_in([person for person, _ in self.forget])).drop(self.without)


class Trial:
    """One guarantee with its first release; each trial goes on from a copy of it, or begins anew."""

    def __init__(self, kind, folder):
        self.kind, self.folder, self.copies = kind, folder, 0
        self.settings = []  # of every release

    def do(self, names, more=()):
        """Ask for some lines of the table together, with more settings; return what was published."""
        request = Request()
        for name in names:
            (LATER.get(name) or BEGINNING[name])(request)
        request.settings += more
        return self.go_on(request) if names[0] in LATER else self.begin(request)

    def begin(self, request):
        """Publish a first release, or adopt one."""
        own = self._open(self._place(), request)
        if not request.adopt:
            return own.publish_to(None, request.frame(), dry_run=True)
        elsewhere = rv.anonymize(people(), schema(), rv.KAnonymity(6) & rv.DistinctDiversity(3), seed=3)
        return own.adopt(people(), elsewhere)

    def go_on(self, request):
        """Publish a second release, and one between if somebody is to return."""
        first, place = self.folder / "first", self._place()
        if not first.exists():
            self._open(first, Request()).publish(people())
        shutil.copytree(first, place)
        own = self._open(place, request)
        for person, tombstone in request.forget:
            assert own.forget(person, tombstone=tombstone)
        if request.leave:
            own.publish(request.frame().filter(pl.col("pid") >= 36))
        return own.publish_to(None, request.frame(), dry_run=True, **request.asked)

    def _place(self):
        self.copies += 1
        return self.folder / str(self.copies)

    def _open(self, vault, request):
        method = None if request.method is None else registry.find("groupers", request.method)()
        own = guarantee(self.kind, *self.settings, *request.settings)
        return rv.Series.open(vault, schema(**request.columns), own, method, seed=1)


def _changed(column, value, last=59):
    """Return a change of what some persons have."""
    chosen = pl.col("pid").is_between(36, last)
    return lambda frame: frame.with_columns(pl.when(chosen).then(value).otherwise(column).alias(column))


NEXT = pl.col("disease").replace_strict(dict(zip(VALUES, VALUES[1:] + VALUES[:1], strict=True)))
# What each line of the table adds to a request, of a later release or of a first one.
LATER = {
    "people come": lambda request: setattr(request, "last", 84),
    "people leave": lambda request: setattr(request, "first", 12),
    "people who left come back": lambda request: setattr(request, "leave", True),
    "a quasi value changes": lambda request: request.alter.append(_changed("age", 33)),
    "a sensitive value changes": lambda request: request.alter.append(_changed("disease", NEXT)),
    "the same table once more (`--again`)": lambda request: request.asked.update(again=True),
    "a part of the people (`--where`)": lambda request: request.asked.update(where="town in {Ash, Birk}"),
    "`--where` on the sensitive column": lambda request: request.asked.update(where="disease = d01"),
    "`--where` on the person column or an identifier": lambda request: request.asked.update(where="pid < 50"),
    "some of the quasi columns (`--columns`)": lambda request: request.asked.update(columns=["age", "disease"]),
    "without the sensitive column (`--columns`)": lambda request: request.asked.update(columns=["age"]),
    "a quasi column that comes later": lambda request: (
        request.more.append("ward"),
        request.columns.update(quasi=["age", "town", "ward"]),
    ),
    "another k, l or m later": lambda request: request.settings.append(OTHER),
    "forget somebody": lambda request: request.forget.append((20, False)),
    "forget with a tombstone": lambda request: request.forget.append((21, True)),
}
BEGINNING = {
    "a table without a person column": lambda request: (
        request.without.append("pid"),
        request.columns.update(person=None),
    ),
    "no sensitive column": lambda request: (
        request.without.append("disease"),
        request.columns.update(sensitive=()),
    ),
    "two sensitive columns": lambda request: (
        request.more.append("drug"),
        request.columns.update(sensitive=["disease", "drug"]),
    ),
    "missing sensitive values": lambda request: request.alter.append(_changed("disease", None, 39)),
    "a sensitive number in bins": lambda request: (
        request.more.append("income"),
        request.columns.update(sensitive=["disease", "income"], bins={"income": 8}),
    ),
    "plain columns": lambda request: (request.more.append("ward"), request.columns.update(plain=["ward"])),
    "a hierarchy of a quasi column": lambda request: request.columns.update(
        hierarchies={"town": {"wood": ["Ash", "Birk"], "field": ["Corn"]}}
    ),
    "adopt a release from elsewhere": lambda request: setattr(request, "adopt", True),
    "method `mondrian`": lambda request: setattr(request, "method", "mondrian"),
    "method `bang`": lambda request: setattr(request, "method", "bang"),
    "method `anatomy` (two tables)": lambda request: setattr(request, "method", "anatomy"),
    "two tables by `angelize = true`": lambda request: request.settings.append("angelize = true"),
    "`blind = true`": lambda request: request.settings.append("blind = true"),
}
