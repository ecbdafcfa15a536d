"""Erasure: the rows are gone, the bytes are gone, and what others were told stays."""

import os

import numpy as np
import polars as pl
import pytest

from reveil.vault import Vault
from reveil.vault.private import private
from tests.vault.cases import change_of, in_bytes, last_records, opened, pseudonym, publish, signatures_of

UNIQUE = "lighthouse keeper of the northernmost island"
RARE = "a disease that nobody else has"
ROWS = {
    "p1": {"job": UNIQUE, "disease": RARE},
    "p2": {"job": "nurse", "disease": "flu"},
    "p3": {"job": "nurse", "disease": "cold"},
}
GROUPS = {"p1": (RARE, "flu"), "p2": ("cold", "flu"), "p3": ("cold", "flu")}


@pytest.fixture(autouse=True)
def _no_key_from_outside(monkeypatch):
    monkeypatch.delenv("REVEIL_KEY", raising=False)


@pytest.fixture
def vault(tmp_path):
    with Vault.open(tmp_path / "hospital.vault") as opened:
        publish(opened, ROWS, GROUPS)
        yield opened


def test_a_forgotten_person_is_in_no_byte(vault):
    high, low = pseudonym(vault, "p1")
    assert in_bytes(vault.folder, UNIQUE, RARE, high, low) == [UNIQUE, RARE, high, low]
    assert vault.forget(high, low)
    assert in_bytes(vault.folder, UNIQUE, RARE, high, low) == [RARE]  # it is in a signature: published, and nobody's
    assert last_records(vault, list(ROWS)) == {person: ROWS[person] for person in ("p2", "p3")}
    assert signatures_of(vault, ["p2", "p3"]) == {person: {frozenset(GROUPS[person])} for person in ("p2", "p3")}
    assert vault.placements(1, np.array([high]), np.array([low])).is_empty()
    assert vault.has_archive(1)
    assert vault.head() == 1
    assert not vault.forget(high, low)
    vault.close()
    assert in_bytes(vault.folder, UNIQUE, RARE, high, low) == [RARE]
    assert {path.name for path in vault.folder.iterdir()} == {"key", "releases", "vault.duckdb"}


def test_who_returns_after_being_forgotten_is_new(vault):
    number = vault.next_code("job")
    vault.forget(*pseudonym(vault, "p3"))
    vault.forget(*pseudonym(vault, "p1"))
    assert vault.next_code("job") == number
    publish(vault, ROWS, GROUPS)
    high, low = vault.key.pseudonyms(pl.Series(list(ROWS)))
    assert sorted(vault.recall(high, low).person.tolist()) == [1, 3, 4]
    assert last_records(vault, list(ROWS)) == ROWS
    # Codes are not used twice.
    assert vault.lookup("job", pl.Series([UNIQUE, "nurse"])).tolist() == [number, 1]


def test_a_tombstone_keeps_what_was_told(vault):
    high, low = pseudonym(vault, "p1")
    assert vault.forget(high, low, tombstone=True)
    assert in_bytes(vault.folder, UNIQUE) == []
    assert vault.placements(1, np.array([high]), np.array([low])).is_empty()
    assert last_records(vault, list(ROWS))["p1"] == {}
    assert signatures_of(vault, list(ROWS)) == {person: {frozenset(GROUPS[person])} for person in ROWS}
    known = vault.recall(np.array([high]), np.array([low]))
    assert known.person.tolist() == [0]
    assert known.present.tolist() == [False]
    publish(vault, ROWS)
    assert vault.recall(np.array([high]), np.array([low])).person.tolist() == [0]
    assert last_records(vault, list(ROWS)) == ROWS


def test_old_values_of_others_go_as_well(vault):
    publish(vault, {**ROWS, "p2": {"job": "sailor", "disease": "flu"}})
    publish(vault, {**ROWS, "p2": {"job": "doctor", "disease": "flu"}})
    assert in_bytes(vault.folder, "sailor") == ["sailor"]
    vault.forget(*pseudonym(vault, "p3"))
    assert in_bytes(vault.folder, "sailor") == []
    assert vault.values("job")["value"].to_list() == [UNIQUE, "doctor"]
    assert vault.values("disease")["value"].to_list() == [RARE, "flu", "cold"]


def test_unknown_persons_change_nothing(vault):
    inode = (vault.folder / "vault.duckdb").stat().st_ino
    assert not vault.forget(1, 2)
    assert (vault.folder / "vault.duckdb").stat().st_ino == inode


def test_of_many_persons_only_the_forgotten_one_goes(vault):
    persons = [f"m{n}" for n in range(3000)]
    rows = {person: {"job": f"the job of {person}, which is special", "disease": "flu"} for person in persons}
    publish(vault, rows, dict.fromkeys(persons, ("cold", "flu")))
    for person in ("m7", "m1500", "m2999"):
        high, low = pseudonym(vault, person)
        job = rows.pop(person)["job"]
        assert vault.forget(high, low)
        assert in_bytes(vault.folder, job, high, low) == []
    vault.close()
    with opened(vault.folder) as again:
        assert last_records(again, persons) == rows
        publish(again, rows)


def test_an_erasure_that_was_interrupted_is_finished_when_the_vault_is_opened(vault, monkeypatch):
    high, low = pseudonym(vault, "p1")

    class StoppedError(Exception):
        pass

    def stop(*_):
        raise StoppedError

    with monkeypatch.context() as patch:
        patch.setattr("reveil.vault.stores.duckdb_file.rewrite", stop)
        with pytest.raises(StoppedError):
            vault.forget(high, low)
    vault.close()
    (vault.folder / "vault.duckdb.new").write_text(UNIQUE)
    with opened(vault.folder) as again:
        assert in_bytes(vault.folder, UNIQUE, RARE, high, low) == [RARE]
        assert again.setting("erasing") is None
        again.prepare(change_of(again, ROWS, GROUPS))


def test_the_mask_of_the_process_is_restored(tmp_path):
    before = os.umask(0o027)
    try:
        with private(tmp_path), private(tmp_path):
            (tmp_path / "a").write_text("x")
        assert os.umask(0o027) == 0o027
        assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(before)
