"""Releases of any tool are judged by what is promised: by their manifest or, where they have none, by the config."""

from dataclasses import dataclass, replace
from typing import ClassVar

import polars as pl
import pytest

import reveil as rv
from reveil.adversary.promises import read_promises
from reveil.guarantees.static.static import Static
from reveil.models.any_group import AnyGroup
from reveil.models.base import Model
from reveil.models.limits import Limit
from reveil.models.m_uniqueness import MUniqueness
from reveil.releases import format_one
from reveil.releases.limits import limits_of
from tests.cli.run import reveil
from tests.manifests import promise_of

SCHEMA = rv.Schema(person="pid", quasi="x", sensitive="s", types={"x": "number"})


def table(rows):
    """Return a release of boxes and values: (lo, hi, value)."""
    return pl.DataFrame({"x": [f"[{lo}, {hi}]" for lo, hi, _ in rows], "s": [value for *_, value in rows]})


def people(**values):
    """Return a snapshot: pid = (x, value)."""
    return pl.DataFrame(
        {
            "pid": list(values),
            "x": [x for x, _ in values.values()],
            "s": [value for _, value in values.values()],
        }
    )


@pytest.fixture
def two():
    """Two people in one group of each of two releases: {flu, chlamydia}, then {chlamydia, fever}."""
    releases = [table([(1, 2, "flu"), (1, 2, "chlamydia")]), table([(1, 2, "chlamydia"), (1, 2, "fever")])]
    truth = [people(a=(1, "flu"), b=(2, "chlamydia")), people(a=(1, "fever"), b=(2, "chlamydia"))]
    return releases, truth


def test_ever_is_judged_in_files_without_a_manifest(two):
    releases, truth = two
    found = rv.audit(releases, SCHEMA, truth=truth, guarantee=rv.GlobalGuarantee(2, rv.ConstantRatio(releases=3)))
    assert not found.held
    assert found.summary["highest_proven"] == pytest.approx(3 / 4)
    assert found.summary["above"]["bound"] == 2
    assert rv.audit(releases, SCHEMA, truth=truth).held  # nobody promised anything


def test_values_called_harmless_by_the_config_are_nobodys_to_count(two):
    releases, truth = two
    harmless = rv.GlobalGuarantee(2, rv.ConstantRatio(releases=3), harmless=["chlamydia"])
    assert rv.audit(releases, SCHEMA, truth=truth, guarantee=harmless).held


ALONE = [
    (1, 3, "flu"), (1, 3, "gout"), (1, 3, "flu"), (9, 9, "flu"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "settings", "held", "attack"),
    [
        (ALONE, {"k": 3}, False, "linkage"),
        (ALONE[:3], {"k": 3}, True, "linkage"),
        (ALONE[:3], {"l": 2}, True, "homogeneity"),
        (ALONE[:3], {"l": 3}, False, "homogeneity"),
        (ALONE[:3], {"l": 2, "diversity": "frequency"}, False, "homogeneity"),
        (ALONE[:3], {"l": 1.5, "diversity": "frequency"}, True, "homogeneity"),
        (ALONE[:3], {"l": 2, "diversity": "entropy"}, False, "homogeneity"),
        (ALONE[:3], {"l": 1.8, "diversity": "entropy"}, True, "homogeneity"),
        (ALONE[:3], {"l": 2, "c": 2, "diversity": "recursive"}, False, "homogeneity"),
        (ALONE[:3], {"l": 2, "c": 2.1, "diversity": "recursive"}, True, "homogeneity"),
        (ALONE, {"t": 0.2, "distance": "equal"}, False, "homogeneity"),
        (ALONE, {"t": 0.25, "distance": "equal"}, True, "homogeneity"),
    ],
)
def test_a_static_promise_is_judged_by_the_attack_it_speaks_of(rows, settings, held, attack):
    truth = people(**{f"p{i}": (lo, value) for i, (lo, _, value) in enumerate(rows)})
    found = rv.audit(table(rows), SCHEMA, truth=truth, guarantee=Static(**settings))
    assert found.held is held
    assert [own["attack"] for own in found.limits] == [attack]
    assert [own["held"] for own in found.limits] == [held]
    # Who asks for another attack is not told that the promise was judged.
    assert not rv.audit(table(rows), SCHEMA, truth=truth, guarantee=Static(**settings), attacks="serial").limits


def test_a_record_alone_in_its_class_breaks_k_on_the_command_line(tmp_path):
    (tmp_path / "reveil.toml").write_text(
        '[columns]\npid = "person"\nx = "quasi"\ns = "sensitive"\n[guarantee]\nkind = "static"\nk = 3\n'
    )
    table(ALONE).write_csv(tmp_path / "r.csv")
    people(a=(1, "flu"), b=(2, "gout"), c=(3, "flu"), d=(9, "flu")).write_csv(tmp_path / "t.csv")
    done = reveil("audit", tmp_path / "r.csv", "-c", tmp_path / "reveil.toml", "--truth", tmp_path / "t.csv")
    assert done.returncode == 1
    assert "BROKEN: the row of 1 person can be found in release 1 alone with a chance of up to 1" in done.stderr
    assert "0.3333 is promised (every group has at least 3 records)" in done.stderr


