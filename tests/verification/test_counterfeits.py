"""Releases with counterfeits: what is sound is accepted, with and without placements, and what is not is found."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.guarantees.counted import group_statistics
from reveil.models.encoding import encode
from reveil.models.m_uniqueness import MUniqueness
from reveil.releases.assignment import Seats, fillable
from reveil.releases.groups import groups_of, renumbered
from reveil.verification import verify
from reveil.verification.counting import described
from reveil.verification.counting import groups_of as in_groups
from tests.manifests import altered
from tests.verification.counterfeits import Published, model_of, publish, published

quick = settings(deadline=None, max_examples=50, suppress_health_check=list(HealthCheck))
AGES = pl.DataFrame({"pid": range(6), "age": [21, 23, 24, 26, 41, 42], "ill": ["a", "b", "c", "d", "a", "c"]})
SCHEMA = rv.Schema(person="pid", quasi="age", sensitive="ill")


def small(*, boxes: list[int] | None = None) -> Published:
    """Two whole groups and one with a counterfeit; record 3 is withheld."""
    return publish(AGES, SCHEMA, [[0, 1], [2], [4, 5]], [[], ["new"], []], boxes=boxes)


def holds(case: Published, *, placed: bool = True, model: rv.KAnonymity | None = None) -> None:
    verify(case.release, case.snapshot, model or model_of(case), placement=case.placement if placed else None)


@quick
@given(published())
def test_what_is_sound_is_accepted(case):
    holds(case)
    holds(case, placed=False)


@quick
@given(published(), st.sampled_from([".csv", ".parquet"]))
def test_files_are_accepted_too(tmp_path_factory, case, suffix):
    assume(len(case.release.columns) > 1 or suffix == ".parquet" or case.release.batch is None)
    path = case.release.write(tmp_path_factory.mktemp("r") / f"r{suffix}")
    written = replace(case, release=rv.Release.read(path))
    holds(written)
    holds(written, placed=False)


@pytest.mark.parametrize("boxes", [None, [0, 0, 1, 2, 2, 1]], ids=["one table", "two tables"])
@pytest.mark.parametrize("placed", [True, False])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"total": 0, "per_group": {}}, "1 withheld and 0 suppressed, but the snapshot has 6"),
        ({"total": 1, "per_group": {}}, "group by group"),
        ({"total": 1, "per_group": {"999": 1}}, "group by group"),
        ({"total": 1, "per_group": {"x": 1}}, "group by group"),
        ({"total": 1, "per_group": ("whole", 1)}, "not the counterfeits|cannot be the records"),
        ({"total": 1, "per_group": ("mixed", 2)}, "group by group"),
        ({"total": 1, "per_group": ("padded", 1)}, "group by group"),
    ],
    ids=str,
)
def test_a_manifest_that_miscounts_counterfeits(boxes, placed, change, message):
    case = small(boxes=boxes)
    told = case.release.manifest["counterfeits"]["per_group"]
    (mixed,) = told
    whole = next(str(n) for n in case.release.groups if str(n) != mixed)
    if isinstance(change["per_group"], tuple):
        name, many = change["per_group"]
        key = {"whole": whole, "mixed": mixed, "padded": "0" + mixed}[name]
        change = {**change, "per_group": {key: many}}
    with pytest.raises(rv.VerificationError, match=message):
        holds(case.with_manifest(counterfeits=change), placed=placed)


def test_rows_and_records_left_out_are_all_the_records():
    for change in ({"withheld": 0}, {"withheld": 2}, {"suppressed": 1}, {"withheld": 2, "suppressed": -1}):
        with pytest.raises(rv.VerificationError):
            holds(small().with_manifest(**change))
    holds(small().with_manifest(withheld=0, suppressed=1), placed=False)


@pytest.mark.parametrize("placed", [True, False])
def test_a_group_of_counterfeits_alone_is_found(placed):
    lonely = publish(AGES, SCHEMA, [[0, 1], [2], [4, 5]], [[], ["x", "y"], []])
    (first,) = lonely.release.manifest["counterfeits"]["per_group"]
    told = {"total": 3, "per_group": {first: 3}}
    placement = np.where(lonely.placement == 2, -1, lonely.placement)
    alone = replace(lonely.with_manifest(counterfeits=told, withheld=2), placement=placement)
    with pytest.raises(rv.VerificationError, match="only counterfeits"):
        holds(alone, placed=placed)


def test_a_placement_that_is_not_of_this_table():
    case = small()
    for record, message in ((99, "does not have"), (-2, "does not have"), (-1, "not the counterfeits")):
        placement = np.where(case.placement == 0, record, case.placement)
        with pytest.raises(rv.VerificationError, match=message):
            holds(replace(case, placement=placement))
    with pytest.raises(rv.VerificationError, match="another number of rows"):
        holds(replace(case, placement=case.placement[1:]))
    with pytest.raises(rv.VerificationError, match="twice"):
        holds(replace(case, placement=np.where(case.placement == 0, 1, case.placement)))
    # The counterfeit of a group must be the row that is nobody's, not another one.
    swapped = np.where(case.placement == 2, -1, np.where(case.placement == -1, 2, case.placement))
    with pytest.raises(rv.VerificationError, match="altered"):
        holds(replace(case, placement=swapped))


@pytest.mark.parametrize("placed", [True, False])
def test_a_value_of_a_record_that_was_altered(placed):
    case = small()
    values = case.release.values.with_columns(pl.col("ill").replace({"d": "b", "b": "d"}))
    with pytest.raises(rv.VerificationError, match=r"altered|cannot be the records"):
        holds(replace(case, release=replace(case.release, values=values)), placed=placed)


def test_a_value_that_the_snapshot_lacks_must_be_a_counterfeit():
    case = publish(AGES, SCHEMA, [[0, 1], [2, 3], [4, 5]], [[], [], []])
    values = case.release.values.with_columns(pl.col("ill").replace({"d": "new"}))
    with pytest.raises(rv.VerificationError, match="the snapshot does not have"):
        holds(replace(case, release=replace(case.release, values=values)), placed=False)


@pytest.mark.parametrize("boxes", [None, [0, 0, 1, 2, 2, 1]], ids=["one table", "two tables"])
def test_values_of_another_type_are_found(boxes):
    case = small(boxes=boxes)
    numbers = AGES.with_columns(ill=pl.Series([1, 2, 3, 4, 1, 3]))
    for model in (MUniqueness(2), rv.KAnonymity(2)):
        told = {"m": 2} if model == MUniqueness(2) else {"k": 2}
        with pytest.raises(rv.VerificationError, match=r"type|altered"):
            holds(replace(case.with_manifest(achieved=told), frame=numbers), model=model)


@pytest.mark.parametrize("placed", [True, False])
def test_a_second_table_that_was_altered(placed):
    case = small(boxes=[0, 0, 1, 2, 2, 1])
    batch = case.release.batch
    holds(case, placed=placed)
    wrong = batch.with_columns(pl.when(pl.col("ill") == "b").then(pl.lit("q")).otherwise("ill").alias("ill"))
    with pytest.raises(rv.VerificationError, match=r"altered|cannot be the records"):
        holds(replace(case, release=replace(case.release, batch=wrong)), placed=placed)
    for other in (batch.with_columns(pl.col("count") + 1), batch.with_columns(pl.col("group") + 1), batch.head(5)):
        with pytest.raises(rv.VerificationError, match="same groups"):
            holds(replace(case, release=replace(case.release, batch=other)), placed=placed)


def test_the_model_is_asked_about_the_column():
    case = small()
    with pytest.raises(rv.VerificationError, match=r"the group \d+ does not satisfy MUniqueness\(m=3"):
        holds(case, model=MUniqueness(3))
    whole = publish(AGES, SCHEMA, [[0, 1], [2, 3], [4, 5]], [[], [], []])
    bare = replace(whole.release, groups=None)
    holds(whole)
    with pytest.raises(rv.VerificationError, match="no column 'group'"):
        verify(bare, whole.snapshot, MUniqueness(2))
    with pytest.raises(rv.VerificationError, match="needs a column 'group'"):
        verify(replace(case.release, groups=None), case.snapshot, MUniqueness(2))
    with pytest.raises(rv.VerificationError, match="another level"):
        holds(case.with_manifest(achieved={"m": 3}))
    with pytest.raises(rv.VerificationError, match="other groups"):
        holds(case.with_manifest(groups=2))


def test_values_that_repeat_in_a_group_are_found():
    case = publish(AGES, SCHEMA, [[0, 4], [2, 3]], [[], []])
    for placed in (True, False):
        with pytest.raises(rv.VerificationError, match="does not satisfy"):
            holds(case, placed=placed)


def test_rows_of_a_group_have_one_box():
    """Beside the values, two boxes in a group say who has which."""
    case = small(boxes=[0, 0, 1, 2, 2, 1])
    apart = case.release
    order = np.argsort(case.placement)
    values = pl.DataFrame({"ill": ["new", "a", "b", "c", "a", "c"]})
    columns = [*apart.manifest["columns"][:1], {**apart.manifest["columns"][-1]}, apart.manifest["columns"][1]]
    one = replace(
        apart,
        columns=("age", "ill"),
        batch=None,
        values=values,
        classes=np.array([0, 0, 1, 1, 2, 2], np.int32),
        groups=apart.groups[order],
        manifest=altered(apart.manifest, columns=columns),
    )
    with pytest.raises(rv.VerificationError, match="different cells in column 'age'"):
        verify(one, case.snapshot, MUniqueness(2), placement=case.placement[order])


def test_counterfeits_of_groups_decide_where_a_record_may_be():
    """A flow without groups would put b twice into the first group, whose only real row is a."""
    frame = pl.DataFrame({"pid": range(3), "age": [1, 1, 1], "ill": ["a", "b", "c"]})
    case = publish(frame, SCHEMA, [[0], [1, 2]], [["b"], []])
    holds(case, placed=False)
    (first,) = case.release.manifest["counterfeits"]["per_group"]
    second = str(next(n for n in case.release.groups if str(n) != first))
    moved = case.with_manifest(counterfeits={"total": 1, "per_group": {second: 1}})
    holds(moved, placed=False)  # a and b in the first, c in the second
    other = publish(frame, SCHEMA, [[0], [1, 2]], [["x"], []])
    (first,) = other.release.manifest["counterfeits"]["per_group"]
    second = str(next(n for n in other.release.groups if str(n) != first))
    with pytest.raises(rv.VerificationError, match="cannot be the records"):
        holds(other.with_manifest(counterfeits={"total": 1, "per_group": {second: 1}}), placed=False)


def brute_force(case: Published) -> bool:
    """Try every way of giving records to rows."""
    release, snapshot = case.release, case.snapshot
    codes, groups = encode(snapshot), groups_of(case.release)
    ages = snapshot.frame["age"].to_list()
    cells = release.cells["age"].distinct.to_list()
    fits = [
        [
            cells[release.cells["age"].index[c]]["lo"] <= age <= cells[release.cells["age"].index[c]]["hi"]
            and ill == value
            for age, ill in zip(ages, snapshot.frame["ill"], strict=True)
        ]
        for c, value in zip(release.classes, release.values["ill"], strict=True)
    ]
    rows = range(len(release.classes))
    for real in itertools.combinations(rows, int(groups.real.sum())):
        if (np.bincount(groups.index[list(real)], minlength=len(groups.rows)) != groups.real).any():
            continue
        for records in itertools.permutations(range(codes.n), len(real)):
            if all(fits[row][record] for row, record in zip(real, records, strict=True)):
                return True
    return False


@quick
@given(st.data())
def test_the_search_is_exact_for_one_table(data):
    """Against a snapshot of which some records are others: the same verdict as trying everything."""
    records = data.draw(st.integers(2, 5))
    drawn = st.lists(st.sampled_from("abc"), min_size=records, max_size=records)
    ages = st.lists(st.integers(0, 3), min_size=records, max_size=records)
    frame = pl.DataFrame({"pid": range(records), "age": data.draw(ages), "ill": data.draw(drawn)})
    groups: list[list[int]] = [[0]]
    for record in range(1, records):
        into = data.draw(st.integers(-1, len(groups)))
        if into == len(groups):
            groups.append([record])
        elif into >= 0:
            groups[into].append(record)
    fakes = [data.draw(st.lists(st.sampled_from("abcd"), max_size=1)) for _ in groups]
    case = publish(frame, SCHEMA, groups, fakes)
    other = pl.DataFrame({"pid": range(records), "age": data.draw(ages), "ill": data.draw(drawn)})
    changed = data.draw(st.sampled_from([[], [records - 1], range(records)]))
    other = frame.with_columns(
        pl.when(pl.col("pid").is_in(changed)).then(other[name]).otherwise(name).alias(name) for name in ("age", "ill")
    )
    case = replace(case.with_manifest(achieved=rv.KAnonymity(1).achieved(sizes(case))), frame=other)
    if brute_force(case):
        holds(case, placed=False, model=rv.KAnonymity(1))
    else:
        with pytest.raises(rv.VerificationError, match="cannot be the records"):
            holds(case, placed=False, model=rv.KAnonymity(1))


def sizes(case: Published):
    return group_statistics(case.release, {}, {}, placed=True)


@pytest.mark.parametrize(
    ("schema", "raw", "fake", "level"),
    [
        ({}, [1, 2, 9, 10], 5, 0.15),
        ({"orders": {"ill": ["w", "x", "y", "z", "q"]}}, ["w", "x", "z", "q"], "y", 0.15),
        ({"bins": {"ill": 2}}, [1, 2, 9, 10], 5, 0.1),
        ({"types": {"ill": "text"}}, ["a", "b", "c", "d"], "bb", 0.6),
    ],
    ids=["numbers", "an order", "bins", "words"],
)
def test_values_of_counterfeits_have_their_place_among_the_others(schema, raw, fake, level):
    """Distances to the table count the counterfeit where its value belongs, not behind all the others."""
    frame = pl.DataFrame({"pid": range(4), "age": [1, 2, 3, 4], "ill": raw})
    schema = rv.Schema(person="pid", quasi="age", sensitive="ill", **schema)
    case = publish(frame, schema, [[0, 3], [1, 2]], [[fake], []])
    model = rv.TCloseness(1)
    with pytest.raises(rv.VerificationError, match="another level") as caught:
        holds(case, model=model)
    achieved = json.loads(caught.value.hint.removeprefix("The table has ").removesuffix(".").replace("'", '"'))
    assert achieved["t"]["ill"] == pytest.approx(level, abs=1e-6)
    holds(case.with_manifest(achieved=achieved), model=model)
    holds(case.with_manifest(achieved=achieved), model=model, placed=False)


def test_a_counterfeit_outside_the_declared_values_is_refused():
    frame = pl.DataFrame({"pid": range(2), "age": [1, 2], "ill": ["w", "x"]})
    schema = rv.Schema(person="pid", quasi="age", sensitive="ill", orders={"ill": ["w", "x", "y"]})
    holds(publish(frame, schema, [[0], [1]], [["y"], ["w"]]))
    with pytest.raises(rv.VerificationError, match="does not have"):
        holds(publish(frame, schema, [[0], [1]], [["nobody"], ["w"]]))


def test_numbers_of_groups_may_be_any():
    case = small()
    far = replace(case.release, groups=(case.release.groups.astype(np.int64) * 10_000_019 + 7).astype(np.int32))
    before = case.release.manifest["counterfeits"]["per_group"]
    told = {str(int(number) * 10_000_019 + 7): many for number, many in before.items()}
    moved = replace(case, release=far).with_manifest(counterfeits={"total": 1, "per_group": told})
    holds(moved)
    holds(moved, placed=False)
    assert described(far, in_groups(far), 0) == str(far.groups.min())
    assert group_statistics(far, {}, {}, placed=True).sizes.tolist() == [2, 2, 2]


@given(st.lists(st.integers(0, 2**31 - 1) | st.integers(0, 9)))
def test_renumbering(numbers):
    found, index = renumbered(np.array(numbers, np.int32))
    assert found.tolist() == sorted(set(numbers))
    assert found[index].tolist() == numbers


def test_seats_limit_what_slots_admit():
    edges = pl.DataFrame({"type": [0, 0, 1], "slot": [0, 1, 1]})
    one = np.ones(2, np.int64)
    together = Seats(np.zeros(2, np.int64), np.array([1]))
    assert fillable(edges, one, one)
    assert fillable(edges, one, one, seats=together)
    assert not fillable(edges, one, one, seats=Seats(np.zeros(2, np.int64), np.array([3])))
    assert not fillable(edges.head(1), one, one, seats=Seats(np.arange(2), one))
