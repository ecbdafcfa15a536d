"""Erasure through the series: no byte is left in the vault, and the next release treats the person as gone."""

import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import DataError
from tests.rarely import mostly_slow
from tests.series.cases import command, config, contents, private, series, signatures, snapshot, tables, written
from tests.vault.cases import in_bytes

TOWN = "lighthouse of the northernmost island"


@pytest.fixture(autouse=True)
def _no_key_from_outside(monkeypatch):
    monkeypatch.delenv("REVEIL_KEY", raising=False)


def with_hermit(*arguments):
    """The usual snapshot, in which p5 lives where nobody else does."""
    towns = pl.when(pl.col("pid") == 5).then(pl.lit(TOWN)).otherwise("town")
    return snapshot(*arguments).with_columns(town=towns)


def pseudonym(own, person):
    with own._opened() as vault:
        high, low = vault.key.pseudonyms(pl.Series([str(person)]))
    return int(high[0]), int(low[0])


def others(frame):
    return frame.filter(pl.col("pid") != 5)


@pytest.mark.parametrize("tombstone", mostly_slow([False, True]))
def test_a_forgotten_person_is_in_no_file_of_the_vault(tmp_path, tombstone):
    own = series(tmp_path)
    first = own.publish(with_hermit())
    told = signatures(first, own.placements(1, with_hermit()))
    own.publish(with_hermit(0, 41))
    number = pseudonym(own, 5)
    assert in_bytes(own.vault, TOWN, *number) == [TOWN, *number]
    assert own.forget("5", tombstone=tombstone)
    assert in_bytes(own.vault, TOWN, *number) == (list(number) if tombstone else [])
    assert private(own.vault)
    assert own.placements(1, with_hermit().filter(pl.col("pid") == 5)).is_empty()
    assert len(own.placements(1, with_hermit())) == 39, "of all others they are kept"
    # Gone like anybody who left; nobody else loses their signature.
    later = own.publish(others(with_hermit(0, 44)))
    assert {**signatures(later, own.placements(3, snapshot())), 5: told[5]} == told
    assert own.history()[2]["deleted"] == 0, "the vault no longer knows that they were there"
    # Back again: new, or with the signature they had.
    back = own.publish(with_hermit(0, 44))
    row = own.history()[3]
    assert (row["inserted"], row["returned"]) == ((0, 1) if tombstone else (1, 0))
    if tombstone:
        assert signatures(back, own.placements(4, snapshot()))[5] == told[5]


NUMBER = 7_654_321
NAMED = "hermit-0005"
GUARANTEES = {
    "static": (rv.Static(k=3), None, False),
    "static in a bang file": (rv.Static(k=3), rv.BangA(), False),
    "m-invariance": (rv.MInvariance(2), None, False),
    "tau-safety": (rv.TauSafety(m=2), None, False),
    "tau-safety in a bang file": (rv.TauSafety(m=2), rv.BangA(), False),
    "refinement": (rv.Refinement(k=3, l=2), None, True),
    "refinement in a bang file": (rv.Refinement(k=3, l=2), rv.BangA(), True),
    "global": (rv.GlobalGuarantee(l=2, strategy=rv.ConstantRatio(releases=3)), None, False),
    "permanent": (rv.GlobalGuarantee(l=2, strategy=rv.ConstantRatio(releases=3), permanent=("gout",)), None, True),
}


@pytest.mark.parametrize("name", mostly_slow(sorted(GUARANTEES, key=lambda name: "bang file" in name), 6))
def test_no_byte_is_left_of_what_only_one_person_had(tmp_path, name):
    """Id, pseudonym, quasi values: in the database, its log, the layout of a method, copies of releases, anywhere."""
    guarantee, method, needed = GUARANTEES[name]
    own = series(tmp_path, guarantee, method=method)
    frame = with_hermit().with_columns(
        pid=pl.when(pl.col("pid") == 5).then(pl.lit(NAMED)).otherwise(pl.format("p{}", "pid")),
        age=pl.when(pl.col("pid") == 5).then(NUMBER).otherwise("age"),
    )
    own.publish_to(tmp_path / "out.csv", frame)
    number = pseudonym(own, NAMED)
    values = (TOWN, str(NUMBER), NAMED)
    assert in_bytes(own.vault, *values, *number) == [TOWN, str(NUMBER), *number], "the id is in no file of the vault"
    assert own.forget(NAMED, tombstone=needed)
    assert in_bytes(own.vault, *values, NUMBER, *number) == (list(number) if needed else [])
    # The others go on as if nothing had happened.
    assert own.publish(frame.filter(pl.col("pid") != NAMED)).manifest["release"] == 2
    assert in_bytes(own.vault, *values) == []


def test_a_value_that_was_never_published_goes(tmp_path):
    """Published ones stay in the list of values, without a person: else the set of possible values would shrink."""
    own = series(tmp_path, rv.Refinement(k=4))
    own.publish(snapshot(0, 6))
    since = "what p0 has had since, and nobody else"
    second = own.publish(pl.concat([snapshot(0, 1, p0=since), snapshot(100, 110)]))
    assert second.manifest["withheld"] == 1
    assert in_bytes(own.vault, since) == [since]
    assert own.forget(0, tombstone=True)
    assert in_bytes(own.vault, since) == []


