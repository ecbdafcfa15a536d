"""A series keeps the defaults of its first release; what its config names goes before them."""

from dataclasses import dataclass, replace
from enum import StrEnum

import pytest

import reveil as rv
from reveil.core.defaults import defaults_of, filled, in_force, kept_default
from reveil.core.effort import Effort
from reveil.core.errors import RefusedError
from reveil.series import beginning
from reveil.tables.schema import Column, Role, Schema
from tests.series.cases import SCHEMA, series, snapshot


class Pace(StrEnum):
    SLOW = "slow"
    FAST = "fast"


@dataclass(frozen=True)
class Tau(rv.TauSafety):
    """Tau-safety of a later version, which has a setting more."""

    pace: Pace | None = kept_default(Pace.SLOW, before=Pace.FAST)


@dataclass(frozen=True)
class LaterTau(rv.TauSafety):
    """Of a version after that one: the default is another again."""

    pace: str | None = kept_default("steady", before="fast")


@dataclass(frozen=True, kw_only=True)
class Cuts(rv.Mondrian):
    """A method of a later version."""

    pace: str | None = kept_default("slow", before="fast")

    def parameters(self):
        return {**super().parameters(), "pace": in_force(self, "pace")}


@dataclass(frozen=True)
class Wide(Column):
    """A column of a later version: only quasi columns have the setting."""

    pace: str | None = kept_default("slow", before="fast", only_where="is_quasi")

    @property
    def is_quasi(self):
        return self.role is Role.QUASI


@dataclass(frozen=True, kw_only=True)
class Refined(rv.Refinement):
    """Refinement of a later version, whose usual method has a setting more."""

    @property
    def traits(self):
        return replace(super().traits, usual_method=Cuts())


def published(own, last=40):
    """Publish somebody more, and return the note and what the vault keeps."""
    note = own.publish_to(None, snapshot(0, last)).note
    with own._opened() as vault:
        return note, vault.setting("config"), vault.setting("defaults")


def test_a_setting_that_nobody_names_is_the_default_of_now_outside_a_series():
    assert Tau(m=2).pace is None
    assert in_force(Tau(m=2), "pace") is Pace.SLOW
    assert in_force(Tau(m=2, pace=Pace.FAST), "pace") is Pace.FAST
    assert filled(Tau(m=2)) == Tau(m=2, pace=Pace.SLOW, effort=Effort.NORMAL)
    assert filled(Tau(m=2), {}).pace is Pace.FAST
    assert filled(Tau(m=2), {"pace": "slow"}).pace is Pace.SLOW
    assert filled(Tau(m=2, pace=Pace.FAST), {"pace": "slow"}).pace is Pace.FAST
    assert defaults_of(rv.TauSafety(m=2)).keys() <= defaults_of(Tau(m=2)).keys()


def test_a_new_series_has_the_new_default_and_keeps_it(tmp_path):
    note, config, defaults = published(series(tmp_path, Tau(m=2)))
    assert "as it began" not in str(note)
    assert (config["guarantee.pace"], defaults["guarantee.pace"]) == ("slow", "slow")
    own = series(tmp_path, LaterTau(m=2))
    note, config, defaults = published(own, 50)
    assert own.guarantee.pace == "slow"
    assert 'guarantee.pace = "slow"; series that begin now have guarantee.pace = "steady"' in note
    assert (config["guarantee.pace"], defaults["guarantee.pace"]) == ("slow", "slow")
    note, _, _ = published(series(tmp_path, LaterTau(m=2)), 60)
    assert "as it began" not in str(note)


def test_an_older_series_goes_on_as_before_there_was_a_choice_and_says_so_once(tmp_path):
    published(series(tmp_path))
    own = series(tmp_path, Tau(m=2))
    assert own.guarantee.pace is Pace.FAST
    note, config, defaults = published(own, 50)
    assert 'guarantee.pace = "fast"; series that begin now have guarantee.pace = "slow"' in note
    assert (config["guarantee.pace"], defaults["guarantee.pace"]) == ("fast", "fast")
    assert "as it began" not in str(published(own, 60)[0])


