"""The vault in a folder: what goes in comes out, and what is wrong is said."""

import os
import stat
import tempfile
import threading
from dataclasses import asdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reveil.core.errors import BusyError, PendingError, RefusedError, VaultError
from reveil.series.signatures import SIGNATURES, TOLD_SIGNATURES
from reveil.vault import Vault
from reveil.vault.protocol import Entries
from tests.vault.cases import (
    by_hand,
    change,
    change_of,
    last_records,
    opened,
    pseudonym,
    publish,
    signatures_of,
    told_of,
)

FIRST = {
    "p1": {"age": "21", "disease": "cataract"},
    "p2": {"age": "22", "disease": "pneumonia"},
    "p3": {"age": None, "disease": "flu"},
}
GROUPS = {"p1": ("cataract", "pneumonia"), "p2": ("cataract", "pneumonia"), "p3": ("flu", "glaucoma")}


@pytest.fixture(autouse=True)
def _no_key_from_outside(monkeypatch):
    monkeypatch.delenv("REVEIL_KEY", raising=False)


@pytest.fixture
def vault(tmp_path):
    with Vault.open(tmp_path / "hospital.vault") as opened:
        yield opened


def bare(release, **more):
    return change(**{"release": release, "state": "pending", "created": "c", "snapshot": "s", "request": {}, **more})


def test_a_new_vault_is_empty(vault):
    assert vault.head() == 0
    assert len(vault.series_id) == 16
    assert vault.releases() == []
    assert vault.attributes() == {}
    assert isinstance(vault.setting("seed"), int)
    assert vault.setting("config") is None
    known = vault.recall(np.array([1, 2]), np.array([3, 4]))
    assert known.person.tolist() == [-1, -1]
    assert known.present.tolist() == [False, False]
    assert (known.last, len(known.gone)) == ({}, 0)
    assert vault.lookup("age", pl.Series(["1", None])).tolist() == [-1, -1]
    assert vault.values("age").schema == {"code": pl.Int32, "value": pl.String}
    assert vault.next_code("age") == 0
    assert vault.ledger(TOLD_SIGNATURES).schema == {"person": pl.Int32, "signature": pl.Int32}
    assert vault.ledger(SIGNATURES).schema == {"signature": pl.Int32, "code": pl.Int32}
    assert not vault.has_archive(1)
    assert len(vault.placements(1, np.array([1]), np.array([3]))) == 0


def test_a_release_is_remembered(vault):
    publish(vault, FIRST, GROUPS, facts={"rows": 3}, settings={"config": {"m": 2}}, digest="sha256:1", manifest="{}")
    assert vault.head() == 1
    assert vault.setting("config") == {"m": 2}
    assert vault.attributes() == {"age": "text", "disease": "text"}
    assert last_records(vault, ["p1", "p2", "p3", "p4"]) == FIRST
    assert signatures_of(vault, ["p1", "p2", "p3", "p4"]) == {
        **{person: {frozenset(group)} for person, group in GROUPS.items()},
        "p4": set(),
    }
    assert asdict(vault.releases()[0]) == {
        "release": 1,
        "state": "confirmed",
        "created": "2024-01-01T00:00:00Z",
        "snapshot": "sha256:0",
        "request": {"columns": ["age", "disease"]},
        "path": None,
        "digest": "sha256:1",
        "manifest": "{}",
        "manifest_digest": None,
        "facts": {"rows": 3},
    }


def test_what_was_told_lasts_beyond_closing(vault):
    publish(vault, FIRST, GROUPS)
    vault.close()
    vault.close()
    with opened(vault.folder) as again:
        assert again.series_id == vault.series_id
        assert again.key.check() == vault.key.check()
        assert last_records(again, list(FIRST)) == FIRST
    with pytest.raises(ValueError, match="closed"):
        vault.head()


def test_events_between_releases(vault):
    publish(vault, FIRST, GROUPS)
    second = {"p2": {"age": "23", "disease": "diarrhea"}, "p4": {"age": "21", "disease": "flu"}, "p3": FIRST["p3"]}
    publish(vault, second, {"p2": ("diarrhea", "gastritis"), "p4": GROUPS["p3"], "p3": GROUPS["p3"]})
    high, low = vault.key.pseudonyms(pl.Series(["p1", "p9", "p4"]))
    known = vault.recall(high, low)
    assert known.person.tolist() == [0, -1, 3]
    assert known.present.tolist() == [False, False, True]
    assert known.gone.tolist() == [1, 2]
    assert last_records(vault, ["p1", "p2", "p3", "p4"]) == {"p1": FIRST["p1"], **second}
    assert signatures_of(vault, ["p2", "p3"]) == {
        "p2": {frozenset(GROUPS["p2"]), frozenset(("diarrhea", "gastritis"))},
        "p3": {frozenset(GROUPS["p3"])},
    }
    publish(vault, {"p1": FIRST["p1"]})
    assert vault.recall(high, low).present.tolist() == [True, False, False]


