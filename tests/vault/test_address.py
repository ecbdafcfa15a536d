"""Where a vault is: in a folder, or in a store that is found by its scheme."""

from pathlib import Path

import pytest

import reveil as rv
from reveil.core.errors import BusyError, ConfigError
from reveil.series.config import load_config
from reveil.series.publisher_lock import only_publisher
from reveil.vault.address import Address, anchor_beside, folders_of, is_begun, place_of
from reveil.vault.sealed.file_shelf import SealedFolder
from reveil.vault.sealed.postgresql import PostgreSQL
from tests.cli.run import reveil

CONFIG = '[series]\nvault = "{}"\n[columns]\nage = "quasi"\n[guarantee]\nkind = "static"\nk = 2\n'


def test_a_path_is_a_folder(tmp_path):
    assert place_of("v") == Path("v")
    assert place_of("v", tmp_path) == place_of(tmp_path / "v") == tmp_path / "v"
    assert folders_of(tmp_path) == (tmp_path,)
    assert not is_begun(tmp_path)
    (tmp_path / "vault.duckdb").touch()
    assert is_begun(tmp_path)


@pytest.mark.parametrize("name", ["plain", "who?", "a%3Fb", "100%25", "#1 & more"])
def test_a_sealed_vault_lies_where_its_path_says(tmp_path, name):
    """A question mark in the name of a folder ended the address, and the vault lay beside that folder."""
    folder = tmp_path / name
    folder.mkdir()
    place = place_of("v.vault", folder, sealed=True)
    assert folders_of(place)[1] == folder / "v.vault"
    SealedFolder.open(place.text, create=True).close()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (folder / "v.vault" / "pieces.sqlite").exists()
    assert anchor_beside(place) == folder / "v.anchor"


@pytest.mark.parametrize("vault", ["s3://bucket", "S3://bucket", "folder://v", "./v://x", "mysql://me:word@host/db"])
def test_an_address_of_no_store_is_refused(tmp_path, vault):
    (tmp_path / "reveil.toml").write_text(CONFIG.format(vault))
    for way in (lambda: place_of(vault), lambda: load_config(tmp_path / "reveil.toml")):
        with pytest.raises(ConfigError, match="in folders and on PostgreSQL") as caught:
            way()
        assert "word" not in str(caught.value)


def test_an_address_shows_no_secrets():
    address = Address("server://me:word@host:5432/hospital.vault?key=word")
    assert str(address) == "server://host:5432/hospital.vault"
    assert address.name == "hospital.vault"
    assert "word" not in repr(address)
    assert folders_of(address) == ()


PASSWORDS = ["me:hush@host/db", "me@host/db?password=hush", "host/db?schema=s&sslpassword=hush"]
# Marks that end what others take for the host: some of the password then stands in the place of something else.
MARKS = ["hush/hush", "hu?hush", "hu#hush", "1/hush", "1?hush", "h@hush"]
PASSWORDS += [f"me:{word}@host:1/db?schema=s" for word in MARKS]


@pytest.mark.parametrize("where", PASSWORDS)
def test_a_password_in_an_address_is_refused_and_not_shown(tmp_path, where):
    (tmp_path / "reveil.toml").write_text(CONFIG.format(f"postgresql://{where}"))
    for arguments in (("vault", "init", "-c", tmp_path / "reveil.toml"), ("history", "-c", tmp_path / "reveil.toml")):
        done = reveil(*arguments)
        assert done.returncode == 2
        assert "has a password in it" in done.stderr
        assert "PGPASSWORD" in done.stderr
        assert "hush" not in done.stderr + done.stdout


HOSTS = ["host", "host:5432/db", "me@host/db?schema=s", "me@one:1,two:2/db", "me@[::1]:5432/db", "/db?host=/run/pg"]
HOSTS += ["[::1]/db", "%2Frun%2Fpg/db", "me%40here@host/db?options=-c%20role%3Da%40b", "host/db?user=me@here"]


@pytest.mark.parametrize("where", HOSTS)
def test_addresses_without_a_password_are_taken(where):
    assert PostgreSQL.files(f"postgresql://{where}").keys.suffix == ".keys"


def test_an_address_is_shown_without_whoever_logs_in():
    for user in ("me", "me:hush", "me:hu/hush", "me:h@hush"):
        assert str(Address(f"postgresql://{user}@host/db?schema=s")) == "postgresql://host/db"


def test_one_publisher_at_a_time_wherever_the_vault_is():
    address = Address("server://me:word@host/v")
    with (
        only_publisher(address),
        pytest.raises(BusyError, match="another publisher") as caught,
        only_publisher(address),
    ):
        pass
    assert caught.value.file == "server://host/v"


def test_a_vault_that_is_no_folder_needs_an_anchor(tmp_path):
    schema, guarantee = rv.Schema(quasi=("age",)), rv.Static(k=2)
    with pytest.raises(ConfigError, match="needs an anchor"):
        rv.Series(Address("server://v"), schema, guarantee)
    series = rv.Series(Address("server://v"), schema, guarantee, anchor=tmp_path / "v.anchor")
    assert series.anchor == tmp_path / "v.anchor"
