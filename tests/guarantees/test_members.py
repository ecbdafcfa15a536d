"""A guarantee decides, and says what it is: what everybody who writes one has to know is little."""

from dataclasses import fields, is_dataclass

import pytest

import reveil as rv
from reveil.core import registry
from reveil.guarantees.base import Budgeted, Guarantee
from reveil.guarantees.traits import Caution, Traits

MEMBERS = {"kind", "explained", "traits", "check", "model_for", "promise", "decide", "adopt"}
KINDS = registry.everything("guarantees")
SCHEMA = rv.Schema(person="pid", quasi=["age"], sensitive="ill", orders={"ill": tuple("abcdefgh")})


def public(cls):
    return {name for name in {*vars(cls), *vars(cls).get("__annotations__", {})} if not name.startswith("_")}


def test_there_are_eight_members():
    assert public(Guarantee) == MEMBERS
    assert len(MEMBERS) == 8


@pytest.mark.parametrize("kind", KINDS)
def test_a_guarantee_is_a_dataclass_whose_fields_are_its_settings(kind):
    cls = KINDS[kind]
    assert is_dataclass(cls)
    assert cls.kind == kind
    assert not MEMBERS & {own.name for own in fields(cls)}


def test_a_setting_may_change_that_does_not_promise():
    remembering = Traits({}, remembers=True, making=frozenset("p"), free=frozenset("q"), grow=frozenset("r"))
    assert remembering.may_change("p", 1, 2)
    assert remembering.may_change("q", 1, 2)
    assert remembering.may_change("r", ["a"], ["b", "a"])
    assert not remembering.may_change("r", ["a"], ["b"])
    assert not remembering.may_change("r", None, ["b"])
    assert not remembering.may_change("k", 1, 2)
    assert Traits({}).may_change("k", 1, 2)


def test_a_caution_is_said_when_there_is_something_to_say():
    caution = Caution(("returned", "changed"), "{returned:,} came back, {changed:,} changed")
    assert caution.warning(before=9, returned=0, changed=0) is None
    assert caution.warning(before=0, returned=0, changed=2000) == "0 came back, 2,000 changed"


def test_values_that_the_schema_declares():
    assert rv.TauSafety(m=2).traits.declared_in(SCHEMA) == tuple("abcdefgh")
    assert rv.TauSafety(m=2, domain=("x", "y")).traits.declared_in(SCHEMA) == ("x", "y")
    assert rv.MInvariance(m=2).traits.declared_in(SCHEMA) == ()


def test_only_who_spends_a_budget_has_one(tmp_path):
    budgeted = [kind for kind, cls in KINDS.items() if issubclass(cls, Budgeted)]
    assert budgeted == ["global"]
    with pytest.raises(rv.ConfigError, match="spends no budget"):
        rv.Series.open(tmp_path / "v", SCHEMA, rv.MInvariance(2)).budget()