def test_new_columns_and_left_out_columns(vault):
    publish(vault, FIRST)
    publish(vault, {"p1": {"age": "21", "ward": "B"}, "p5": {"age": "50", "ward": None}})
    assert list(vault.attributes()) == ["age", "disease", "ward"]
    assert last_records(vault, ["p1", "p2", "p5"]) == {
        "p1": {**FIRST["p1"], "ward": "B"},
        "p2": FIRST["p2"],
        "p5": {"age": "50", "ward": None},
    }


def test_the_type_of_a_column_is_fixed_by_the_first_release(vault):
    publish(vault, FIRST)
    with pytest.raises(VaultError, match="'age' was text") as caught:
        publish(vault, FIRST, types={"age": "number"})
    assert caught.value.column == "age"
    assert vault.head() == 1


def test_codes_and_missing_values(vault):
    publish(vault, FIRST)
    assert vault.values("age").rows() == [(0, "21"), (1, "22"), (2, None)]
    assert vault.lookup("age", pl.Series([None, "22", "x", None, "21"])).tolist() == [2, 1, -1, 2, 0]
    assert vault.lookup("age", pl.Series([], dtype=pl.String)).tolist() == []
    assert vault.next_code("age") == 3


def test_signatures_by_members_and_by_number(vault):
    publish(vault, FIRST, GROUPS)
    assert sorted(vault.ledger(SIGNATURES).rows()) == [(0, 0), (0, 1), (1, 2), (1, 3)]
    assert sorted(vault.ledger(SIGNATURES, "signature", np.array([1, 1, 7])).rows()) == [(1, 2), (1, 3)]
    publish(vault, FIRST, {"p1": ("flu", "pneumonia"), "p2": GROUPS["p2"]})
    assert sorted(vault.ledger(SIGNATURES, "signature", np.array([2])).rows()) == [(2, 1), (2, 2)]
    assert told_of(vault, list(FIRST)) == [(0, 0), (0, 2), (1, 0), (2, 1)]


def test_what_is_told_may_take_the_place_of_all_before(vault):
    publish(vault, FIRST, GROUPS)
    publish(vault, FIRST, {"p1": GROUPS["p3"]}, replaces=True)
    assert told_of(vault, list(FIRST)) == [(0, 1), (1, 0), (2, 1)]


def test_telling_the_same_again_adds_nothing(vault):
    publish(vault, FIRST, GROUPS)
    publish(vault, FIRST, GROUPS)
    assert told_of(vault, list(FIRST)) == [(0, 0), (1, 0), (2, 1)]


def test_placements_are_for_those_who_were_there(vault):
    publish(vault, FIRST)
    publish(vault, {"p4": FIRST["p1"], "p1": FIRST["p1"]}, archive=False)
    publish(vault, {"p4": FIRST["p1"], "p1": FIRST["p1"]})
    high, low = vault.key.pseudonyms(pl.Series(["p4", "p3", "p1"]))
    assert vault.placements(1, high, low).rows() == [(1, 10, 1), (2, 12, 0)]
    assert vault.placements(3, high, low).rows() == [(0, 11, 0), (2, 10, 0)]
    assert [vault.has_archive(n) for n in (1, 2, 3)] == [True, False, True]


def test_a_series_without_persons(vault):
    vault.prepare(bare(1))
    vault.confirm(1, path="out.csv")
    vault.prepare(bare(2, state="adopted"))
    assert [(row.release, row.state, row.path) for row in vault.releases()] == [
        (1, "confirmed", "out.csv"),
        (2, "adopted", None),
    ]


def test_pending_releases_are_settled_first(vault):
    vault.prepare(bare(1, facts={"a": 1}))
    with pytest.raises(PendingError, match="release 1 is pending") as caught:
        vault.prepare(bare(2))
    assert caught.value.exit_code == 1
    with pytest.raises(PendingError):
        vault.forget(1, 2)
    vault.abandon(1)
    assert vault.releases()[0].state == "abandoned"
    assert vault.releases()[0].facts == {"a": 1}
    for settle in (vault.confirm, vault.abandon):
        for release in (1, 2):
            with pytest.raises(RefusedError, match="not pending"):
                settle(release)
    vault.prepare(bare(2))
    vault.confirm(2, facts={"b": 2})
    assert vault.releases()[1].facts == {"b": 2}
    assert vault.head() == 2


