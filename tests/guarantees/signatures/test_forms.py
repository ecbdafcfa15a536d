"""Forms and efforts of tau-safety: what may be said, what is published, and that nothing else is promised."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.core.effort import Effort
from reveil.core.errors import ConfigError
from reveil.guarantees.signatures.forms import ReleaseForm
from reveil.testing import Group, enumerate_worlds, hospital
from tests.rarely import mostly_slow

SCHEMA = rv.Schema(person="pid", quasi="age", sensitive="value")


def _table(values, first=0):
    """Everybody has an age of their own: who knows it knows the row."""
    return pl.DataFrame(
        {
            "pid": np.arange(first, first + len(values)),
            "age": 20 + np.arange(first, first + len(values)),
            "value": list(values),
        }
    )


@pytest.mark.parametrize(
    ("given", "form"),
    [
        ({}, "boxes"),
        ({"angelize": True}, "angelized"),
        ({"angelize": False}, "boxes"),
        ({"form": "angelized"}, "angelized"),
        ({"form": "exact"}, "exact"),
        ({"form": "exact", "angelize": False}, "exact"),
        ({"form": "angelized", "angelize": True}, "angelized"),
    ],
)
def test_two_names_of_one_form(given, form):
    guarantee = rv.TauSafety(m=2, **given)
    assert (guarantee.form, guarantee.angelize) == (form, form == "angelized")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"form": "exact", "angelize": True}, "contradict"),
        ({"form": "boxes", "angelize": True}, "contradict"),
        ({"form": "angelized", "angelize": False}, "contradict"),
        ({"form": "round"}, "no form"),
        ({"effort": "much"}, "no effort"),
        ({"blind": True, "effort": "normal"}, "blind"),
        ({"angelize": 1}, "true or false"),
    ],
)
def test_what_contradicts_itself_is_refused(given, words):
    with pytest.raises(ConfigError, match=words):
        rv.TauSafety(m=2, **given)


def _members(release, table):
    """Return the groups as somebody sees them who knows everybody's age."""
    ages = dict(zip(table["age"], table["pid"], strict=True))
    rows = release.table.with_columns(pl.col("age").cast(pl.String).str.extract(r"(\d+)").cast(pl.Int64))
    found = []
    for (number,), own in rows.group_by("group"):
        values = release.batch.filter(pl.col("group") == number)
        members = sorted({ages[age] for age in own["age"]})
        found.append(Group(tuple(members), tuple(values["value"].to_list())))
    return found


@pytest.mark.parametrize("seed", mostly_slow(range(6), 2))
def test_exact_releases_tell_no_value_though_counterfeits_can_be_seen(seed, tmp_path):
    """Rows that repeat a record are about nobody, and everybody's group is known: still every belief is 1/m at most."""
    rng = np.random.default_rng(seed)
    domain = tuple("abcdef")
    first = _table(rng.choice(domain[:4], 7, p=[0.5, 0.2, 0.2, 0.1]))
    second = pl.concat([first.filter(pl.Series(rng.random(7) < 0.6)), _table(rng.choice(domain, 2), first=7)])
    series = rv.Series.open(tmp_path / "vault", SCHEMA, rv.TauSafety(m=2, form="exact", domain=domain), seed=seed)
    seen = []
    for table in (first, second):
        release = series.publish(table)
        assert set(release.table["age"].cast(pl.String).str.extract(r"(\d+)").cast(pl.Int64)) == set(table["age"])
        seen.append(_members(release, table))
    changed = {who: {1: False} for who in first["pid"] if who in set(second["pid"])}
    assert enumerate_worlds(seen, changed).highest()[0] <= Fraction(1, 2)
    assert any(word.startswith("Who is in the table is shown") for word in release.manifest.promise.not_covered)
    assert release.manifest.promise.settings["form"] == "exact"


@pytest.mark.parametrize("form", list(ReleaseForm))
@pytest.mark.parametrize("kind", [rv.TauSafety, rv.MInvariance])
def test_more_effort_makes_cells_narrower(kind, form, tmp_path):
    table = hospital.month(600, seed=1)
    own = {"form": form} if kind is rv.TauSafety else {}
    if not own and form is not ReleaseForm.BOXES:
        pytest.skip("m-invariance has one form")
    width = {}
    for effort in (Effort.QUICK, Effort.NORMAL):
        guarantee = kind(m=3, effort=effort, **own)
        series = rv.Series.open(tmp_path / effort, hospital.schema(), guarantee, seed=1)
        release = series.publish(table)
        width[effort] = rv.measure(table, release, hospital.schema())["gcp"]
    if form is ReleaseForm.BOXES:
        assert width[Effort.NORMAL] < 0.8 * width[Effort.QUICK]
    elif form is ReleaseForm.EXACT:
        assert width[Effort.NORMAL] == 0


def test_an_effort_may_change_from_release_to_release(tmp_path):
    year = list(hospital.year(300, months=3, seed=2))
    for effort, table in zip((Effort.QUICK, Effort.NORMAL, Effort.THOROUGH), year, strict=True):
        series = rv.Series.open(tmp_path / "vault", hospital.schema(), rv.TauSafety(m=2, effort=effort), seed=1)
        series.publish(table)
    assert len(series.history()) == 3


def test_the_same_seed_and_key_give_the_same_release(tmp_path, monkeypatch):
    monkeypatch.setenv("REVEIL_KEY", "07" * 32)
    made = []
    for place in ("one", "two"):
        series = rv.Series.open(tmp_path / place, hospital.schema(), rv.TauSafety(m=3, effort=Effort.NORMAL), seed=1)
        made.append([series.publish(table).table for table in hospital.year(300, months=2, seed=3)])
    assert all(one.equals(other) for one, other in zip(*made, strict=True))
