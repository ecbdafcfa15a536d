"""Vaults of sealed pieces in a folder (on a server: test_postgresql.py); copies and new keys of all stores."""

import errno
import os
import shutil
import sqlite3
import struct
from unittest import mock

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import BusyError, ConfigError, RefusedError, VaultError
from reveil.testing import check_vault, hospital
from reveil.vault import Vault
from reveil.vault.address import Address, anchor_beside, folders_of, is_begun, place_of
from reveil.vault.copying import copy_vault
from reveil.vault.sealed import relations
from reveil.vault.sealed.bucket_keys import BUCKETS, COMMONS, BucketKeys
from reveil.vault.sealed.cipher import PAGE, DamagedPieceError, opened, sealed
from reveil.vault.sealed.file_shelf import DATABASE, SealedFolder
from tests.vault.cases import change_of, pseudonym

SECRET = "a disease that nobody else has"  # noqa: S105 -- a value that must not be shown
ROWS = {"p1": {"job": "nurse", "disease": SECRET}, "p2": {"job": "smith", "disease": "flu"}}
TOLD = {"p1": [SECRET, "flu"], "p2": [SECRET, "flu"]}


@pytest.fixture(autouse=True)
def _no_key_from_outside(monkeypatch):
    monkeypatch.delenv("REVEIL_KEY", raising=False)
    monkeypatch.delenv("REVEIL_NEW_KEY", raising=False)


def opened_at(folder, **more):
    return Vault.open(place_of(folder, sealed=True, **more))


def publish(vault, rows=ROWS, told=TOLD):
    change = change_of(vault, rows, told)
    vault.prepare(change)
    vault.confirm(change.row.release)


@pytest.mark.slow
def test_a_sealed_folder_keeps_the_contract():
    check_vault(lambda folder: SealedFolder.open(f"sealed://{folder}", create=True), examples=3)


def test_a_piece_opens_under_its_key_at_its_place_only():
    key, other = bytes(32), bytes([1] * 32)
    piece = sealed(key, b"x" * 10_000, b"here")
    assert len(piece) % PAGE == 0
    assert opened(key, piece, b"here") == b"x" * 10_000
    for wrong in ((other, piece, b"here"), (key, piece, b"there"), (key, piece[:-1], b"here"), (key, b"", b"here")):
        with pytest.raises(DamagedPieceError):
            opened(*wrong)
    assert len(sealed(key, os.urandom(100), b"")) == len(sealed(key, os.urandom(3_000), b"")) == PAGE


def test_rows_come_back_from_bytes():
    frame = pl.DataFrame({"person": [1, None], "value": ["é", None], "real": [0.5, None], "present": [True, None]})
    empty = pl.DataFrame(schema={"person": pl.Int32})
    back = relations.unpacked(relations.packed({"a": frame, "é": empty}))
    assert list(back) == ["a", "é"]
    assert back["a"].equals(frame)
    assert back["é"].schema == empty.schema


def test_numbers_come_back_from_bytes():
    one = {"person": np.array([1, 2], np.int32), "a0": np.array([7, 0], np.int32), "a0\0there": np.array([True, False])}
    two = {"person": np.array([3], np.int32), "a0": np.array([9], np.int32)}
    pieces = [{"persons": one, "ledger_x": {"person": np.array([], np.int32)}}, {"persons": two}]
    found = dict(relations.Reader(map(relations.packed_numbers, pieces)).tables())
    assert found["persons"].to_dict(as_series=False) == {"person": [1, 2, 3], "a0": [7, None, 9]}
    assert found["ledger_x"].height == 0


def test_nothing_is_in_the_folder_but_sealed_bytes(tmp_path):
    with opened_at(tmp_path / "v") as vault:
        publish(vault)
        numbers = pseudonym(vault, "p1")
        key = vault.key.hex()
    content = b"".join(path.read_bytes() for path in (tmp_path / "v").rglob("*") if path.is_file())
    words = [SECRET, "nurse", "disease", "flu", key]
    words = [text.encode() for text in words] + [struct.pack("<q", number) for number in numbers]
    assert [text for text in words if text in content] == []
    assert b"confirmed" in content  # the history is in clear
    assert {path.name for path in (tmp_path / "v").iterdir()} == {DATABASE, "lock"}
    for path in [tmp_path / "v.key", tmp_path / "v.keys"]:
        assert path.stat().st_mode & 0o777 == 0o600


