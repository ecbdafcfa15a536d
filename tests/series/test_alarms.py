"""Figures beyond which nothing is published, and those of which the owner is warned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import reveil as rv
from reveil.series.alarms import AlarmFigure, Alarms, budget_ends
from reveil.series.config import load_config
from reveil.series.publishing import publish_file

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 60
COLUMNS = '[columns]\npid = "person"\nage = "quasi"\ndisease = "sensitive"\n'


def table(folder: Path, values: list[str], ages: list[int] | None = None) -> Path:
    path = folder / "table.csv"
    ages = ages or list(range(len(values)))
    pl.DataFrame({"pid": range(len(values)), "age": ages, "disease": values}).write_csv(path)
    return path


def config(folder: Path, guarantee: str, limits: str = "", columns: str = COLUMNS) -> Path:
    path = folder / "reveil.toml"
    path.write_text(f"[series]\nname = 's'\nvault = 's.vault'\n{columns}[guarantee]\n{guarantee}\n[limits]\n{limits}\n")
    return path


HALF = ["gout"] * (ROWS // 2) + [f"v{i % 12}" for i in range(ROWS // 2)]  # m = 3 needs half as many rows again
EVEN = [f"v{i % 12}" for i in range(ROWS)]
TAU, STATIC = 'kind = "tau-safety"\nm = 3', 'kind = "static"\nk = 5'

BEYOND = {
    "counterfeits": (HALF, TAU, "counterfeits = 0.2", "30 of 90 rows are counterfeits (33.3%)", "at most 20.0%"),
    "width": (EVEN, STATIC, "width = 0.01", "of its column wide on average", "at most 1.0%"),
    "groups": (EVEN, STATIC, "groups = 1000", "groups, and", "at least 1,000"),
}


@pytest.mark.parametrize(("values", "guarantee", "limits", "figure", "limit"), BEYOND.values(), ids=BEYOND.keys())
def test_beyond_a_limit_nothing_is_published(
    tmp_path: Path, values: list[str], guarantee: str, limits: str, figure: str, limit: str
) -> None:
    data, out = table(tmp_path, values), tmp_path / "out.csv"
    path = config(tmp_path, guarantee, limits)
    with pytest.raises(rv.RefusedError) as refused:
        publish_file(load_config(path), data, out)
    said = str(refused.value)
    assert figure in said
    assert limit in said
    assert "nothing was published" in said
    assert " or " in said  # two ways out, and the limit itself
    assert "under [limits]" in said
    assert not [value for value in set(values) if f" {value} " in said]
    assert not out.exists()
    assert rv.Series.load(path).history() == []
    # With the limit raised, the same table is release 1: the refusal left nothing behind.
    path = config(tmp_path, guarantee)
    assert publish_file(load_config(path), data, out).release.manifest.release == 1


@pytest.mark.parametrize("name", ["counterfeits", "withheld", "suppressed", "width", "delta"])
def test_every_figure_has_its_limit_and_its_ways_out(name: str) -> None:
    figures = {name: AlarmFigure(0.2, "it is so", unusual=True, usual=": too much")}
    assert Alarms(**{name: 0.2}).judge(figures) == []
    assert Alarms().judge(figures) == ["it is so: too much"]
    with pytest.raises(rv.RefusedError, match=r"it is so, and \[limits\] asks for at most") as refused:
        Alarms(**{name: 0.1}).judge(figures)
    assert f"Or change {name} under [limits]." in str(refused.value)


def test_a_refusal_changes_nothing_in_a_series_that_has_begun(tmp_path: Path) -> None:
    schema = rv.Schema(person="pid", quasi="age", sensitive="disease")
    frame = pl.DataFrame({"pid": range(ROWS), "age": range(ROWS), "disease": EVEN})
    rv.Series.open(tmp_path / "v", schema, rv.TauSafety(3), seed=1).publish(frame)
    few = frame.head(5)
    strict = rv.Series.open(tmp_path / "v", schema, rv.TauSafety(3), seed=1, limits={"counterfeits": 0.0})
    with pytest.raises(rv.RefusedError, match="counterfeits"):
        strict.publish(few)
    with pytest.raises(rv.RefusedError, match="counterfeits"):
        strict.publish(few, dry_run=True)
    assert [row["state"] for row in strict.history()] == ["confirmed"]
    assert strict.publish(frame, again=True).manifest["release"] == 2


def test_a_release_at_its_limit_is_published(tmp_path: Path) -> None:
    data = table(tmp_path, HALF)
    path = config(tmp_path, TAU, f"counterfeits = {30 / 90}\ngroups = 30")
    assert publish_file(load_config(path), data, tmp_path / "out.csv").how == "published"


def test_a_config_without_a_vault_has_limits_too(tmp_path: Path) -> None:
    data = table(tmp_path, EVEN)
    path = tmp_path / "reveil.toml"
    path.write_text(f"{COLUMNS.replace('person', 'identifier')}[guarantee]\n{STATIC}\n[limits]\ngroups = 100\n")
    with pytest.raises(rv.RefusedError, match="groups"):
        publish_file(load_config(path), data, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


WRONG = {
    "no share": ("width = 2", "share from 0 to 1"),
    "below nothing": ("withheld = -0.1", "share from 0 to 1"),
    "a word": ('width = "wide"', "must be a number"),
    "half a group": ("groups = 1.5", "whole number"),
    "no group": ("groups = 0", "from 1 up"),
    "unknown": ("rows = 3", "no setting"),
    "nothing is sampled": ("delta = 0.1", "nothing here is sampled"),
}


@pytest.mark.parametrize(("limits", "words"), WRONG.values(), ids=WRONG.keys())
def test_limits_that_cannot_be(tmp_path: Path, limits: str, words: str) -> None:
    path = config(tmp_path, STATIC, limits)
    with pytest.raises(rv.ConfigError) as wrong:
        rv.Series.load(path)
    assert words in str(wrong.value)
    assert wrong.value.exit_code == 2
    assert wrong.value.file == str(path)
    assert wrong.value.hint


GRID = """kind = "static"
k = 5
[method]
kind = "safe-grid"
beta = 0.5
epsilon = 1.0
scales = { age = [0, 30, 60] }"""
TYPED = '[columns]\npid = "identifier"\nage = { role = "quasi", type = "number" }\ndisease = "identifier"\n'


@pytest.mark.parametrize(
    ("guarantee", "limits", "words", "columns"),
    [
        (f"{STATIC}\nsuppress = 0.1", "suppressed = 0.05", "suppress = 0.1 allows more", COLUMNS),
        (GRID, "delta = 1e-30", "k, beta and epsilon give", TYPED),
        (GRID, "suppressed = 0.5", "kept secret", TYPED),
    ],
)
def test_limits_that_contradict_what_is_asked_for(
    tmp_path: Path, guarantee: str, limits: str, words: str, columns: str
) -> None:
    with pytest.raises(rv.ConfigError, match=words):
        rv.Series.load(config(tmp_path, guarantee, limits, columns))


def test_a_delta_within_its_limit_is_published(tmp_path: Path) -> None:
    data = table(tmp_path, EVEN * 40, [i % 60 for i in range(ROWS * 40)])
    path = config(tmp_path, GRID, "delta = 0.5", TYPED)
    published = publish_file(load_config(path), data, tmp_path / "out.csv")
    assert "delta" not in (published.note or "")  # 1/n is for those who set no limit
    path = config(tmp_path, GRID, "", TYPED)
    note = publish_file(load_config(path), data, tmp_path / "again.csv", again=True).note or ""
    assert "delta is" in note
    assert "more than 1/n" in note


def note_of(folder: Path, values: list[str], guarantee: str, limits: str = "", **ages: Any) -> str:
    path = config(folder, guarantee, limits)
    return publish_file(load_config(path), table(folder, values, **ages), folder / "out.csv", dry_run=True).note or ""


def test_what_is_unusual_is_said(tmp_path: Path) -> None:
    assert "30 of 90 rows are counterfeits (33.3%): more than 10%" in note_of(tmp_path, HALF, TAU)
    assert "there are 2 groups: fewer than 10" in note_of(tmp_path, EVEN, STATIC.replace("5", "30"))
    assert "there is 1 group: fewer" in note_of(tmp_path, EVEN, STATIC.replace("5", "60"))
    assert "a cell is 100% of its column wide on average: more than 60%" in note_of(
        tmp_path, EVEN, STATIC.replace("5", "60")
    )


def test_what_is_usual_or_allowed_is_not_said(tmp_path: Path) -> None:
    assert note_of(tmp_path, EVEN, TAU) == ""
    assert note_of(tmp_path, HALF, TAU, "counterfeits = 0.5") == ""  # the owner has decided


def test_withheld_records_are_a_share_of_the_records(tmp_path: Path) -> None:
    """Under refinement nobody may be left alone: of a small part, people are held back."""
    schema = rv.Schema(person="pid", quasi="age", sensitive="disease")
    frame = pl.DataFrame({"pid": range(ROWS), "age": range(ROWS), "disease": EVEN})
    guarantee = rv.Refinement(k=5, dirty="never")
    series = rv.Series.open(tmp_path / "v", schema, guarantee, seed=1)
    series.publish(frame)
    part = frame.filter(pl.col("pid") % 7 != 0)
    release = series.publish(part, dry_run=True)
    assert release.manifest.withheld > 0
    share = release.manifest.withheld / part.height
    notes = " ".join(series.notes)
    assert (f"{release.manifest.withheld} of {part.height} records are withheld ({share:.1%})" in notes) == (
        share > 0.1
    )
    strict = rv.Series.open(tmp_path / "v", schema, guarantee, seed=1, limits={"withheld": share / 2})
    with pytest.raises(rv.RefusedError, match="records are withheld"):
        strict.publish(part)


def test_a_budget_that_ends_with_the_next_release_is_said(tmp_path: Path) -> None:
    schema = rv.Schema(person="pid", quasi="age", sensitive="disease")
    frame = pl.DataFrame({"pid": range(ROWS), "age": range(ROWS), "disease": EVEN})
    guarantee = rv.GlobalGuarantee(l=2, strategy=rv.ConstantRatio(releases=3))
    series = rv.Series.open(tmp_path / "v", schema, guarantee, seed=1)
    said = []
    for _ in range(3):
        series.publish(frame, again=True)
        said.append(any("uses up the budget" in note for note in series.notes))
    assert said[0] is False
    assert said[1] is True


def test_a_budget_that_lasts_is_no_reason_to_speak() -> None:
    assert budget_ends([]) is None
    assert budget_ends([{"releases_left": 2}, {"releases_left": None}]) is None
    assert "1 of 2 values" in (budget_ends([{"releases_left": 1}, {"releases_left": 5}]) or "")
