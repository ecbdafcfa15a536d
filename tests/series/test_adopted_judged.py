"""The judge after an adoption: what was published here must not be lost by it, and sound releases pass."""

from dataclasses import replace

import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import VerificationError

SCHEMA = rv.Schema(person="pid", quasi=("x",), sensitive="s")


@pytest.fixture(autouse=True)
def _no_key_from_outside(monkeypatch):
    monkeypatch.delenv("REVEIL_KEY", raising=False)


def table(*rows):
    return pl.DataFrame(rows, schema={"pid": pl.String, "x": pl.Int64, "s": pl.String}, orient="row")


def people(many):
    return table(*((f"p{n}", n, "abcdefgh"[(3 * n) % 8]) for n in range(many)))


@pytest.mark.parametrize("adopts", [False, True])
def test_a_publisher_that_forgets_is_noticed_behind_an_adoption(tmp_path, monkeypatch, adopts):
    decide = rv.TauSafety.decide

    def forgetful(*given):
        draft = decide(*given)
        return replace(draft, remembered=replace(draft.remembered, told=None))

    monkeypatch.setattr(rv.TauSafety, "decide", forgetful)
    own = rv.Series.open(tmp_path / "v.vault", SCHEMA, rv.TauSafety(2, domain=tuple("abcdefgh")), seed=3)
    own.publish(people(16))
    if adopts:
        own.adopt(people(16), pl.DataFrame({"x": ["0", "1"], "s": people(2)["s"]}), where="x < 2")
    with pytest.raises(VerificationError, match="persons were told other signatures"):
        own.publish(people(22).filter(~pl.col("x").is_in([2, 5, 7, 11])))


ADOPTED = [("p1", 1, "a"), ("p2", 1, "a"), ("p3", 1, "b"), ("q1", 5, "c"), ("q2", 5, "d")]
NEW = [("n1", 1, "a"), ("n2", 1, "b"), ("n3", 1, "a")]


@pytest.mark.parametrize("value", "bcde")
def test_who_changed_is_new_under_m_invariance(tmp_path, value):
    """p1 to p3 keep {a, b} alone, because it was told unevenly; with another value they are new."""
    own = rv.Series.open(tmp_path / "v.vault", SCHEMA, rv.MInvariance(2), seed=3)
    own.adopt(table(*ADOPTED), pl.DataFrame({"x": ["1", "1", "1", "5", "5"], "s": ["a", "a", "b", "c", "d"]}))
    found = own.publish(table(("p1", 1, value), *ADOPTED[1:], *NEW))
    assert found.manifest["release"] == 2


def test_who_returns_is_new_under_m_invariance(tmp_path):
    own = rv.Series.open(tmp_path / "v.vault", SCHEMA, rv.MInvariance(2), seed=3)
    own.adopt(table(*ADOPTED), pl.DataFrame({"x": ["1", "1", "1", "5", "5"], "s": ["a", "a", "b", "c", "d"]}))
    others = [("n1", 1, "a"), ("n2", 1, "b"), ("n3", 1, "c"), ("n4", 5, "d")]
    own.publish(table(*ADOPTED[1:], *others))
    assert own.publish(table(*ADOPTED, *others, ("n6", 1, "b"))).manifest["release"] == 3
