"""Migrations: forward only, each entirely or not at all."""

import duckdb
import numpy as np
import pytest

from reveil.core.errors import VaultError
from reveil.series.signatures import SIGNATURES, TOLD_SIGNATURES
from reveil.vault import Vault
from reveil.vault.migrations import FIRST, MIGRATIONS, Migration, current, migrate
from reveil.vault.stores import seals
from tests.vault.cases import FORMAT_5, by_hand, pseudonym, publish, signatures_of

SECOND = Migration(2, ("ALTER TABLE releases ADD COLUMN note TEXT", "UPDATE releases SET note = 'old'"))
BROKEN = Migration(2, ("ALTER TABLE releases ADD COLUMN note TEXT", "INSERT INTO nowhere VALUES (1)"))


@pytest.fixture
def database(tmp_path):
    connection = duckdb.connect(str(tmp_path / "vault.duckdb"))
    yield connection
    connection.close()


@pytest.fixture
def version_1(database):
    for statement in FIRST.statements:
        database.execute(statement)
    database.execute("INSERT INTO migrations VALUES (1, '2024-01-01', '0.2.0')")
    database.execute("INSERT INTO releases (release, state) VALUES (1, 'confirmed')")
    return database


def versions(database):
    return [row[0] for row in database.execute("SELECT version FROM migrations ORDER BY version").fetchall()]


def names(database):
    sql = "SELECT column_name FROM information_schema.columns WHERE table_name = 'releases'"
    return {row[0] for row in database.execute(sql).fetchall()}


def test_versions_are_numbered_without_gaps():
    assert [migration.version for migration in MIGRATIONS] == list(range(1, len(MIGRATIONS) + 1))


def test_an_empty_database_gets_all_of_them_once(database):
    assert current(database) == 0
    migrate(database, (FIRST, SECOND))
    migrate(database, (FIRST, SECOND))
    assert versions(database) == [1, 2]
    assert current(database) == 2


def test_version_1_becomes_version_2(version_1):
    migrate(version_1, (FIRST, SECOND))
    assert versions(version_1) == [1, 2]
    assert version_1.execute("SELECT release, state, note FROM releases").fetchall() == [(1, "confirmed", "old")]


def test_a_failing_migration_leaves_version_1_intact(version_1):
    with pytest.raises(VaultError, match="as it was before") as caught:
        migrate(version_1, (FIRST, BROKEN))
    assert "nowhere" not in str(caught.value)
    assert versions(version_1) == [1]
    assert "note" not in names(version_1)
    migrate(version_1, (FIRST, SECOND))
    assert "note" in names(version_1)


def test_a_newer_format_is_refused(version_1):
    version_1.execute("INSERT INTO migrations VALUES (9, '2030-01-01', '9.0')")
    with pytest.raises(VaultError, match="format 9") as caught:
        migrate(version_1)
    assert "newer version" in caught.value.hint


def test_another_programs_database_is_refused(database):
    database.execute("CREATE TABLE cats (name TEXT)")
    with pytest.raises(VaultError, match="not a vault"):
        migrate(database)


ROWS = {f"p{n}": {"age": str(20 + n % 5), "disease": f"d{n % 4}"} for n in range(12)}
GROUPS = {person: ("d0", "d1") if n % 2 else ("d1", "d3", "d2") for n, person in enumerate(ROWS)}


@pytest.fixture
def format_5(tmp_path, monkeypatch):
    """The folder of a vault of the format before signatures were ledgers, sealed, and what it knows."""
    monkeypatch.delenv("REVEIL_KEY", raising=False)
    with Vault.open(tmp_path / "v") as vault:
        publish(vault, ROWS, GROUPS)
        publish(vault, ROWS, {"p1": ("d1", "d2")})
        key = vault.key
    known = signatures_of(vault := Vault.open(tmp_path / "v"), list(ROWS))
    vault.close()
    connection = duckdb.connect(str(tmp_path / "v" / "vault.duckdb"))
    for statement in (*FORMAT_5, "DELETE FROM seals"):
        connection.execute(statement)
    seals.renew(connection, key, [*seals.TABLES, "signatures", "told"], None)
    kept = connection.execute("SELECT * FROM signatures ORDER BY ALL").fetchall()
    assert kept == [(0, "1,2,3"), (1, "0,1"), (2, "1,2")]
    connection.close()
    return tmp_path / "v", known


def test_signatures_of_the_format_before_become_ledgers(format_5):
    folder, known = format_5
    for _ in range(2):  # the second time there is nothing to do
        with Vault.open(folder, create=False) as vault:
            assert signatures_of(vault, list(ROWS)) == known
            assert len(known["p1"]) == 2
            assert vault.ledger(SIGNATURES)["signature"].n_unique() == 3
            assert vault.ledger(TOLD_SIGNATURES).height == 13
            assert vault.setting("unsealed") is vault.setting("next_signature") is None
            assert versions(vault.store.connection) == [1, 2, 3, 4, 5, 6]
            vault.store.check()
    with Vault.open(folder) as vault:
        publish(vault, ROWS, {"p1": ("d0", "d3"), "p2": ("d0", "d1")})
        assert sorted(vault.ledger(SIGNATURES, "signature", np.array([3])).rows()) == [(3, 0), (3, 3)]
        assert vault.forget(*pseudonym(vault, "p1"))
        assert vault.values("disease")["value"].sort().to_list() == ["d0", "d1", "d2", "d3"]


@pytest.mark.parametrize(
    ("table", "statement"),
    [
        ("told", "DELETE FROM told WHERE person = 3"),
        ("signatures", "UPDATE signatures SET members = '1,2' WHERE signature = 0"),
        ("persons", "UPDATE persons SET a0 = 0"),
        ("placements", "UPDATE placements SET place = 0"),
    ],
)
def test_what_others_changed_in_the_format_before_is_noticed(format_5, table, statement):
    """A vault is sealed anew with its new tables; what was damaged before must not be sealed with them."""
    folder, _ = format_5
    by_hand(folder, statement, sealed=False)
    for _ in range(2):
        with pytest.raises(VaultError, match=f"the table '{table}'") as caught:
            Vault.open(folder)
        assert caught.value.file == str(folder)


def test_only_types_that_postgresql_has_too():
    text = " ".join(statement for migration in MIGRATIONS for statement in migration.statements)
    inside = text.replace("(", " ").replace(")", " ").replace(",", " ").split()
    kinds = {word for word in inside if word.isupper()} - {"CREATE", "TABLE", "ALTER", "ADD", "COLUMN"}
    kinds -= {"INSERT", "INTO", "VALUES", "UPDATE", "SET", "SELECT", "FROM", "WHERE", "OR", "DELETE", "DROP"}
    kinds -= {"CAST", "AS", "UNNEST", "STRING_TO_ARRAY", "TRUE", "FALSE", "NULL"}
    assert kinds <= {"INTEGER", "BIGINT", "TEXT", "BOOLEAN"}