def test_a_dry_run_does_not_use_the_note_up(tmp_path):
    published(series(tmp_path))
    own = series(tmp_path, Tau(m=2))
    assert "as it began" in own.publish_to(None, snapshot(0, 50), dry_run=True).note
    assert "as it began" in published(own, 50)[0]


def test_a_named_setting_holds_while_it_is_named(tmp_path):
    published(series(tmp_path))
    note, config, defaults = published(series(tmp_path, Tau(m=2, pace=Pace.SLOW)), 50)
    assert "as it began" not in str(note)
    assert (config["guarantee.pace"], defaults["guarantee.pace"]) == ("slow", "fast")
    own = series(tmp_path, Tau(m=2))
    note, config, _ = published(own, 60)
    assert (own.guarantee.pace, config["guarantee.pace"]) == (Pace.FAST, "fast")
    assert "as it began" in note  # nothing was said while it was named


def test_other_settings_are_held_to_what_they_were(tmp_path):
    published(series(tmp_path))
    with pytest.raises(RefusedError, match=r"guarantee\.m"):
        series(tmp_path, Tau(m=3, pace=Pace.SLOW))


def test_the_same_snapshot_is_published_anew_when_a_setting_is_named(tmp_path):
    published(series(tmp_path, Tau(m=2)))
    assert series(tmp_path, Tau(m=2)).publish_to(None, snapshot()).how == "already"
    assert series(tmp_path, Tau(m=2, pace=Pace.FAST)).publish_to(None, snapshot()).how == "published"


@pytest.mark.parametrize("named", [True, False])
def test_a_method_keeps_its_defaults_whether_it_is_named_or_the_usual_one(tmp_path, named):
    old = {"method": rv.Mondrian()} if named else {}
    new = {"method": Cuts()} if named else {}
    published(series(tmp_path, rv.Refinement(k=3), **old))
    own = series(tmp_path, Refined(k=3), **new)
    assert own.method == filled(Cuts(pace="fast"))
    note, config, defaults = published(own, 60)
    assert 'method.pace = "fast"' in note
    assert (config["method.pace"], defaults["method.pace"]) == ("fast", "fast")
    assert config.get("method.kind") == ("mondrian" if named else None)
    own = series(tmp_path, Refined(k=3), method=Cuts(pace="slow") if named else None)
    assert own.method == filled(Cuts(pace="slow" if named else "fast"))
    published(own, 80)


def test_the_usual_method_of_a_new_series_is_as_it_is(tmp_path):
    own = series(tmp_path, Refined(k=3))
    assert published(own)[1:] == published(own)[1:]
    assert own.method is None


def test_columns_keep_their_defaults_one_for_all_of_them(tmp_path, monkeypatch):
    for name in ("new", "old"):
        (tmp_path / name).mkdir()
    published(series(tmp_path / "old"))
    monkeypatch.setattr(beginning, "Column", Wide)

    def schema(**given):
        columns = [Wide(one.name, one.role, pace=given.get(one.name)) for one in SCHEMA.columns]
        return Schema.of(columns)

    def paces(own):
        return {one.name: one.pace for one in own.schema.columns}

    own = series(tmp_path / "new", schema=schema())
    published(own)
    assert paces(own) == {"pid": None, "age": "slow", "town": "slow", "disease": None}
    own = series(tmp_path / "old", schema=schema(town="slow"))
    note, config, defaults = published(own, 50)
    assert paces(own) == {"pid": None, "age": "fast", "town": "slow", "disease": None}
    assert 'columns.pace = "fast"' in note
    assert (config["columns.age.pace"], config["columns.town.pace"]) == ("fast", "slow")
    assert defaults == {**defaults, "columns.pace": "fast"}
