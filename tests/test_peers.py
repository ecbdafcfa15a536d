"""What other tools get wrong, each seen in the wild, and that Reveil gets it right."""

import gc
import tomllib
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import reveil as rv
from reveil.core import registry
from reveil.testing import hospital

ROOT = Path(__file__).parent.parent
PEOPLE = rv.Schema(quasi=["age", "zip"], sensitive="disease")


def test_a_person_with_a_null_quasi_value_is_not_dropped_from_the_count():
    # One person alone with an unknown zip beside a group of three: k is 1, not 3.
    frame = pl.DataFrame({"age": [30] * 4, "zip": ["a", "a", "a", None], "disease": ["x", "y", "z", "x"]})
    assert rv.anonymize(frame, PEOPLE, rv.KAnonymity(1)).manifest["achieved"] == {"k": 1}
    safe = rv.anonymize(frame, PEOPLE, rv.KAnonymity(3))
    assert safe.manifest["achieved"] == {"k": 4}
    assert safe.table["zip"].unique().to_list() == ["a | null"]


def test_index_labels_are_not_positions_and_are_not_published():
    frame = pd.DataFrame(
        {"age": [30, 30, 50, 50], "zip": ["a"] * 4, "disease": ["x", "x", "y", "z"]}, index=[7, 7, 0, 3]
    ).rename_axis("row")
    release = rv.anonymize(frame, PEOPLE, rv.KAnonymity(2) & rv.DistinctDiversity(1))
    assert release.manifest["achieved"] == {"k": 2, "l": 1}
    assert list(release.table.columns) == ["age", "zip", "disease"]
    assert release.table.index.to_list() == [0, 1, 2, 3]


def test_failure_is_an_error_not_an_empty_frame(capsys):
    frame = pl.DataFrame({"age": [1, 2], "zip": ["a", "b"], "disease": ["x", "x"]})
    with pytest.raises(rv.InfeasibleError):
        rv.anonymize(frame, PEOPLE, rv.DistinctDiversity(2))
    assert capsys.readouterr().out == ""


def test_a_small_t_is_kept():
    frame = hospital.month(2000, seed=2)
    release = rv.anonymize(frame, hospital.schema(), rv.TCloseness(0.05, distance="equal"))
    assert release.manifest["achieved"]["t"]["diagnosis"] <= 0.05
    loose = rv.anonymize(frame, hospital.schema(), rv.TCloseness(0.5, distance="equal"))
    assert loose.manifest["groups"] > release.manifest["groups"]


def test_nothing_is_exported_that_does_not_exist():
    for name in rv.__all__:
        assert getattr(rv, name) is not None
    for group in registry.GROUPS:
        assert registry.everything(group)
    with pytest.raises(rv.ConfigError, match="unknown guarantee"):
        registry.find("guarantees", "no-such-thing")


def test_suppressed_rows_are_no_class():
    frame = pl.DataFrame({"age": [1, 1, 1, 2, 2, 2, 90], "zip": ["a"] * 7, "disease": ["x"] * 7})
    release = rv.anonymize(frame, PEOPLE, rv.KAnonymity(3), suppress=0.2)
    assert release.manifest["suppressed"] == 1
    assert release.table.group_by("age", "zip").len().height == release.manifest["groups"] == 2
    assert release.table.height == 6


def test_a_guarantee_does_not_go_stale(tmp_path):
    release = rv.anonymize(hospital.month(200), hospital.schema(), rv.KAnonymity(5))
    with pytest.raises(AttributeError):
        release.classes = None
    path = release.write(tmp_path / "r.csv")
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:-1]) + "\n")  # a later step that drops a row
    with pytest.raises(rv.VerificationError):
        rv.Release.read(path)


def test_an_undeclared_column_is_an_error_with_the_line_to_add():
    frame = pl.DataFrame({"age": [1], "zip": ["a"], "disease": ["x"], "salary": [3]})
    with pytest.raises(rv.DataError, match=r'salary.*not declared(.|\n)*salary = "quasi"'):
        rv.anonymize(frame, PEOPLE, rv.KAnonymity(1))


def test_a_hierarchy_that_misses_values_names_them_at_once(tmp_path):
    (tmp_path / "zip.csv").write_text("a;*\nb;*\n")
    schema = rv.Schema(quasi=["age", "zip"], sensitive="disease", hierarchies={"zip": tmp_path / "zip.csv"})
    frame = pl.DataFrame({"age": [1, 2], "zip": ["a", "Q"], "disease": ["x", "y"]})
    with pytest.raises(rv.DataError, match="'Q'"):
        rv.anonymize(frame, schema, rv.KAnonymity(1))


def test_a_release_does_not_carry_the_raw_table():
    frame = pl.DataFrame({"pid": ["marker-of-a-person", "p2"], "age": [30, 31], "disease": ["x", "y"]})
    release = rv.anonymize(frame, rv.Schema(person="pid", quasi="age", sensitive="disease"), rv.KAnonymity(2))
    seen, stack = set(), [release]
    while stack:
        thing = stack.pop()
        if id(thing) in seen or isinstance(thing, type) or callable(thing):
            continue
        seen.add(id(thing))
        if isinstance(thing, pl.DataFrame):
            assert "pid" not in thing.columns
        elif isinstance(thing, pl.Series):
            assert "marker-of-a-person" not in thing.to_list()
        else:
            stack += gc.get_referents(thing)


def test_dependencies_are_ranges():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert all(">=" in need and "==" not in need for need in project["dependencies"])