def test_who_may_be_in_several_groups_has_the_values_of_all():
    rows = [(1, 4, "flu"), (1, 4, "flu"), (2, 5, "gout"), (2, 5, "gout")]
    truth = people(a=(2, "flu"), b=(3, "flu"), c=(3, "gout"), d=(4, "gout"))
    found = rv.audit(table(rows), SCHEMA, truth=truth, guarantee=Static(l=2))
    assert found.held  # nobody's group is known
    same = [(lo, hi, "flu") for lo, hi, _ in rows]
    truth = truth.with_columns(s=pl.lit("flu"))
    found = rv.audit(table(same), SCHEMA, truth=truth, guarantee=Static(l=2))
    assert not found.held
    assert found.limits[0]["persons"] == 4


def test_refinement_is_judged_by_the_sets_of_people_told_apart():
    one = table([(1, 4, "a"), (1, 4, "b"), (1, 4, "c"), (1, 4, "d")])
    other = table([(1, 1, "a"), (2, 4, "b"), (2, 4, "c"), (2, 4, "d")])
    truth = people(p=(1, "a"), q=(2, "b"), r=(3, "c"), s=(4, "d"))
    k = rv.Refinement(k=2)
    assert rv.audit([one, one], SCHEMA, truth=[truth, truth], guarantee=k).held
    found = rv.audit([one, other], SCHEMA, truth=[truth, truth], guarantee=k)
    assert not found.held
    assert [(own["over"], own["persons"], own["worst"]) for own in found.limits] == [("series", 1, 1.0)]
    halves = [table([(1, 2, "a"), (1, 2, "b"), (3, 4, "c"), (3, 4, "d")])]
    halves.append(table([(1, 1, "a"), (2, 3, "b"), (2, 3, "c"), (4, 4, "d")]))
    # Everybody is alone in the intersections, though only p and s are alone in a release.
    assert rv.audit(halves, SCHEMA, truth=[truth, truth], guarantee=k).limits[0]["persons"] == 4


def test_a_manifest_is_judged_by_itself_and_not_by_the_config(tmp_path):
    schema = rv.Schema(person="pid", quasi="x", sensitive="s")
    frame = pl.DataFrame({"pid": range(40), "x": range(40), "s": ["a", "b", "c", "d"] * 10})
    release = rv.anonymize(frame, schema, rv.KAnonymity(4), seed=1)
    found = rv.audit(release, schema, truth=frame, guarantee=Static(k=30))
    assert found.held
    assert found.limits[0]["says"] == "every group has at least 4 records"
    # One that states no limits and is of a kind that nobody knows is judged by what the caller says.
    silent = replace(release.manifest.promise, kind="elsewhere", limits=None)
    release = release.under(replace(release.manifest, promise=silent))
    assert not rv.audit(release, schema, truth=frame, guarantee=Static(k=30)).held


@dataclass(frozen=True)
class Mine:
    """A guarantee from elsewhere, with a bound."""

    kind: ClassVar[str] = "mine"

    def limits(self):
        """At most a quarter."""
        return (Limit("value", "series", "a quarter at most", at_most=0.25),)


def test_the_bound_of_a_plugin_is_audited():
    rows = [(1, 2, "flu"), (1, 2, "gout")]
    truth = people(a=(1, "flu"), b=(2, "gout"))
    found = rv.audit(table(rows), SCHEMA, truth=truth, guarantee=Mine())
    assert found.summary["bound"] == 0.25
    assert not found.held
    assert rv.audit(table(rows), SCHEMA, truth=truth, guarantee=rv.KAnonymity(2)).held  # a model for each release


def test_every_guarantee_declares_what_its_manifest_is_read_as():
    from reveil.core import registry

    cases = {
        "static": [rv.Static(k=3, l=2, diversity="entropy", t=0.3), rv.Static(l=2, diversity="recursive", c=2)],
        "refinement": [rv.Refinement(k=3, l=2, diversity="frequency")],
        "m-invariance": [rv.MInvariance(3)],
        "tau-safety": [rv.TauSafety(m=4)],
        "global": [rv.GlobalGuarantee(2, rv.ConstantRatio(releases=3), harmless=["a"], permanent=["b"])],
        "worlds": [rv.PossibleWorlds(3)],
    }
    assert cases.keys() == set(registry.names("guarantees"))
    for guarantees in cases.values():
        for own in guarantees:
            promise = own.promise(SCHEMA, None)
            limits = limits_of(promise)
            assert format_one.limits_of(promise.guarantee()) == limits
            assert limits
            numbers = [limit.at_most for limit in limits if limit.about != "link" and limit.over == "series"]
            assert promise.bound == min((n for n in numbers if n is not None), default=None)


def test_every_model_is_read_back_from_what_a_manifest_states():
    from reveil.core import registry

    for cls in registry.everything("models").values():
        for model in cls.examples():
            read = format_one.models_of(model.parameters())
            assert read == ([] if isinstance(model, AnyGroup) else [model]), model
            assert isinstance(model, Model)
    assert MUniqueness(2).limits()


def test_what_promises_nothing_has_no_limits():
    assert limits_of(promise_of({"kind": "unknown"})) is None
    assert limits_of(promise_of({"kind": "tau-safety", "m": 4, "strict": False})) == ()
    assert read_promises([promise_of({"kind": "unknown"})], None, SCHEMA).series == ()
    assert limits_of(promise_of({"kind": "static", "k": "many", "t": [1]})) == ()
