"""Keys: where they come from, what they make, and that they show nothing."""

import hashlib
import hmac
import pickle

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reveil.core.errors import VaultError
from reveil.vault import Key, Vault
from reveil.vault.keys import FolderKeys
from tests.vault.cases import FORMAT_5, by_hand

SECRET = bytes(range(32))


@pytest.fixture(autouse=True)
def _no_key_from_outside(monkeypatch):
    monkeypatch.delenv("REVEIL_KEY", raising=False)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=150), max_size=20))
def test_pseudonyms_are_the_first_half_of_hmac(persons):
    high, low = Key(SECRET).pseudonyms(pl.Series(persons, dtype=pl.String))
    for n, person in enumerate(persons):
        digest = hmac.digest(SECRET, person.encode(), "sha256")
        assert int(high[n]) == int.from_bytes(digest[:8], signed=True)
        assert int(low[n]) == int.from_bytes(digest[8:16], signed=True)
    assert len(high) == len(low) == len(persons)


def test_a_person_has_an_identity():
    with pytest.raises(ValueError, match="no pseudonym"):
        Key(SECRET).pseudonyms(pl.Series(["a", None]))


def test_streams_differ_by_key_seed_and_release():
    keys = Key(SECRET), Key(bytes(32))
    streams = {key.stream(seed, n) for key in keys for seed in (1, 11, 111) for n in (1, 11, 111)}
    assert len(streams) == 18
    assert all(len(stream) == 32 for stream in streams)
    assert Key(SECRET).stream(7, 3) == Key(SECRET).stream(7, 3)


def test_a_key_shows_nothing(tmp_path):
    key = FolderKeys(tmp_path).load_or_make()
    text = (tmp_path / "key").read_text().strip()
    assert len(text) == 64
    assert text not in repr(key)
    assert text not in str(key)
    assert key.check() != text
    with pytest.raises(TypeError):
        pickle.dumps(key)


def test_the_key_is_made_once_and_private(tmp_path):
    first = FolderKeys(tmp_path).load_or_make()
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert FolderKeys(tmp_path).load_or_make().check() == FolderKeys(tmp_path).load().check() == first.check()
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_a_key_from_the_environment_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setenv("REVEIL_KEY", SECRET.hex().upper())
    assert FolderKeys(tmp_path).load_or_make().check() == Key(SECRET).check()
    monkeypatch.setenv("REVEIL_KEY", "correct horse battery staple")
    words = FolderKeys(tmp_path).load_or_make()
    assert words.check() == FolderKeys(tmp_path).load().check() != Key(SECRET).check()
    assert not list(tmp_path.iterdir())


def test_a_passphrase_is_salted_and_costly(tmp_path, monkeypatch):
    """What a passphrase makes depends on the vault; where a vault has no salt it is what it was when it was made."""
    monkeypatch.setenv("REVEIL_KEY", "correct horse battery staple")
    keys = {FolderKeys(tmp_path).load(salt).check() for salt in (b"a" * 16, b"b" * 16, None)}
    assert len(keys) == 3
    known = hashlib.scrypt(b"correct horse battery staple", salt=b"a" * 16, n=2**15, r=8, p=1, maxmem=2**26, dklen=32)
    assert FolderKeys(tmp_path).load(b"a" * 16).check() == Key(known).check()
    assert FolderKeys(tmp_path).load().check() == Key(hashlib.sha256(b"correct horse battery staple").digest()).check()
    monkeypatch.setenv("REVEIL_KEY", SECRET.hex())
    assert FolderKeys(tmp_path).load(b"a" * 16).check() == Key(SECRET).check(), "64 hex digits are a key as they are"


def test_a_vault_of_before_keeps_its_derivation(tmp_path, monkeypatch):
    monkeypatch.setenv("REVEIL_KEY", "correct horse battery staple")
    with Vault.open(tmp_path / "new") as vault:
        salted = vault.key.check()
    with Vault.open(tmp_path / "new") as vault:
        assert vault.key.check() == salted != FolderKeys(tmp_path).load().check()
    with Vault.open(tmp_path / "old") as vault:
        old = FolderKeys(vault.folder).load().check()
    by_hand(
        tmp_path / "old",
        "DELETE FROM settings WHERE key = 'key_salt'",
        f"UPDATE settings SET value = '\"{old}\"' WHERE key = 'key_check'",  # noqa: S608 -- hex digits
        *FORMAT_5,
        "DELETE FROM chain",
        "DROP TABLE chain",
        "DROP TABLE seals",
        "DELETE FROM migrations WHERE version > 3",
    )
    with Vault.open(tmp_path / "old") as vault:
        assert vault.key.check() == old


@pytest.mark.parametrize("text", ["", "short", "fifteen charact"])
def test_a_short_key_is_refused(tmp_path, monkeypatch, text):
    monkeypatch.setenv("REVEIL_KEY", text)
    with pytest.raises(VaultError, match="too short") as caught:
        FolderKeys(tmp_path).load_or_make()
    assert caught.value.hint
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("content", [b"", b"abc", b"\xff" * 64, b"g" * 64, b"0" * 63])
def test_a_damaged_key_file_is_refused(tmp_path, content):
    (tmp_path / "key").write_bytes(content)
    with pytest.raises(VaultError, match=r"damaged|cannot be read") as caught:
        FolderKeys(tmp_path).load_or_make()
    assert "backup" in caught.value.hint
    assert (tmp_path / "key").read_bytes() == content


def test_a_missing_key_file_is_not_replaced_by_loading(tmp_path):
    with pytest.raises(VaultError, match="missing") as caught:
        FolderKeys(tmp_path).load()
    assert "adopt" in caught.value.hint
    assert not list(tmp_path.iterdir())


def test_keys_have_one_length():
    with pytest.raises(ValueError, match="32 bytes"):
        Key(b"short")