@pytest.mark.parametrize("tombstone", mostly_slow([False, True]))
@pytest.mark.parametrize("name", ["static", "m-invariance", "tau-safety", "refinement", "global"])
def test_an_erasure_changes_no_spelling_that_was_published(tmp_path, name, tombstone):
    """``Gout`` that becomes ``gout`` would say that its holder was erased."""
    guarantee, method, needed = GUARANTEES[name]
    own = series(tmp_path, guarantee, method=method)
    spelt = "What Only P0 Has"
    first = own.publish(snapshot(0, 40, p0=spelt))
    assert spelt in first.values["disease"].to_list()
    own.forget(0, tombstone=tombstone or needed)
    later = own.publish(pl.concat([snapshot(1, 40), snapshot(100, 140, p100=spelt.lower())]))
    told = [text for text in later.values["disease"].to_list() if text is not None and text.lower() == spelt.lower()]
    assert set(told) == {spelt}


def test_a_value_that_a_static_release_left_out_goes(tmp_path):
    schema = rv.Schema(person="pid", quasi="age", sensitive="s")
    own = rv.Series.open(tmp_path / "v", schema, rv.Static(k=2, suppress=0.2))
    rare = "what only the one who was left out has"
    ages = [1, 1, 2, 2, 3, 3, 4, 4, 900]
    published = own.publish(pl.DataFrame({"pid": range(9), "age": ages, "s": [*"abababab", rare]}))
    assert rare not in published.values["s"].to_list()
    assert in_bytes(own.vault, rare) == [rare]
    assert own.forget(8)
    assert in_bytes(own.vault, rare) == []


def test_a_tombstone_of_a_cohort_has_no_value(tmp_path):
    """Of who shared a group with a permanent value, the group is kept; it rests for good, whatever anybody has."""
    guarantee = rv.GlobalGuarantee(l=2, strategy=rv.ConstantRatio(releases=3), permanent=("gout",))
    own = series(tmp_path, guarantee)
    own.publish(snapshot())

    def cohorts():
        with own._opened() as vault:
            return dict(vault.store.connection.execute("SELECT person, value FROM ledger_cohorts").fetchall())

    def person(number):
        with own._opened() as vault:
            high, low = vault.key.pseudonyms(pl.Series([str(number)]))
            return int(vault.recall(high, low).person[0])

    band = cohorts()
    member = next(number for number in range(40) if person(number) in band)
    assert own.forget(member, tombstone=True)
    assert cohorts() == {**band, person(member): -1}
    assert not own.forget(member, tombstone=True)
    back = own.publish(snapshot(0, 180))
    assert member not in own.placements(2, snapshot())["person"].to_list()
    assert back.manifest["withheld"] >= 2
    assert cohorts()[person(member)] == -1


def test_unknown_persons_and_what_is_no_person(tmp_path):
    own = series(tmp_path)
    own.publish(snapshot())
    before = contents(own.vault)
    assert not own.forget(777)
    assert not own.forget("007x")
    for wrong in (None, [5], {"pid": 5}, object(), b"5", True):
        with pytest.raises(DataError, match="identity"):
            own.forget(wrong)
    assert contents(own.vault) == before
    assert own.forget(5.0), "as a table of floats would have it"


def test_the_last_release_can_be_had_again_where_it_was_written(tmp_path):
    own = series(tmp_path)
    own.publish_to(tmp_path / "r1.csv", with_hermit())
    bytes_ = (tmp_path / "r1.csv").read_bytes()
    own.forget(5)
    done = own.publish_to(tmp_path / "again.csv", with_hermit())
    assert done.how == "already"
    assert (tmp_path / "again.csv").read_bytes() == bytes_
    assert in_bytes(own.vault, TOWN) == []
    (tmp_path / "r1.csv").unlink()
    with pytest.raises(rv.VaultError, match="no copy") as caught:
        own.publish(with_hermit())
    assert "--again" in caught.value.hint
    assert own.publish(with_hermit(), again=True).manifest["release"] == 2
    assert own.history()[1]["inserted"] == 1


def test_persons_with_other_identities(tmp_path):
    own = series(tmp_path)
    names = pl.Series([f"Ada {n}" if n % 2 else f"Zoë {n}" for n in range(40)])
    own.publish(snapshot().with_columns(pid=names))
    assert own.forget("Zoe\u0308 4"), "however the letters are composed"
    assert own.forget("Ada 5")
    assert not own.forget("Ada 5")
    days = rv.Series.open(tmp_path / "days", own.schema, own.guarantee)
    days.publish(snapshot().with_columns(pid=pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 2, 9), eager=True)))
    assert days.forget("2020-01-05")


def test_forgetting_in_a_series_of_static_releases(tmp_path):
    own = series(tmp_path, rv.Static(k=3))
    own.publish(with_hermit())
    number = pseudonym(own, 5)
    assert own.forget(5)
    assert in_bytes(own.vault, TOWN, *number) == []


def test_on_the_command_line(tmp_path):
    path = config(tmp_path)
    raw = tmp_path / "raw.csv"
    with_hermit().write_csv(raw)
    done = command("forget", "5", "-c", path)
    assert done.returncode == 2
    assert "no vault" in done.stderr
    assert not (tmp_path / "ward.vault").exists()
    own = rv.Series.load(path)
    own.publish(raw)
    unknown = command("forget", "777", "-c", path)
    assert unknown.returncode == 0
    assert "warning" in unknown.stderr
    assert "Check the id" in unknown.stderr
    done = command("forget", "5", "-c", path)
    assert done.returncode == 0
    assert "forgotten" in done.stderr
    assert in_bytes(own.vault, TOWN) == []
    assert command("forget", "5", "-c", path) == unknown, "nobody can tell who was erased from who never was there"
    done = command("forget", "6", "-c", path, "--tombstone")
    assert done.returncode == 0
    assert "tombstone" in done.stderr
    before = contents(own.vault)
    assert command("forget", "6", "-c", path, "--tombstone") == unknown
    assert contents(own.vault) == before
    assert len(tables(own.vault)["persons"]) == 39
    own.publish(written(tmp_path, "next.csv", 6, 50))
    assert own.history()[1]["returned"] == 1
