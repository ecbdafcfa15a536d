"""Seals: what is changed in a table behind the vault's back is noticed, and what the vault changes is sealed."""

import shutil

import numpy as np
import polars as pl
import pytest

from reveil.core.errors import BusyError, VaultError
from reveil.vault import Vault
from reveil.vault.protocol import Entries, Ledger
from reveil.vault.stores import seals
from tests.vault.cases import FORMAT_5, by_hand, change_of, in_bytes, last_records, opened, pseudonym, publish

ROWS = {f"p{n}": {"job": f"the job of p{n}", "disease": f"d{n % 3}"} for n in range(9)}
TOLD = dict.fromkeys(ROWS, ("d0", "d1"))
MARKS = Ledger("marks", whole=("links",), real=("left",))
EVERYBODY = np.arange(len(ROWS))
ENTRIES = Entries(MARKS, pl.DataFrame({"record": EVERYBODY, "links": EVERYBODY, "left": EVERYBODY / 2}))


@pytest.fixture(autouse=True)
def _no_key_from_outside(monkeypatch):
    monkeypatch.delenv("REVEIL_KEY", raising=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    with Vault.open(tmp_path_factory.mktemp("seals") / "v") as vault:
        publish(vault, ROWS, TOLD, entries=(ENTRIES,))
        publish(vault, ROWS, archive=False)
        publish(vault, ROWS, TOLD)
    return vault.folder


@pytest.fixture
def folder(made, tmp_path):
    return shutil.copytree(made, tmp_path / "v")


def sound(vault):
    """Compare everything with its seal; return whether all are of this version of DuckDB."""
    return seals.check(vault.store.connection, vault.key, vault.folder, None)


def kept(vault):
    return {(name, release): digest for name, release, digest, _ in vault.store.connection.table("seals").fetchall()}


def test_every_table_has_a_seal(folder):
    with opened(folder) as vault:
        tables = {
            name for (name,) in vault.store.connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        }
        releases = {("placements", release) for release in (1, 2, 3)}
        assert kept(vault).keys() == {(name, -1) for name in tables - {"seals", "placements"}} | releases
        assert sound(vault)


@pytest.mark.parametrize(
    ("table", "statement"),
    [
        ("persons", "UPDATE persons SET a0 = 0 WHERE person = 4"),
        ("persons", "UPDATE persons SET a0 = NULL WHERE person = 4"),
        ("persons", "DELETE FROM persons WHERE person = 4"),
        ("persons", "UPDATE persons SET a0 = 9 - a0 WHERE person IN (4, 5)"),
        ("ledger_told", "INSERT INTO ledger_told VALUES (4, 9)"),
        ("ledger_told", "DELETE FROM ledger_told"),
        ("ledger_signatures", "UPDATE ledger_signatures SET code = 2 WHERE code = 1"),
        ("dictionary", "UPDATE dictionary SET value = 'x' WHERE code = 1 AND attribute = 0"),
        ("attributes", "UPDATE attributes SET next_code = 0 WHERE attribute = 1"),
        ("releases", "UPDATE releases SET state = 'abandoned' WHERE release = 2"),
        ("settings", "UPDATE settings SET value = '2' WHERE key = 'head'"),
        ("settings", "DELETE FROM settings WHERE key = 'next_person'"),
        ("settings", "DELETE FROM settings"),
        ("settings", "UPDATE settings SET value = '' WHERE key = 'series_id'"),
        ("settings", "UPDATE settings SET value = '\"x\"' WHERE key = 'key_salt'"),
        ("settings", "UPDATE settings SET value = NULL WHERE key = 'key_salt'"),
        ("ledger_marks", 'UPDATE ledger_marks SET "left" = 0 WHERE person = 4'),
        ("ledger_marks", "DELETE FROM ledgers WHERE name = 'marks'"),
        ("chain", "DELETE FROM chain WHERE entry = (SELECT MAX(entry) FROM chain)"),
        ("migrations", "UPDATE migrations SET applied = ''"),
        ("ledger_told", "DELETE FROM seals WHERE name = 'ledger_told'"),
        ("attributes", "DELETE FROM seals"),
        ("ledger_told", "UPDATE seals SET digest = '' WHERE name = 'ledger_told'"),
    ],
)
def test_what_others_change_is_noticed(folder, table, statement):
    by_hand(folder, statement, sealed=False)
    with pytest.raises(VaultError, match=f"the table '{table}' in this vault is not what was written") as caught:
        opened(folder)
    assert caught.value.file == str(folder)
    assert "backup" in caught.value.hint
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE placements SET place = 0 WHERE release = 1 AND person = 4",
        "UPDATE placements SET release = 0 WHERE release = 1 AND person = 4",
        "UPDATE placements SET release = 2 WHERE release = 1",
        "DELETE FROM placements WHERE release = 1",
        "DELETE FROM seals WHERE release = 1",
    ],
)
def test_placements_are_compared_when_they_are_read(folder, statement):
    by_hand(folder, statement, sealed=False)
    with opened(folder) as vault:
        high, low = vault.key.pseudonyms(pl.Series(list(ROWS)))
        assert vault.placements(3, high, low).height == vault.archived(3).height == len(ROWS)
        assert vault.placements(7, high, low).is_empty()
        before = kept(vault)
        for read in (vault.has_archive, vault.archived, lambda n: vault.placements(n, high, low)):
            for _ in range(2):
                with pytest.raises(VaultError, match="'placements' of release 1 in this vault is not") as caught:
                    read(1)
                assert caught.value.file == str(folder)
        publish(vault, ROWS)
        with pytest.raises(VaultError, match=r"'placements' of release [012] "):  # an erasure would seal the damage
            vault.forget(*pseudonym(vault, "p1"))
        assert {place: digest for place, digest in kept(vault).items() if place in before}.items() >= {
            item for item in before.items() if item[0][0] == "placements"
        }
        assert list(last_records(vault, ["p1"])) == ["p1"]