@pytest.mark.parametrize("release", [1, 3])
def test_only_the_next_release_can_be_prepared(vault, release):
    vault.prepare(bare(1, state="adopted"))
    with pytest.raises(BusyError, match="another publisher was first"):
        vault.prepare(bare(release))
    assert vault.head() == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"state": "confirmed"},
        {"person": np.zeros(1, np.int32)},
        {"codes": {"age": np.full(3, 99, np.int32), "disease": np.zeros(3, np.int32)}},
        {"dictionary": {"age": pl.Series(["a", "a"])}},
        {"entries": (Entries(SIGNATURES, pl.DataFrame({"signature": [7, 7], "code": [1, 1]})),)},
        {"settings": {"signed": None}},
        {"settings": {"head": 7}},
        {"high": np.zeros(3, np.int64), "low": np.zeros(3, np.int64)},
    ],
)
def test_a_change_that_cannot_be_leaves_nothing_behind(vault, wrong):
    good = change_of(vault, FIRST, GROUPS)
    bad = change_of(vault, FIRST, GROUPS, **wrong)
    with pytest.raises(ValueError, match=r".") as caught:
        vault.prepare(bad)
    assert "cataract" not in str(caught.value)
    assert vault.head() == 0
    assert vault.attributes() == {}
    vault.prepare(good)
    assert last_records(vault, list(FIRST)) == FIRST


def test_settings_of_the_caller_and_of_the_vault(vault):
    vault.keep_setting("config", {"b": [1, None, "é"], "a": 0.5})
    vault.keep_setting("config", {"a": 1})
    vault.keep_setting("seed", 7)
    assert vault.setting("config") == {"a": 1}
    assert vault.setting("seed") == 7
    for name in ("head", "series_id", "key_check", "next_person"):
        with pytest.raises(ValueError, match="own"):
            vault.keep_setting(name, 1)


def modes(folder):
    return {
        stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
        for path in [folder, *folder.rglob("*")]
    }


def test_nobody_else_can_read_it(tmp_path):
    before = os.umask(0o022)
    try:
        with opened(tmp_path / "v") as vault:
            assert modes(vault.folder) == {True}
            publish(vault, FIRST, GROUPS)
            assert not (vault.folder / "vault.duckdb.wal").exists(), "a change of state is folded in at once"
            vault.keep_setting("note", "while it is being written")
            assert (vault.folder / "vault.duckdb.wal").exists()
            assert modes(vault.folder) == {True}
            (vault.folder / "releases" / "1.csv").write_text("x")
        assert modes(vault.folder) == {True}
        for path in [*vault.folder.rglob("*"), vault.folder]:
            path.chmod(0o755)
        opened(vault.folder).close()
        assert modes(vault.folder) == {True}
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)


def test_what_is_not_a_vault_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("x")
    (tmp_path / "empty").mkdir()
    for name in ("file", "full", "nowhere/deep"):
        with pytest.raises(VaultError) as caught:
            opened(tmp_path / name)
        assert caught.value.hint
    for name in ("empty", "absent"):
        with pytest.raises(VaultError, match="no vault"):
            Vault.open(tmp_path / name, create=False)
    assert not (tmp_path / "absent").exists()
    assert (tmp_path / "full" / "thesis.txt").stat().st_mode & 0o044
    opened(tmp_path / "empty").close()


def test_a_lost_database_is_not_replaced_by_an_empty_one(vault):
    vault.close()
    (vault.folder / "vault.duckdb").unlink()
    with pytest.raises(VaultError, match="not a vault") as caught:
        opened(vault.folder)
    assert "backup" in caught.value.hint


def test_a_foreign_and_a_missing_key_are_refused(vault, monkeypatch):
    publish(vault, FIRST)
    vault.close()
    own = (vault.folder / "key").read_text()
    (vault.folder / "key").write_text("0" * 64)
    with pytest.raises(VaultError, match="does not belong") as caught:
        opened(vault.folder)
    assert "REVEIL_KEY" in caught.value.hint
    assert caught.value.file == str(vault.folder)
    (vault.folder / "key").unlink()
    with pytest.raises(VaultError, match="missing"):
        opened(vault.folder)
    assert not (vault.folder / "key").exists()
    monkeypatch.setenv("REVEIL_KEY", own.strip())
    with opened(vault.folder) as again:
        assert last_records(again, list(FIRST)) == FIRST
    assert not (vault.folder / "key").exists()


