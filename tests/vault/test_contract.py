"""The contract of stores: our own keeps it, so does a second one that has its relations elsewhere; broken ones do not.

The second store is registered under a scheme and used by name as another package's would be.
"""

from contextlib import contextmanager, nullcontext

import duckdb
import pytest

from reveil.core import registry
from reveil.core.errors import ConfigError, ReveilError
from reveil.testing import check_vault
from reveil.vault import Vault, settings
from reveil.vault.drafts import FolderDrafts
from reveil.vault.store import open_store, store_class
from reveil.vault.stores.duckdb_file import DuckDBFile
from tests.plugin.package.reveil_toys.pieces import PieceStore
from tests.rarely import mostly_slow


@pytest.fixture(autouse=True)
def _no_key_from_outside(monkeypatch):
    monkeypatch.delenv("REVEIL_KEY", raising=False)


def of(cls):
    return lambda folder: cls.open(str(folder), create=True)


def test_a_folder_keeps_the_contract():
    check_vault(of(DuckDBFile), examples=2)


@pytest.mark.slow
@pytest.mark.parametrize("store", [DuckDBFile, PieceStore])
def test_the_contract_is_kept_in_many_lives(store):
    check_vault(of(store))


@pytest.mark.slow
def test_pieces_keep_the_contract():
    check_vault(of(PieceStore), examples=2)


class Forgetful(PieceStore):
    """What is committed is in memory only."""

    def _write(self, connection):
        pass

    def _clean(self):
        pass


class Talkative(DuckDBFile):
    """DuckDB's words come through."""

    @contextmanager
    def reading(self, release=None):
        yield self.connection


class Superficial(DuckDBFile):
    """Deleted, and still in the file."""

    def erase(self):
        with self.transaction("settings") as connection:
            connection.execute("DELETE FROM settings WHERE key = ?", [settings.ERASING])


class Half(PieceStore):
    """What was done before a failure stays."""

    @contextmanager
    def transaction(self, *tables, releases=()):
        try:
            yield self.connection
        finally:
            self._write(self.connection)
            self._clean()


class Open(DuckDBFile):
    """Everybody can read the copies."""

    @property
    def drafts(self):
        made = FolderDrafts(self.folder / "releases", self.folder)
        object.__setattr__(made, "private", nullcontext)
        return made


@pytest.mark.parametrize("broken", mostly_slow([Forgetful, Half, Talkative, Superficial, Open], 2))
def test_a_broken_store_does_not_keep_it(broken):
    with pytest.raises((AssertionError, ReveilError, duckdb.Error)):
        check_vault(of(broken), examples=1)


@pytest.fixture
def registered(monkeypatch):
    """The second store under its scheme: a class and an entry point, two places."""

    class Point:
        name = "pieces"

        def load(self):
            return PieceStore

    real = registry.points
    more = {"stores": [Point()]}
    monkeypatch.setattr(registry, "points", lambda group: [*real(group), *more.get(group, [])])
    registry.find.cache_clear()
    registry.names.cache_clear()
    yield
    registry.find.cache_clear()
    registry.names.cache_clear()


def test_a_store_is_found_by_its_scheme(tmp_path, registered):
    address = f"pieces://{tmp_path}/v"
    assert store_class(address) is PieceStore
    assert store_class("hospital.vault") is store_class(tmp_path) is DuckDBFile
    with Vault.open(address) as vault:
        assert isinstance(vault.store, PieceStore)
        assert vault.head() == 0
    assert store_class(address).exists(address)
    assert not DuckDBFile.exists(str(tmp_path / "v"))


@pytest.mark.parametrize("address", ["pieces://v", "s3://bucket"])
def test_an_unknown_scheme_is_refused(address):
    with pytest.raises(ConfigError, match="in folders and on PostgreSQL") as caught:
        open_store(address, create=True)
    assert caught.value.hint