def test_after_an_erasure_old_pieces_do_not_open_with_the_keys_of_today(tmp_path):
    with opened_at(tmp_path / "v") as vault:
        publish(vault)
        bucket = pseudonym(vault, "p1")[0] & (BUCKETS - 1)
        before = {(piece.bucket, piece.release): piece for n in (0, 1) for piece in vault.store.shelf.fetch(n)}
    with opened_at(tmp_path / "v") as vault:
        store = vault.store
        assert SECRET.encode() in store._pieces.opened(before[COMMONS, 0])
        store._pieces.opened(before[bucket, 0])
        assert vault.forget(*pseudonym(vault, "p1"))
    with opened_at(tmp_path / "v") as vault:
        for place in [(COMMONS, 0), (bucket, 0), (bucket, 1)]:
            with pytest.raises(VaultError, match="not what was written"):
                vault.store._pieces.opened(before[place])
        publish(vault, {"p2": ROWS["p2"]}, {"p2": [SECRET, "flu"]})
        vault.store.check()


def altered(folder, sql, *parameters):
    database = sqlite3.connect(folder / DATABASE)
    with database:
        database.execute(sql, parameters)
    database.close()


DAMAGE = {
    "cut": "UPDATE pieces SET body = substr(body, 1, 4000) WHERE bucket >= 0",
    "zeros": "UPDATE pieces SET body = zeroblob(4096) WHERE bucket >= 0",
    "taken away": "DELETE FROM pieces WHERE release = 0 AND bucket >= 0",
    "moved": "UPDATE pieces SET bucket = bucket + 1 WHERE release = 0 AND bucket >= 0",
    "commons": "DELETE FROM pieces WHERE bucket = -1",
    "an older key": "UPDATE pieces SET key = key + 1 WHERE bucket >= 0",
}


@pytest.mark.parametrize("sql", DAMAGE.values(), ids=DAMAGE)
def test_damage_is_refused(tmp_path, sql):
    with opened_at(tmp_path / "v") as vault:
        publish(vault, {"p1": ROWS["p1"]}, {"p1": [SECRET, "flu"]})
    altered(tmp_path / "v", sql)
    with pytest.raises(VaultError, match="not what was written") as caught:
        opened_at(tmp_path / "v")
    assert caught.value.hint
    assert SECRET not in str(caught.value)


def test_a_piece_of_an_older_commit_is_refused(tmp_path):
    with opened_at(tmp_path / "v") as vault:
        publish(vault)
        state = {piece.bucket: piece for piece in vault.store.shelf.fetch(0)}
        publish(vault, {"p1": {"job": "smith", "disease": "flu"}, "p2": ROWS["p2"]})
        bucket = pseudonym(vault, "p1")[0] & (BUCKETS - 1)
    old = state[bucket]
    altered(
        tmp_path / "v",
        "UPDATE pieces SET body = ?, version = ? WHERE bucket = ? AND release = 0",
        old.body,
        old.version,
        bucket,
    )
    with pytest.raises(VaultError, match="the state in this vault is not what was written"):
        opened_at(tmp_path / "v")


def test_placements_that_were_changed_are_refused_when_they_are_read(tmp_path):
    with opened_at(tmp_path / "v") as vault:
        publish(vault)
    altered(tmp_path / "v", "DELETE FROM pieces WHERE release = 1")
    with opened_at(tmp_path / "v") as vault, pytest.raises(VaultError, match="placements of release 1"):
        vault.archived(1)


def test_keys_that_are_not_there_or_of_another_vault_are_refused(tmp_path):
    for name in ("v", "w"):
        with opened_at(tmp_path / name) as vault:
            publish(vault)
    kept = (tmp_path / "v.keys").read_bytes()
    (tmp_path / "v.keys").unlink()
    with pytest.raises(VaultError, match="keys of this vault's buckets are missing"):
        opened_at(tmp_path / "v")
    (tmp_path / "v.keys").write_bytes((tmp_path / "w.keys").read_bytes())
    with pytest.raises(VaultError, match="belong to another master key"):
        opened_at(tmp_path / "v")
    for content in (b"", b"text", kept[:-1]):
        (tmp_path / "v.keys").write_bytes(content)
        with pytest.raises(VaultError, match=r"no file of bucket keys|damaged"):
            opened_at(tmp_path / "v")
    (tmp_path / "v.keys").write_bytes(kept)
    shutil.copy(tmp_path / "w.key", tmp_path / "v.key")
    with pytest.raises(VaultError, match="this key does not belong to this vault"):
        opened_at(tmp_path / "v")


