"""Several sensitive columns: the vectors of the specification, random series, and what a column's groups depend on."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.core.randomness import Dice
from reveil.releases.column_views import column_views
from reveil.series.asking import asked_for
from reveil.tables.snapshot import Snapshot
from reveil.testing import Group, enumerate_worlds
from reveil.verification import verify
from tests.guarantees.signatures.plain_memory import PlainColumns
from tests.rarely import mostly_slow

TWO = rv.Schema(person="pid", quasi="age", sensitive=("ill", "drug"))
ILL, DRUG = tuple("abcdef"), tuple("uvwxyz")


def table(**columns) -> pl.DataFrame:
    """Return a table of some persons: name = (age, ill, drug)."""
    rows = [(name, *own) for name, own in columns.items()]
    return pl.DataFrame(rows, schema=["pid", "age", "ill", "drug"], orient="row")


def two(**more) -> rv.TauSafety:
    """Return the guarantee of the vectors: m = 2, domains of six values."""
    given = {"m": 2, "form": "angelized", "independent": True, "counterfeits": 9.0}
    return rv.TauSafety(**{**given, "domain": {"ill": ILL, "drug": DRUG}, **more})


def groups_of(prepared, frame: pl.DataFrame, place: int) -> list[Group]:
    """Return the groups of one column: who is in each, and its values."""
    view = column_views(prepared.release)[place]
    persons = frame["pid"].to_list()
    numbers, values = view.group_values()
    found: dict[int, tuple[list[object], list[object]]] = {int(n): ([], []) for n in np.unique(numbers)}
    for number, value in zip(numbers.tolist(), values.to_series().to_list(), strict=True):
        found[number][1].append(value)
    second = prepared.release.seconds[place]
    for number, record in zip(second.groups.tolist(), prepared.placement.tolist(), strict=True):
        found[number][0].append(persons[record])
    return [Group(tuple(members), tuple(own)) for members, own in found.values()]


def changes(frames: list[pl.DataFrame], released: list[list[Group]], column: str) -> dict[str, dict[int, bool]]:
    """Return whose value is another one than in the last release that had them."""
    last: dict[str, str] = {}
    found: dict[str, dict[int, bool]] = {}
    for t, (frame, groups) in enumerate(zip(frames, released, strict=True)):
        there = {person for group in groups for person in group.members}
        for person, value in frame.select("pid", column).iter_rows():
            if person not in there:
                continue
            if person in last:
                found.setdefault(person, {})[t] = last[person] != value
            last[person] = value
    return found


def highest(guarantee: rv.TauSafety, schema: rv.Schema, frames: list[pl.DataFrame], seed: int = 0) -> list[Fraction]:
    """Publish and judge a series; return the largest share of worlds in each column."""
    memory = PlainColumns(guarantee, schema)
    released: list[list[list[Group]]] = []
    for t, frame in enumerate(frames):
        prepared = memory.publish(frame, Dice.of_seed(seed).child("release", t))
        snapshot = Snapshot(frame, schema, "the frame", "polars")
        verify(prepared.release, snapshot, asked_for(guarantee, None), placement=prepared.placement)
        released.append([groups_of(prepared, frame, place) for place in range(len(schema.sensitive))])
    found = []
    for place, column in enumerate(schema.sensitive):
        own = [groups[place] for groups in released]
        found.append(enumerate_worlds(own, changes(frames, own, column)).highest()[0])
    return found


FIRST = table(p=(20, "a", "u"), q=(21, "b", "v"), r=(40, "a", "v"), s=(41, "b", "u"))
MOVED = table(p=(20, "c", "u"), q=(21, "b", "v"), r=(40, "a", "v"), s=(41, "b", "u"))


def test_a_change_in_one_column_only():
    assert highest(two(), TWO, [FIRST, MOVED, MOVED]) == [Fraction(1, 2)] * 2


def test_a_return():
    gone = FIRST.filter(pl.col("pid") != "p")
    assert highest(two(), TWO, [FIRST, gone, MOVED]) == [Fraction(1, 2)] * 2


def test_one_who_rests_rests_in_every_column():
    domain = {"ill": tuple("abcde"), "drug": DRUG}
    guarantee = two(domain=domain)
    frames = [FIRST, MOVED, FIRST.with_columns(pl.when(pid="p").then(pl.lit("e")).otherwise("ill").alias("ill"))]
    memory = PlainColumns(guarantee, TWO)
    rows = [len(memory.publish(frame, Dice.of_seed(1).child("r", t)).release.classes) for t, frame in enumerate(frames)]
    assert rows == [4, 4, 3]  # two signatures of two values leave one of five: p rests, whatever the value is
    assert highest(guarantee, TWO, frames) == [Fraction(1, 2)] * 2


DECIDING = pl.DataFrame(
    {
        "pid": [f"p{i}" for i in range(12)],
        "age": [20 + 7 * i % 12 for i in range(12)],
        "ill": [ILL[i % 6] for i in range(12)],
        "drug": [DRUG[i % 6] for i in range(12)],
    }
)


def test_a_column_that_decides_another_is_refused_with_three_ways_out():
    with pytest.raises(rv.RefusedError, match="tells column") as refused:
        PlainColumns(two(independent=None), TWO).publish(DECIDING, Dice.of_seed(1))
    assert refused.value.exit_code == 1
    assert all(way in str(refused.value) for way in ('together = [["ill", "drug"]]', "drop one", "independent = true"))


def test_taken_for_independent_the_audit_is_certain(tmp_path):
    series = rv.Series.open(tmp_path / "vault", TWO, two(m={"ill": 2, "drug": 3}, domain=None, fixed=True), seed=1)
    release = series.publish(DECIDING)
    where = series.placements(1, DECIDING).select("row", id="person")
    allowed = set(DECIDING.select("ill", "drug").rows())
    prepared = {second.name: second for second in release.seconds}
    place = dict(where.select("id", "row").rows())

    def possible(person: str) -> list[tuple[str, str]]:
        values = [
            second.batch.filter(pl.col("group") == int(second.groups[place[person]]))[name].to_list()
            for name, second in prepared.items()
        ]
        return [pair for pair in product(*values) if pair in allowed]

    told = {person: possible(person) for person in DECIDING["pid"]}
    sure = {person for person, left in told.items() if len(left) == 1}
    assert sure  # whoever excludes impossible pairs is certain of some
    audit = rv.audit([release], TWO, truth=[DECIDING], placements=[where])
    assert audit.attacks["columns"]["ill"]["certain_and_right"] >= len(sure)
    assert audit.attacks["columns"]["ill"]["highest_proven"] == 1
    assert any("independent = true" in word for word in release.manifest.promise.not_covered)


def test_where_columns_were_looked_at_the_reader_of_pairs_is_reported_and_not_judged(tmp_path):
    frame = DECIDING.with_columns(drug=pl.Series([DRUG[(i + i // 6) % 6] for i in range(12)]))
    series = rv.Series.open(tmp_path / "vault", TWO, two(independent=None, domain=None, fixed=True), seed=1)
    audit = rv.audit([series.publish(frame)], TWO, truth=[frame])
    assert audit.summary["held"]
    assert audit.not_run["columns"]  # nobody asked for it
    named = rv.audit([series.publish(frame)], TWO, truth=[frame], attacks="columns", pairs="truth")
    assert "columns" in named.ran


# 415: a plan whose parts of places are more than its movers.
@pytest.mark.parametrize("seed", mostly_slow([415, *range(24)], 9))
def test_random_series_keep_every_column(seed):
    _random_series(seed)


@pytest.mark.slow
@pytest.mark.many
@pytest.mark.parametrize("first", range(24, 500, 28))
def test_500_random_series(first):
    for seed in range(first, min(first + 28, 500)):
        _random_series(seed)


def _random_series(seed: int) -> None:
    """Publish three random snapshots of two or three columns, and count the worlds of each column."""
    rng = np.random.default_rng(seed)
    names = ("ill", "drug", "test")[: 2 + seed % 2]
    schema = rv.Schema(person="pid", quasi="age", sensitive=names)
    m = {name: int(rng.integers(2, 4)) for name in names} if seed % 3 else 2
    size = {name: 3 * (m if isinstance(m, int) else m[name]) - 1 + int(rng.integers(0, 3)) for name in names}
    domain = {name: tuple(f"{name}{v}" for v in range(size[name])) for name in names}
    blind = seed % 5 == 4
    guarantee = rv.TauSafety(m=m, form="angelized", domain=domain, independent=True, counterfeits=9.0, blind=blind)
    people = int(rng.integers(4, 7))
    values = {name: [domain[name][v] for v in rng.integers(0, size[name], people)] for name in names}
    frames = []
    for _ in range(3):
        for name in names:
            for p in np.flatnonzero(rng.random(people) < 0.3):
                values[name][p] = domain[name][rng.integers(0, size[name])]
        there = np.flatnonzero(rng.random(people) < 0.8)
        there = there if len(there) else np.arange(people)
        frame = pl.DataFrame({"pid": [f"p{p}" for p in there], "age": rng.integers(20, 30, len(there))})
        frames.append(frame.with_columns(pl.Series(name, [own[p] for p in there]) for name, own in values.items()))
    try:
        found = highest(guarantee, schema, frames, seed)
    except rv.InfeasibleError:  # everybody who is left has been told too much, and rests
        return
    for name, share in zip(names, found, strict=True):
        assert share <= Fraction(1, m if isinstance(m, int) else m[name])


@pytest.mark.parametrize("blind", [False, True])
def test_groups_of_a_column_do_not_depend_on_other_columns(blind):
    rng = np.random.default_rng(5)
    schema = rv.Schema(person="pid", quasi=("age", "zip"), sensitive=("ill", "drug", "test"))
    people = pl.DataFrame(
        {
            "pid": range(60),
            "age": rng.integers(20, 60, 60),
            "zip": rng.integers(0, 9, 60),
            **{name: [f"{name}{v}" for v in rng.integers(0, 9, 60)] for name in schema.sensitive},
        }
    )
    domain = {name: tuple(f"{name}{v}" for v in range(9)) for name in schema.sensitive}
    guarantee = rv.TauSafety(m=2, form="angelized", domain=domain, blind=blind, independent=True)
    others = people.with_columns(pl.col("drug").reverse(), test=pl.lit("test1"))
    free = rv.TauSafety(m=2, form="angelized", domain=domain, blind=blind, independent=True, counterfeits=9.0)

    def grouped(frame, own):
        columns = PlainColumns(own, schema).publish(frame, Dice.of_seed(3)).draft.columns
        ill = columns[0]
        return ill.record.tolist(), ill.group.tolist(), ill.value.tolist()

    assert grouped(people, guarantee) == grouped(others, free)


def test_boxes_do_not_depend_on_sensitive_values():
    memory = [PlainColumns(two(domain=None, fixed=True), TWO) for _ in range(2)]
    other = DECIDING.with_columns(pl.col("ill").reverse(), pl.col("drug").shuffle(seed=2))
    boxes = [
        own.publish(frame, Dice.of_seed(4)).draft.boxes.partition.labels.tolist()
        for own, frame in zip(memory, (DECIDING, other), strict=True)
    ]
    assert boxes[0] == boxes[1]
