"""Possible worlds as a guarantee: releases of any columns, batches, refusals, and what others can find out."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

import reveil as rv
from reveil.core.errors import ConfigError, InfeasibleError, RefusedError, VerificationError
from reveil.core.randomness import Dice
from reveil.guarantees.comparing import check_promise
from reveil.guarantees.draft import Request
from reveil.guarantees.settings import from_settings
from reveil.guarantees.worlds.possible_worlds import PossibleWorlds
from reveil.guarantees.worlds.world_ledgers import BATCHES, world_ledger
from reveil.releases.admitted import admitted_codes
from reveil.tables.snapshot import Snapshot
from reveil.verification import Promised
from tests.guarantees.worlds.plain_book import PlainBook
from tests.judged import Judged

SCHEMA = rv.Schema(person="pid", quasi=("age", "town"), sensitive="disease", plain=("blood",))
COLUMNS = [["age", "disease"], ["town", "disease"], ["age", "town", "blood", "disease"], ["town", "blood"], ["age"]]
slow = settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow])


def table(n=40, seed=0, first=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "pid": np.arange(first, first + n),
            "age": rng.integers(20, 60, n),
            "town": rng.choice([*"stuvw"], n),
            "blood": rng.choice(["0", "A", "B"], n),
            "disease": rng.permutation(np.arange(n) % 8).astype(str),
        }
    )


def worlds_of(book, frame, l):
    """Read the worlds off the ledgers: what everybody has in each, as tables with the columns of the frame."""
    rows = book.rows(world_ledger(l)).sort("record")
    truth = book.rows(BATCHES)["truth"][0]
    tokens = rows.select(world_ledger(l).whole).to_numpy().T
    found = []
    for own in tokens:
        owner = {token: record for record, token in enumerate(tokens[truth])}
        sources = [owner[token] for token in own]
        suffix = frame.select("blood", "disease")[sources]
        found.append(frame.select("pid", "age", "town").hstack(suffix))
    return found, truth


def consistent(release, codes, world):
    """Search, independently of the publisher, a matching of all the persons of a world with the published rows."""
    fits = np.ones((world.height, len(release.classes)), np.bool_)
    for attribute in codes.quasi:
        cells = release.cells[attribute.name]
        admitted = admitted_codes(cells, attribute)
        for row, cell in enumerate(cells.index[release.classes]):
            fits[:, row] &= admitted.contains(np.full(world.height, cell), attribute.codes)
    for name in release.values.columns:
        fits &= world[name].to_numpy()[:, None] == release.values[name].to_numpy()[None, :]
    return bool((maximum_bipartite_matching(csr_array(fits), perm_type="column") >= 0).all())


@slow
@given(
    st.integers(2, 4),
    st.sampled_from([{}, {"blind": True}, {"placement": "greedy"}, {"project": True}, {"p": 3}]),
    st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=3),
    st.integers(0, 99),
)
def test_every_world_is_consistent_with_every_release(l, options, columns, seed):
    frame = table(24, seed)
    book = PlainBook(PossibleWorlds(l, **options), SCHEMA)
    published = [book.publish(frame, Dice.of_seed(seed).child("release", t), own) for t, own in enumerate(columns)]
    worlds, truth = worlds_of(book, frame, l)
    assert worlds[truth].equals(frame.select(worlds[truth].columns))
    for record in range(frame.height):
        assert len({world["disease"][record] for world in worlds}) == l
    for prepared in published:
        for world in worlds:
            assert consistent(prepared.release, prepared.draft.codes, world)


def test_plain_columns_move_with_the_sensitive_value():
    frame = table(40)
    book = PlainBook(PossibleWorlds(3), SCHEMA)
    prepared = book.publish(frame, Dice.of_seed(0))
    pairs = Counter(frame.select("blood", "disease").iter_rows())
    assert Counter(prepared.release.values.select("blood", "disease").iter_rows()) == pairs
    for world in worlds_of(book, frame, 3)[0]:
        assert Counter(world.select("blood", "disease").iter_rows()) == pairs


def test_a_release_of_quasi_columns_alone_is_exact():
    frame = table(40)
    book = PlainBook(PossibleWorlds(3), SCHEMA)
    release = book.publish(frame, Dice.of_seed(0), ["age", "town"]).release
    assert Counter(release.text.iter_rows()) == Counter(
        zip(frame["age"].cast(pl.String), frame["town"].replace({}), strict=True)
    )


def test_batches_have_worlds_of_their_own():
    first, second = table(40), table(24, seed=1, first=100)
    book = PlainBook(PossibleWorlds(3), SCHEMA)
    book.publish(first, Dice.of_seed(0), ["age", "disease"])
    before = book.rows(world_ledger(3))
    both = pl.concat([second.head(10), first, second.tail(14)])
    book.publish(both, Dice.of_seed(1))
    after = book.rows(world_ledger(3))
    assert after.head(40).drop("record").equals(before.drop("record")), "what was drawn stays"
    assert after.height == 64
    assert book.rows(BATCHES)["persons"].to_list() == [40, 24]
    assert book.rows(BATCHES)["truth"].n_unique() == 1
    assert after.tail(24).select(world_ledger(3).whole).to_numpy().min() == 40
    worlds, truth = worlds_of(book, both, 3)
    assert worlds[truth].equals(both.select(worlds[truth].columns))


def test_a_column_that_comes_later_follows_the_worlds():
    frame = table(40)
    without = rv.Schema(person="pid", quasi=("age",), sensitive="disease")
    book = PlainBook(PossibleWorlds(3), without)
    book.publish(frame.drop("town", "blood"), Dice.of_seed(0))
    before = book.rows(world_ledger(3))
    book.schema = SCHEMA
    prepared = book.publish(frame, Dice.of_seed(1))
    assert book.rows(world_ledger(3)).equals(before)
    assert all(consistent(prepared.release, prepared.draft.codes, world) for world in worlds_of(book, frame, 3)[0])


# Refusals


def test_a_table_or_batch_that_is_not_diverse():
    uneven = table(40).with_columns(disease=pl.when(pl.col("pid") < 12).then(pl.lit("0")).otherwise("disease"))
    with pytest.raises(InfeasibleError, match="one in 4 of the table") as told:
        PlainBook(PossibleWorlds(4), SCHEMA).publish(uneven, Dice.of_seed(0))
    assert "l = 2 would do" in str(told.value)
    book = PlainBook(PossibleWorlds(4), SCHEMA)
    book.publish(table(40), Dice.of_seed(0))
    alike = table(9, first=50).with_columns(disease=pl.Series(["0", "0", "0", *"123456"]))
    with pytest.raises(InfeasibleError, match="9 new persons") as told:
        book.publish(pl.concat([table(40), alike]), Dice.of_seed(0))
    assert "l = 3 would do" in str(told.value)
    assert "how large batches are beforehand" in str(told.value)


def test_deletions_and_changes_are_refused():
    frame = table(40)
    book = PlainBook(PossibleWorlds(3), SCHEMA)
    book.publish(frame, Dice.of_seed(0))
    with pytest.raises(RefusedError, match="2 persons of earlier releases are not in this table") as told:
        book.publish(frame.tail(38), Dice.of_seed(0))
    assert "tau-safety" in str(told.value)
    assert "--where" in str(told.value)
    with pytest.raises(RefusedError, match="another sensitive value") as told:
        book.publish(frame.with_columns(disease=pl.col("disease").reverse()), Dice.of_seed(0))
    assert "tau-safety" in str(told.value)
    with pytest.raises(RefusedError, match="another value of 'age'"):
        book.publish(frame.with_columns(pl.col("age") + 1), Dice.of_seed(0))
    book.publish(frame.with_columns(pl.col("age") + 1), Dice.of_seed(0), ["town", "disease"])
    erased = replace_ledger(book, book.ledgers["worlds"].head(39))
    with pytest.raises(RefusedError, match="erased"):
        erased.publish(frame.head(39), Dice.of_seed(0))


def replace_ledger(book, rows):
    book.ledgers["worlds"] = rows
    return book


def test_values_that_changed_unseen_are_refused():
    frame = table(40)
    book = PlainBook(PossibleWorlds(4), SCHEMA)
    book.publish(frame, Dice.of_seed(0), ["age"])
    with pytest.raises(RefusedError, match="not what they were"):
        book.publish(frame.with_columns(disease=pl.lit("1")), Dice.of_seed(0), ["town"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"l": 1}, "l must be"),
        ({"l": 2.5}, "l must be"),
        ({"l": True}, "l must be"),
        ({"l": 2, "p": 0}, "p must be"),
        ({"l": 2, "project": 1}, "project must be"),
        ({"l": 2, "blind": "yes"}, "blind must be"),
        ({"l": 2, "placement": "near"}, "unknown placement"),
        ({"l": 2, "placement": "greedy", "blind": True}, "needs placement"),
    ],
)
def test_settings_that_cannot_be(options, message):
    with pytest.raises(ConfigError, match=message):
        PossibleWorlds(**options)


def test_what_cannot_work_is_refused_before_data():
    worlds = PossibleWorlds(3)
    with pytest.raises(ConfigError, match="takes no method"):
        worlds.check(SCHEMA, rv.Mondrian())
    with pytest.raises(ConfigError, match="person column"):
        worlds.check(rv.Schema(quasi=("age",), sensitive="disease"), None)
    with pytest.raises(ConfigError, match="exactly one sensitive"):
        worlds.check(rv.Schema(person="pid", quasi=("age",), sensitive=("disease", "blood")), None)
    with pytest.raises(ConfigError, match="bins"):
        worlds.check(rv.Schema(person="pid", quasi=("age",), sensitive="income", bins={"income": 4}), None)
    with pytest.raises(InfeasibleError, match="so many different values"):
        PossibleWorlds(9).check(
            rv.Schema(person="pid", quasi=("age",), sensitive="disease", orders={"disease": ["a", "b"]}), None
        )
    with pytest.raises(ConfigError, match="needs a vault"):
        worlds.decide(Request(None), None)
    assert from_settings(PossibleWorlds, {"l": 3, "blind": True}) == PossibleWorlds(3, blind=True)


# Promises and verification


def test_promises():
    assert PossibleWorlds(4).promise(SCHEMA, None).bound == 0.25
    assert PossibleWorlds(4, placement="greedy").promise(SCHEMA, None).bound is None
    grades = {"worlds": {}, "blind": {"blind": True}, "none": {"placement": "greedy"}}
    claims = set()
    for grade, options in grades.items():
        promise = PossibleWorlds(4, **options).promise(SCHEMA, None)
        assert promise.grade == grade
        claims.add(promise.claim)
    assert len(claims) == 3
    assert PossibleWorlds(3).traits.may_change("p", 100, 50)
    assert not PossibleWorlds(3).traits.may_change("l", 3, 2)
    release = PlainBook(PossibleWorlds(3), SCHEMA).publish(table(), Dice.of_seed(0)).release
    for other in (PossibleWorlds(2), PossibleWorlds(3, blind=True), PossibleWorlds(3, placement="greedy")):
        with pytest.raises(VerificationError, match="something else"):
            check_promise(other, release.manifest, SCHEMA, None)
    check_promise(PossibleWorlds(3, p=7, project=True), release.manifest, SCHEMA, None)
    # A release from before the grade had a name of its own promises the same in other words.
    words = "Over all the releases of this series together, nobody's sensitive value is told with more than 1/3"
    claim = f"{words}, up to what the boundaries of the buckets tell."
    earlier = replace(release.manifest, promise=replace(release.manifest.promise, grade="counted", claim=claim))
    check_promise(PossibleWorlds(3), earlier, SCHEMA, None)
    asked = Promised.of_guarantee(PossibleWorlds(3))
    for manifest in (earlier, release.manifest):
        asked.judge.check_manifest(manifest, Promised.told(manifest.promise.guarantee()), asked, SCHEMA, 40)
    with pytest.raises(VerificationError, match="suppressed records"):
        asked.judge.check_counts(replace(earlier, suppressed=1), asked, SCHEMA, 40)


def test_a_release_that_does_not_fit_all_the_worlds_is_refused():
    frame = table(40)
    guarantee = PossibleWorlds(3)
    prepared = PlainBook(guarantee, SCHEMA).publish(frame, Dice.of_seed(0))
    good = prepared.witness
    snapshot = Snapshot(frame, SCHEMA, "the frame", "polars")

    def judge(release=prepared.release, **changes):
        judged = Judged(guarantee)
        witness = replace(good, **changes)
        judged.check(judged.shown(replace(prepared, release=release, witness=witness), range(40), 1, snapshot))

    def broken(message, **changes):
        with pytest.raises(VerificationError, match=message):
            judge(**changes)

    judge()
    rows, sources = good.rows.copy(), good.sources.copy()
    rows[1, 0] = rows[1, 1]
    broken("nobody or to two", rows=rows)
    broken("not 3 worlds", rows=good.rows[:2])
    broken("none of the worlds is the table", sources=np.roll(good.sources, 1, axis=1))
    sources[:] = np.arange(40)
    broken("in two of the worlds", sources=sources)
    broken("outside its box|another value|whose they are", rows=good.rows[:, ::-1])
    narrow = replace(prepared.release, classes=np.zeros_like(prepared.release.classes))
    broken("outside its box", release=narrow)
    values = prepared.release.values.with_columns(pl.col("blood").reverse())
    broken("another value", release=replace(prepared.release, values=values))
    judged = Judged(guarantee)
    shown = judged.shown(replace(prepared, witness=None), range(40), 1, snapshot)
    with pytest.raises(VerificationError, match="nothing shows"):
        judged.check(shown)


# With a vault


def test_a_series(tmp_path):
    frame = table(40)
    first = rv.Series.open(tmp_path / "one", SCHEMA, PossibleWorlds(3), seed=5)
    releases = [first.publish(frame, columns=own) for own in COLUMNS[:3]]
    more = pl.concat([frame, table(24, seed=1, first=100)])
    releases.append(first.publish(more, columns=COLUMNS[0]))
    assert [len(release.classes) for release in releases] == [40, 40, 40, 64]
    told = json.dumps([release.manifest.to_json() for release in releases])
    assert "truth" not in told
    with pytest.raises(RefusedError, match="not in this table"):
        first.publish(more, where="age < 40")
    audit = rv.audit(releases, SCHEMA, truth=[frame] * 3 + [more])
    assert audit.summary["held"]
    assert audit.summary["bound"] == pytest.approx(1 / 3)
    assert audit.attacks["sequential"]["fewest_values"] >= 3, "everybody is linked with l values"
    assert audit.attacks["sequential"]["belief"] == pytest.approx(1 / 3)
    assert "share_of_worlds" in audit.attacks["sequential"]


def test_same_dice_same_release():
    frame = table(40)
    texts = []
    for _ in range(2):
        book = PlainBook(PossibleWorlds(3), SCHEMA)
        texts.append([book.publish(frame, Dice.of_seed(t), own).release.text for t, own in enumerate(COLUMNS)])
    assert all(one.equals(other) for one, other in zip(*texts, strict=True))