def test_a_command_may_print_the_key(tmp_path):
    (tmp_path / "secret").write_text("ab" * 32)
    command = f"cat '{tmp_path / 'secret'}'"
    with opened_at(tmp_path / "v", key_command=command) as vault:
        assert vault.key.hex() == "ab" * 32
    assert not (tmp_path / "v.key").exists()
    for broken in ("false", "echo no key", "/no/such/program"):
        with pytest.raises(VaultError, match="key_command") as caught:
            opened_at(tmp_path / "v", key_command=broken)
        assert "no key" not in str(caught.value.hint)


def test_one_process_and_one_thread_at_a_time(tmp_path):
    with opened_at(tmp_path / "v"), pytest.raises(BusyError, match="another publisher"):
        opened_at(tmp_path / "v")


def test_a_folder_that_is_no_sealed_vault_is_refused(tmp_path):
    Vault.open(tmp_path / "plain").close()
    with pytest.raises(VaultError, match="is not sealed"):
        opened_at(tmp_path / "plain")
    with pytest.raises(VaultError, match="there is no vault here"):
        Vault.open(place_of(tmp_path / "none", sealed=True), create=False)


def test_where_files_lie(tmp_path):
    place = place_of("hospital.vault", tmp_path, sealed=True)
    assert anchor_beside(place) == tmp_path / "hospital.anchor"
    assert folders_of(place) == (tmp_path / "hospital.drafts", tmp_path / "hospital.vault")
    server = place_of("postgresql://me@host/db?schema=hospital", tmp_path)
    assert anchor_beside(server) == tmp_path / "hospital.anchor"
    assert folders_of(server) == (tmp_path / "hospital.drafts",)
    assert isinstance(server, Address)
    assert str(server) == "postgresql://host/db"
    assert server.name == "hospital"