def test_every_change_is_sealed(folder, tmp_path):
    def settled(vault):
        vault.keep_setting("note", "x")

    def adopted(vault):
        publish(vault, ROWS, state="adopted")

    def abandoned(vault):
        vault.prepare(change_of(vault, ROWS))
        vault.abandon(vault.head())

    def grown(vault):
        publish(vault, {"p1": {"ward": "B"}, "p99": {"ward": None}}, entries=(Entries(
            Ledger("others", keys=("cell",), personal=False), pl.DataFrame({"cell": [1]})),))  # fmt: skip

    def refused(vault):
        with pytest.raises(ValueError, match=r"."):
            publish(vault, ROWS, state="wrong")

    def forgotten(vault):
        assert vault.forget(*pseudonym(vault, "p1"))

    def buried(vault):
        assert vault.forget(*pseudonym(vault, "p2"), tombstone=True)

    def unknown(vault):
        assert not vault.forget(1, 2)

    def followed(vault):
        vault.anchor = tmp_path / "v.anchor"
        vault.follow()
        publish(vault, ROWS)

    for change in (settled, adopted, abandoned, grown, refused, forgotten, buried, unknown, followed):
        with opened(folder) as vault:
            change(vault)
            assert sound(vault), change
        with opened(folder) as vault:
            assert sound(vault), change
            assert not vault.setting("unsealed")


def test_only_what_changes_is_sealed_anew(folder):
    with opened(folder) as vault:
        before = kept(vault)
        vault.prepare(change_of(vault, ROWS))
        between = kept(vault)
        vault.confirm(4)
        after = kept(vault)
    assert {place for place in between if between[place] != before.get(place)} == {
        ("releases", -1), ("settings", -1), ("chain", -1), ("placements", 4),
    }  # fmt: skip
    assert {place for place in after if after[place] != between[place]} == {("releases", -1), ("chain", -1)}


