"""Migrations: forward only, each entirely or not at all."""

import duckdb
import pytest

from reveil.core.errors import VaultError
from reveil.vault.migrations import FIRST, MIGRATIONS, Migration, current, migrate

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


def test_only_types_that_postgresql_has_too():
    text = " ".join(statement for migration in MIGRATIONS for statement in migration.statements)
    inside = text.replace("(", " ").replace(")", " ").replace(",", " ").split()
    kinds = {word for word in inside if word.isupper()} - {"CREATE", "TABLE", "ALTER", "ADD", "COLUMN"}
    kinds -= {"INSERT", "INTO", "VALUES", "UPDATE", "SET"}
    assert kinds <= {"INTEGER", "BIGINT", "TEXT", "BOOLEAN"}