@pytest.mark.parametrize(
    ("vault", "more", "match"),
    [
        ("postgresql://me:word@host/db", {}, "password"),
        ("postgresql://me@host/db", {"sealed": True}, "sealed = true is for a vault in a folder"),
        ("hospital.vault", {"keys": "k"}, "keys is for vaults of sealed pieces"),
        ("hospital.vault", {"key_command": "k"}, "key_command is for vaults of sealed pieces"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(vault, more, match):
    with pytest.raises(ConfigError, match=match) as caught:
        place_of(vault, **more)
    assert caught.value.hint
    assert "word@" not in str(caught.value)


def test_published_bytes_do_not_depend_on_the_store(tmp_path, monkeypatch):
    monkeypatch.setenv("REVEIL_KEY", "17" * 32)
    months = list(hospital.year(60, months=3, seed=1))
    tables = []
    for more in ({}, {"sealed": True}):
        series = rv.Series.open(tmp_path / f"{len(tables)}.vault", hospital.schema(), rv.TauSafety(m=2), seed=5, **more)
        tables.append([series.publish(month).table for month in months])
        assert len(series.placements(2, months[0])) > 0
    assert all(one.equals(two) for one, two in zip(*tables, strict=True))


@pytest.mark.parametrize(("first", "second"), [({}, {"sealed": True}), ({"sealed": True}, {})])
def test_a_series_goes_on_in_a_copy(tmp_path, first, second):
    months = list(hospital.year(60, months=3, seed=1))
    schema, guarantee = hospital.schema(), rv.TauSafety(m=2)
    start, end = place_of(tmp_path / "a.vault", **first), place_of(tmp_path / "b.vault", **second)
    series = rv.Series.open(tmp_path / "a.vault", schema, guarantee, **first)
    series.publish(months[0])
    assert copy_vault(start, place_of(tmp_path / "c.vault", **second), backup=True) == 1
    series.publish(months[1])
    assert copy_vault(start, end) == 2
    with pytest.raises(RefusedError, match="the series goes on there"):
        series.publish(months[2])
    with pytest.raises(RefusedError, match="there is a vault already"):
        copy_vault(start, end)
    moved = rv.Series.open(tmp_path / "b.vault", schema, guarantee, anchor=tmp_path / "a.anchor", **second)
    assert len(moved.placements(1, months[0])) == 60
    assert moved.publish(months[2]).manifest["release"] == 3
    with pytest.raises(RefusedError, match="the series goes on there"):
        copy_vault(start, place_of(tmp_path / "d.vault"))


def test_a_copy_that_fails_spoils_no_other_vault(tmp_path, monkeypatch):
    start, end = tmp_path / "a.vault", place_of(tmp_path / "b.vault", sealed=True)
    with Vault.open(start) as vault:
        publish(vault)
    full = OSError(errno.ENOSPC, "No space left on device")
    spoilt = mock.patch("reveil.vault.copying._copy_releases", side_effect=full)
    with spoilt, pytest.raises(VaultError, match="no room left on the disk"):
        copy_vault(start, end)
    assert not is_begun(end)  # nothing is left of the attempt
    with Vault.open(end) as vault:
        publish(vault)
    monkeypatch.setattr("reveil.vault.sealed.file_shelf.SealedFolder.exists", lambda _: False)  # somebody was faster
    with pytest.raises(VaultError):
        copy_vault(start, end)
    with Vault.open(end) as vault:  # as it was
        assert vault.head() == 1
    with Vault.open(start) as vault:
        publish(vault)


@pytest.mark.parametrize("more", [{}, {"sealed": True}], ids=["folder", "sealed"])
def test_another_key(tmp_path, more):
    months = list(hospital.year(60, months=3, seed=1))
    series = rv.Series.open(tmp_path / "v.vault", hospital.schema(), rv.TauSafety(m=2), **more)
    series.publish(months[0])
    place = place_of(tmp_path / "v.vault", **more)
    file = tmp_path / ("v.key" if more else "v.vault/key")
    old = file.read_text()
    with Vault.open(place) as vault:
        person = str(months[0]["pid"][0])
        before = pseudonym(vault, person)
    series.rotate_key()
    series.rotate_key()
    assert file.read_text() != old
    with Vault.open(place) as vault:
        assert pseudonym(vault, person) != before
        assert len(vault.key.older) == 2
    assert len(series.placements(1, months[0])) == 60  # everybody is found again
    changes = [row["inserted"] for row in series.history()]
    series.publish(months[1])
    assert series.history()[1]["inserted"] < changes[0] / 2  # nobody is taken for somebody new
    assert series.check_vault().lacking is None
    file.write_text(old)
    with pytest.raises(VaultError, match="does not belong"):
        series.history()


@pytest.mark.parametrize("more", [{}, {"sealed": True}], ids=["folder", "sealed"])
def test_a_new_key_is_there_entirely_or_not_at_all(tmp_path, more, monkeypatch):
    place = place_of(tmp_path / "v.vault", **more)

    class StoppedError(Exception):
        pass

    def stop(*_):
        raise StoppedError

    with Vault.open(place) as vault:
        publish(vault)
        monkeypatch.setattr("reveil.vault.chain.renew", stop)
        with pytest.raises(StoppedError):
            vault.rotate()
        monkeypatch.undo()
    with Vault.open(place) as vault:  # killed before the commit: the old key
        assert vault.key.older == ()
        monkeypatch.setattr(type(vault.store.keys), "take", stop)
        with pytest.raises(StoppedError):
            vault.rotate()
        monkeypatch.undo()
    with Vault.open(place) as vault:  # killed after it: the new one
        assert len(vault.key.older) == 1
        assert vault.recall(*vault.key.pseudonyms(pl.Series(["p1", "p2"]))).person.tolist() == [0, 1]


def test_a_key_from_outside_is_renewed_by_its_owner(tmp_path, monkeypatch):
    monkeypatch.setenv("REVEIL_KEY", "17" * 32)
    place = place_of(tmp_path / "v.vault", sealed=True)
    with Vault.open(place) as vault:
        publish(vault)
        with pytest.raises(VaultError, match="no new one is given"):
            vault.rotate()
        monkeypatch.setenv("REVEIL_NEW_KEY", "17" * 32)
        with pytest.raises(VaultError, match="the new key is the key of now"):
            vault.rotate()
        monkeypatch.setenv("REVEIL_NEW_KEY", "18" * 32)
        vault.rotate()
    with pytest.raises(VaultError, match="does not belong"):
        Vault.open(place)
    monkeypatch.setenv("REVEIL_KEY", "18" * 32)
    with Vault.open(place) as vault:
        assert vault.head() == 1


def test_keys_of_buckets_are_destroyed_when_nothing_needs_them(tmp_path):
    from reveil.vault import Key

    made = BucketKeys.make(tmp_path / "k", Key(bytes(32)))
    old = made.key(7, 1)
    made.renew([7])
    assert made.newest(7) == 2
    assert BucketKeys.load(tmp_path / "k", Key(bytes(32))).key(7, 1) == old
    made.keep([(7, 2)])
    with pytest.raises(KeyError):
        BucketKeys.load(tmp_path / "k", Key(bytes(32))).key(7, 1)
    assert len({made.key(bucket, made.newest(bucket)) for bucket in range(COMMONS, BUCKETS)}) == BUCKETS + 1