def test_seals_of_another_version_are_not_compared_and_renewed(folder, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(seals, "VERSION", "0.0.1")
        with opened(folder) as vault:
            assert not sound(vault)
            assert vault.archived(1).height == len(ROWS)
            before = kept(vault)
            vault.keep_setting("note", "x")
            assert sound(vault), "placements of all releases, too"
            assert all(digest != before[place] for place, digest in kept(vault).items())
        by_hand(folder, "UPDATE persons SET a0 = 0", sealed=False)
        with pytest.raises(VaultError, match="'persons'"):
            opened(folder)
    opened(folder).close()


def before_seals(folder):
    """Make a vault what an earlier version left."""
    statements = (*FORMAT_5, "DROP TABLE seals", "DELETE FROM migrations WHERE version > 4")
    by_hand(folder, *statements, sealed=False)


def test_a_vault_of_before_is_sealed_when_it_is_opened(folder):
    before_seals(folder)
    key = (folder / "key").read_bytes()
    (folder / "key").unlink()
    with pytest.raises(VaultError, match="missing"):  # the tables are there, and nothing is sealed yet
        opened(folder)
    (folder / "key").write_bytes(key)
    with opened(folder) as vault:
        assert sound(vault)
        assert ("placements", 2) in kept(vault)
        assert vault.setting("unsealed") is None
    by_hand(folder, "UPDATE persons SET a0 = 0", sealed=False)
    with pytest.raises(VaultError, match="'persons'"):
        opened(folder)


def test_nobody_without_the_key_makes_a_seal(folder):
    with opened(folder) as vault:
        before = kept(vault)
        (count, total) = vault.store.connection.execute(
            "SELECT COUNT(*), SUM(hash(hash(t))) FROM ledger_told t"
        ).fetchone()
    assert before["ledger_told", -1] == vault.key.seal(
        "table", "ledger_told", "-1", str(count), str(total), seals.VERSION
    )
    assert all(len(digest) == 64 for digest in before.values())
    assert len(set(before.values())) == len(before)


def test_seals_of_before_an_erasure_are_in_no_byte(folder):
    with opened(folder) as vault:
        before = kept(vault)
        vault.forget(*pseudonym(vault, "p1"))
        after = kept(vault)
        changed = [digest for place, digest in before.items() if after[place] != digest]
        assert {("persons", -1), ("ledger_told", -1), ("dictionary", -1), ("placements", 1)} <= {
            place for place in before if before[place] in changed
        }
    assert in_bytes(folder, *changed) == []


def test_a_copy_that_is_not_what_was_sealed_does_not_take_the_place(folder, monkeypatch):
    with opened(folder) as vault:
        real = seals.renew

        def damaging(connection, *arguments, database=None, **more):
            if database is not None:
                connection.execute("UPDATE fresh.placements SET place = 0")
            real(connection, *arguments, database=database, **more)

        monkeypatch.setattr(seals, "renew", damaging)
        with pytest.raises(VaultError, match="'placements' of release 1"):
            vault.forget(*pseudonym(vault, "p1"))
    monkeypatch.undo()
    with opened(folder) as vault:
        assert sound(vault)
        assert vault.setting("erasing") is None
        assert in_bytes(folder, "the job of p1", *pseudonym(vault, "p1")) == []


def test_of_two_that_change_the_same_table_one_is_refused(folder):
    def both(one, two):
        with one.store.transaction("settings") as connection:
            connection.execute("INSERT INTO settings VALUES ('a', '1')")
            with opened(folder) as three:
                assert sound(three), "what is not committed is not seen"
            two.keep_setting("b", 2)

    with opened(folder) as one, opened(folder) as two:
        with pytest.raises(BusyError, match="another publisher was first"):
            both(one, two)
        assert (one.setting("a"), one.setting("b")) == (None, 2)
        assert sound(one)
        one.keep_setting("a", 1)
        assert sound(two)