def test_a_newer_vault_and_a_foreign_database_are_refused(vault):
    vault.close()
    by_hand(vault.folder, "UPDATE migrations SET version = 99")
    with pytest.raises(VaultError, match="format 99") as caught:
        opened(vault.folder)
    assert caught.value.file == str(vault.folder)
    by_hand(vault.folder, "DROP TABLE migrations")
    with pytest.raises(VaultError, match="not a vault"):
        opened(vault.folder)


@pytest.mark.parametrize("damage", ["garbage", "cut", "empty header"])
def test_a_damaged_database_is_refused(vault, damage):
    publish(vault, FIRST)
    vault.close()
    path = vault.folder / "vault.duckdb"
    content = path.read_bytes()
    damaged = {
        "garbage": b"cataract" * 5000,
        "cut": content[:9000],
        "empty header": content[:4096] + bytes(8192) + content[12288:],
    }
    path.write_bytes(damaged[damage])
    with pytest.raises(VaultError, match="cannot be read") as caught:
        opened(vault.folder)
    assert "backup" in caught.value.hint
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_vault_killed_while_it_was_made_is_made_on(vault):
    vault.close()
    by_hand(vault.folder, "DELETE FROM settings", "DELETE FROM seals", sealed=False)
    (vault.folder / "key").unlink()
    with opened(vault.folder) as again:
        publish(again, FIRST)


def test_a_path_with_quotes(tmp_path):
    with opened(tmp_path / 'it\'s a "vault"') as vault:
        publish(vault, FIRST)
        assert vault.forget(*pseudonym(vault, "p1"))
        assert vault.head() == 1


def test_nothing_outside_the_folder_can_be_reached(vault, tmp_path):
    (tmp_path / "secret.csv").write_text("a\n1\n")
    connection = vault.store.connection
    for sql in (f"FROM '{tmp_path}/secret.csv'", f"COPY releases TO '{tmp_path}/out.csv'", "INSTALL httpfs"):
        with pytest.raises(Exception, match=r"(?i)disabled|does not exist|permission"):
            connection.execute(sql)


def test_of_two_threads_one_is_first(tmp_path):
    folder = tmp_path / "v"
    with opened(folder) as one, opened(folder) as two:
        for release in range(1, 6):
            barrier, outcomes = threading.Barrier(2), []

            def run(vault, release=release, barrier=barrier, outcomes=outcomes):
                change = change_of(vault, FIRST, GROUPS, release=release, state="adopted")
                barrier.wait()
                try:
                    vault.prepare(change)
                    outcomes.append("first")
                except BusyError:
                    outcomes.append("refused")

            threads = [threading.Thread(target=run, args=(vault,)) for vault in (one, two)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert sorted(outcomes) == ["first", "refused"]
            assert one.head() == two.head() == release
        assert len(one.releases()) == 5
        assert last_records(two, list(FIRST)) == FIRST
        with pytest.raises(BusyError):
            one.forget(*pseudonym(one, "p1"))


TABLES = st.lists(
    st.dictionaries(
        st.sampled_from([f"p{n}" for n in range(6)]),
        st.fixed_dictionaries({"age": st.sampled_from(["1", "2", None]), "disease": st.sampled_from("abcd")}),
        min_size=1,
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=15, deadline=None)
@given(tables=TABLES)
def test_the_vault_agrees_with_a_dictionary(tables):
    everybody = [f"p{n}" for n in range(7)]
    last, told = {}, {person: set() for person in everybody}
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder) / "v") as vault:
        high, low = vault.key.pseudonyms(pl.Series(everybody))
        number = {}
        for table in tables:
            groups = {person: (row["disease"], "e") for person, row in table.items()}
            publish(vault, table, groups)
            last.update(table)
            for person, group in groups.items():
                told[person].add(frozenset(group))
                number.setdefault(person, len(number))
            known = vault.recall(high, low)
            assert known.person.tolist() == [number.get(person, -1) for person in everybody]
            assert known.present.tolist() == [person in table for person in everybody]
            assert vault.recall(high[:0], low[:0]).gone.tolist() == sorted(number[person] for person in table)
            assert last_records(vault, everybody) == last
            assert signatures_of(vault, everybody) == told
