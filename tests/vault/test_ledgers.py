"""Ledgers: rows that guarantees keep, replaced by key, cleared, and forgotten with their person."""

import numpy as np
import polars as pl
import pytest

from reveil.vault import Vault, ledgers
from reveil.vault.protocol import Entries, Ledger
from tests.vault.cases import change

MARKS = Ledger("marks", keys=("value",), whole=("links",), real=("left",), coded="value")
SHORT = Ledger("short", whole=("cell",), outlives=False)
SIZES = Ledger("sizes", keys=("cell",), whole=("size",), personal=False)


@pytest.fixture
def vault(tmp_path):
    with Vault.open(tmp_path / "vault") as opened:
        yield opened


def tell(vault, people, *entries, **more):
    """Prepare and confirm a release about persons with these numbers as pseudonyms."""
    high = np.array(people, np.int64)
    known = vault.recall(high, high)
    release = vault.head() + 1
    vault.prepare(
        change(
            release=release,
            state="pending",
            created="now",
            snapshot="s",
            request={},
            high=high,
            low=high,
            person=known.person,
            changed=np.ones(len(high), np.bool_),
            gone=known.gone,
            entries=entries,
            settings={"signed": "disease"},
            **more,
        )
    )
    vault.confirm(release)


def rows(**columns):
    return pl.DataFrame(columns)


def test_nothing_was_written(vault):
    assert vault.ledger(MARKS).schema == {"person": pl.Int32, "value": pl.Int32, "links": pl.Int32, "left": pl.Float64}
    assert vault.ledger(SIZES, "cell", np.array([3])).height == 0


def test_rows_are_replaced_by_person_and_key(vault):
    tell(vault, [7, 8], Entries(MARKS, rows(record=[0, 0, 1], value=[1, 2, 1], links=[1, 1, 1], left=[0.5, 0.5, 0.25])))
    tell(vault, [8], Entries(MARKS, rows(record=[0], value=[1], links=[2], left=[0.125])))
    found = vault.ledger(MARKS).sort("person", "value")
    assert found.rows() == [(0, 1, 1, 0.5), (0, 2, 1, 0.5), (1, 1, 2, 0.125)]
    assert vault.ledger(MARKS, "person", np.array([1])).rows() == [(1, 1, 2, 0.125)]
    assert vault.ledger(MARKS, "value", np.array([2, 9])).rows() == [(0, 2, 1, 0.5)]


@pytest.mark.parametrize("few", [0, 100])
def test_some_rows_are_the_same_however_they_are_read(vault, few, monkeypatch):
    monkeypatch.setattr(ledgers, "_FOR_EACH", 0)
    monkeypatch.setattr(ledgers, "_FEW", few)
    tell(vault, [7, 8, 9], Entries(SHORT, rows(record=[0, 1, 2], cell=[4, 5, 4])))
    assert sorted(vault.ledger(SHORT, "person", np.array([2, 0, 2, 77])).rows()) == [(0, 4), (2, 4)]
    assert sorted(vault.ledger(SHORT, "cell", np.array([5, 2**31 - 1])).rows()) == [(1, 5)]
    assert vault.ledger(SHORT, "cell", np.zeros(0, np.int64)).rows() == []


def test_persons_who_are_not_in_the_snapshot(vault):
    tell(vault, [7, 8], Entries(SHORT, rows(record=[0, 1], cell=[4, 4])))
    tell(vault, [9], Entries(SHORT, rows(record=[0, -1], person=[-1, 1], cell=[5, 5])))
    assert sorted(vault.ledger(SHORT).rows()) == [(0, 4), (1, 5), (2, 5)]


def test_cleared_rows_end(vault):
    tell(vault, [7], Entries(SIZES, rows(cell=[1, 2], size=[5, 6])))
    tell(vault, [7], Entries(SIZES, rows(cell=[3], size=[2]), rows(cell=[1])))
    assert sorted(vault.ledger(SIZES).rows()) == [(2, 6), (3, 2)]
    tell(vault, [7], Entries(MARKS, rows(record=[0, 0], value=[1, 2], links=[1, 1], left=[1.0, 1.0])))
    tell(vault, [7], Entries(MARKS, rows(record=[0], value=[3], links=[1], left=[1.0]), rows(record=[0])))
    assert vault.ledger(MARKS)["value"].to_list() == [3]


@pytest.mark.parametrize(
    "entries",
    [
        Entries(SIZES, rows(cell=[1, 1], size=[5, 6])),
        Entries(SHORT, rows(record=[-1], cell=[5])),
        Entries(Ledger("Robert'); --", whole=("cell",)), rows(record=[0], cell=[5])),
    ],
    ids=["twice", "nobody's", "name"],
)
def test_what_is_wrong_changes_nothing(vault, entries):
    with pytest.raises(ValueError, match=r"."):
        tell(vault, [7], entries)
    assert vault.head() == 0


def test_an_unknown_column_is_not_asked_for(vault):
    tell(vault, [7], Entries(SIZES, rows(cell=[1], size=[5])))
    with pytest.raises(ValueError, match="no column"):
        vault.ledger(SIZES, "person", np.array([1]))


@pytest.mark.parametrize("tombstone", [False, True])
def test_forgetting(vault, tombstone):
    tell(
        vault,
        [7, 8],
        Entries(MARKS, rows(record=[0, 1], value=[0, 0], links=[1, 1], left=[0.5, 0.5])),
        Entries(SHORT, rows(record=[0, 1], cell=[4, 4])),
        Entries(SIZES, rows(cell=[4], size=[2])),
        types={"disease": "String"},
        dictionary={"disease": pl.Series(["flu", "gout"])},
        codes={"disease": np.array([0, 1], np.int32)},
    )
    assert vault.forget(7, 7, tombstone=tombstone)
    assert vault.ledger(MARKS)["person"].sort().to_list() == ([0, 1] if tombstone else [1])
    assert vault.ledger(SHORT)["person"].to_list() == [1]
    assert vault.ledger(SIZES).rows() == [(4, 2)]
    # flu is nobody's record any more, and still what somebody was told.
    assert vault.values("disease")["value"].to_list() == ["flu", "gout"]
    assert vault.last(np.array([1, 0]))["disease"].tolist() == [1, -1]
