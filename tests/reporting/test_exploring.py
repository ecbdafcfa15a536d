"""What privacy costs: candidates, points that publishing confirms, a frontier, a page, and a choice."""

from __future__ import annotations

import json
import sys
import tomllib
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import reveil as rv
from reveil.cli import main
from reveil.reporting.exploring import TOO_LATE, explored
from reveil.reporting.exploring.candidates import Candidate, asked, of_config
from reveil.reporting.exploring.choosing import chosen_text
from reveil.reporting.exploring.frontier import marked, named, point_in_words
from reveil.reporting.exploring.page import render
from reveil.reporting.parts import at, display
from reveil.series.config import load_config
from reveil.tables.settings import read_settings
from reveil.testing import hospital
from tests.reporting.html_reader import Reader, sound

if TYPE_CHECKING:
    from pathlib import Path

KEY = "ab" * 32  # the same for every vault: figures then differ by nothing
CONFIG = """# ours
[series]
name = "ward"  # a name
seed = 7

[columns]
pid = "person"
age = "quasi"
sex = "quasi"
town = "quasi"
diagnosis = "sensitive"

[guarantee]
kind = "tau-safety"
m = 4      # as the board decided
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "reveil.toml"
    path.write_text(CONFIG)
    return path


def tables(folder: Path, months: int = 1) -> list[Path]:
    paths = []
    for n, frame in enumerate(hospital.year(120, months=months, seed=3)):
        paths.append(folder / f"month{n}.csv")
        frame.select("pid", "age", "sex", "town", "diagnosis").write_csv(paths[-1])
    return paths


def run(monkeypatch: pytest.MonkeyPatch, *words_: object) -> int:
    monkeypatch.setattr(sys, "argv", ["reveil", *map(str, words_)])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def candidates_of(path: Path, *tries: str) -> list[Any]:
    config = load_config(path)
    return of_config(config, read_settings(path), asked(tries))


def test_the_usual_candidates_and_the_configs_own_as_the_last(config: Path) -> None:
    found = candidates_of(config)
    assert [dict(one.settings) for one in found[:2]] == [{"m": 2, "form": "boxes"}, {"m": 2, "form": "angelized"}]
    assert (len(found), dict(found[-1].settings)) == (8, {"m": 4, "form": "boxes"})
    assert found[-1].guarantee == load_config(config).guarantee
    assert len({one.guarantee for one in found}) == 8


USUAL = {
    'kind = "tau-safety"\nm = 4\nform = "angelized"': (8, {"m": 4, "form": "angelized"}),
    'kind = "tau-safety"\nm = 4\nform = "exact"': (9, {"m": 4, "form": "exact"}),
    'kind = "tau-safety"\nm = 4\nangelize = true': (8, {"m": 4, "angelize": True}),
    'kind = "tau-safety"\nm = 4\nangelize = true\nform = "angelized"': (4, {"m": 4}),
    'kind = "m-invariance"\nm = 3': (4, {"m": 3}),
    'kind = "global"\nl = 2\nstrategy = "constant-ratio"\nreleases = 3': (3, {"releases": 3}),
    'kind = "global"\nl = 2\nstrategy = "geometric"\nalpha = 3.0': (3, {"alpha": 3.0}),
    'kind = "worlds"\nl = 2': (3, {"l": 2}),
    'kind = "refinement"\nk = 5': (3, {"k": 5}),
    'kind = "static"\nk = 5\n[method]\nkind = "bang"\nblock = 5': (4, {"k": 5}),
}


@pytest.mark.parametrize("guarantee", list(USUAL))
def test_every_config_has_usual_candidates(config: Path, guarantee: str) -> None:
    config.write_text(CONFIG[: CONFIG.index("[guarantee]")] + f"[guarantee]\n{guarantee}\n")
    found = candidates_of(config)
    assert (len(found), dict(found[-1].settings)) == USUAL[guarantee]
    assert rv.Series.load(config)
    for one in found[:-1]:  # each can be written into the config
        assert chosen_text(config.read_text(), one.changes) != config.read_text()


def test_a_form_that_does_not_go_with_several_columns_says_why(tmp_path: Path, config: Path) -> None:
    text = CONFIG.replace('town = "quasi"', 'town = "sensitive"').replace("m = 4", 'm = 2\nform = "angelized"')
    config.write_text(text)
    found, schema = candidates_of(config, "form=boxes"), load_config(config).schema
    content = explored(tables(tmp_path), schema, found[:1], None, workers=1)
    assert not content["points"]
    assert "angelized form only" in content["refused"][0]["why"]


def test_neighbours_of_a_guarantee_without_a_config() -> None:
    for form in ("boxes", "angelized", "exact"):
        own = Candidate.of(rv.TauSafety(m=4, form=form), None)
        assert {(one.guarantee.m, one.guarantee.form) for one in own.neighbours()} == {  # type: ignore[attr-defined]
            (m, way) for m in (2, 3, 4, 6) for way in ("boxes", "angelized")
        }


def test_what_is_asked_for_is_tried_in_every_combination(config: Path) -> None:
    found = candidates_of(config, "m=2,3", "method=bang")
    assert [dict(one.settings) for one in found] == [
        {"m": 2, "method": "bang"},
        {"m": 3, "method": "bang"},
        {"m": 4, "method": None},
    ]


@pytest.mark.parametrize(
    ("tries", "named_"),
    [
        (["k"], "not a setting"),
        (["=3"], "not a setting"),
        (["m=2", "m=3"], "each setting once"),
        (["x=3"], "has a setting"),
        (["kind=static"], "another guarantee"),
        (["m=1"], "m must be"),
        (["m=" + ",".join(map(str, range(2, 300)))], "are enough"),
    ],
)
def test_what_cannot_be_tried(config: Path, tries: list[str], named_: str) -> None:
    with pytest.raises(rv.ConfigError, match=named_):
        candidates_of(config, *tries)


def point(n: int, highest: float | None, gcp: float, **more: Any) -> dict[str, Any]:
    risk = {"highest": highest, "mean": highest, "prior": 0.3}
    loss = {"gcp": gcp, "query_error": 0.1, "query_error_sensitive": None}
    return {"n": n, "risk": risk, "loss": loss, "counterfeits": 0, "withheld": 0, "rows": 10, **more}


def test_the_frontier_has_what_nothing_beats() -> None:
    found = marked([point(1, 0.5, 0.1), point(2, 0.25, 0.2), point(3, 0.5, 0.2), point(4, 0.25, 0.2)])
    assert [one["frontier"] for one in found] == [True, True, False, True]  # equal ones beat nobody
    fewer = marked([point(1, 0.5, 0.1, counterfeits=3), point(2, 0.5, 0.1)])
    assert [one["frontier"] for one in fewer] == [False, True]
    assert [one["frontier"] for one in marked([point(1, None, 0.1), point(2, 0.5, 0.2)])] == [True, True]


def test_a_point_in_words_has_its_figures() -> None:
    found = marked([point(1, 0.5, 0.1), point(2, 0.25, 0.2, counterfeits=1200, withheld=3)])
    assert point_in_words(found[0], found) == (
        "Attacks believe somebody's value with 50% at most and 50% on average; guesses by a learnt prior are right for "
        "30% of the people. A cell is 10% of its column wide, and a count is off by 10% on average. No row is made up "
        "and none is held back. Of all it has the narrowest cells."
    )
    assert "It costs 1,200 counterfeits and 3 records withheld. Of all it has the least risk." in point_in_words(
        found[1], found
    )


CHOICES = {
    "a line": ({("guarantee", "m"): 3}, "m = 3  # chosen by reveil explore; it was 4"),
    "a line more": ({("guarantee", "angelize"): True}, "angelize = true  # chosen by reveil explore"),
    "a section more": ({("method", "kind"): "bang"}, 'kind = "bang"  # chosen by reveil explore'),
}


@pytest.mark.parametrize(("changes", "line"), CHOICES.values(), ids=CHOICES.keys())
def test_a_choice_changes_its_lines_only(changes: dict[tuple[str, str], Any], line: str) -> None:
    text = chosen_text(CONFIG, changes)
    before, after = CONFIG.split("\n"), text.split("\n")
    assert line in after
    assert len([own for own in before if own not in after]) <= 1
    ((section, key), value) = next(iter(changes.items()))
    assert tomllib.loads(text)[section][key] == value
    rest = [own for own in after if own not in before]
    assert len(rest) <= 2


def test_what_is_chosen_already_changes_nothing() -> None:
    assert chosen_text(CONFIG, {("guarantee", "m"): 4}) == CONFIG
    assert chosen_text(CONFIG, {}) == CONFIG


def test_another_method_leaves_the_settings_of_the_old_one_as_comments() -> None:
    text = CONFIG + '\n[method]\nkind = "mondrian"\ncut = "strict"\n'
    made = chosen_text(text, {("method", "kind"): "bang"})
    assert tomllib.loads(made)["method"] == {"kind": "bang"}
    assert '# cut = "strict"' in made


def test_a_config_that_cannot_be_changed_line_by_line_is_left_alone() -> None:
    text = CONFIG[: CONFIG.index("[guarantee]")].replace("# ours", 'guarantee = { kind = "tau-safety", m = 4 }')
    with pytest.raises(rv.ConfigError, match="line by line") as refused:
        chosen_text(text, {("guarantee", "m"): 3})
    assert "m = 3 under [guarantee]" in str(refused.value)


@pytest.mark.slow
def test_from_tables_to_a_choice(tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Two snapshots as a series; figures are those of publishing with the chosen config; the page shows the JSON."""
    monkeypatch.setenv("REVEIL_KEY", KEY)
    data = tables(tmp_path, 2)
    page, numbers = tmp_path / "explore.html", tmp_path / "explore.json"
    options = ("-c", config, "--try", "m=3,80")
    assert run(monkeypatch, "explore", *data, *options, "-o", page, "--json", numbers) == 0
    content = json.loads(numbers.read_text())
    assert [one["settings"] for one in content["points"]] == [{"m": 3}, {"m": 4}]
    assert content["current"] == 3
    assert [one["n"] for one in content["refused"]] == [2]
    assert "1: m = 3: " in capsys.readouterr().err
    assert not (tmp_path / "ward.vault").exists()

    sound(page.read_text())
    shown = [own for own in Reader(page.read_text()).elements if "data-key" in own.attributes]
    keys = {own.attributes["data-key"] for own in shown}
    assert {"points.0.risk.highest", "points.1.loss.gcp", "points.0.counterfeits", "current"} <= keys
    for own in shown:
        key = own.attributes["data-key"]
        assert display(at(content, key), own.attributes["data-as"]) == own.text, key

    assert run(monkeypatch, "explore", *options, "--choose", 2) == 0  # nothing is tried again
    assert "m = 80" in config.read_text()
    config.write_text(CONFIG)
    assert run(monkeypatch, "explore", *options, "--choose", 1) == 0
    assert config.read_text() == CONFIG.replace(
        "m = 4      # as the board decided", "m = 3  # chosen by reveil explore; it was 4"
    )
    series = rv.Series.load(config)
    releases = [series.publish(path) for path in data]
    measures = [rv.measure(path, one, series.schema, queries=200) for path, one in zip(data, releases, strict=True)]
    found = content["points"][0]
    assert found["loss"]["gcp"] == pytest.approx(sum(one["gcp"] for one in measures) / 2, rel=1e-12)
    assert found["loss"]["query_error"] == pytest.approx(sum(one["query_error"]["mean"] for one in measures) / 2)
    assert found["counterfeits"] == sum(one.manifest.counterfeits.total for one in releases)
    assert found["rows"] == sum(one.manifest.rows for one in releases)
    audit = rv.audit(releases, series.schema, truth=data)
    assert found["risk"]["highest"] == pytest.approx(audit.summary["highest"])

    assert run(monkeypatch, "explore", "-c", config, "--try", "m=5", "--choose", 1) == 1  # the series has begun
    assert "has begun" in capsys.readouterr().err
    assert "m = 3" in config.read_text()


def test_from_python_on_a_sample_and_with_too_little_time() -> None:
    frame = hospital.month(200, seed=1)
    schema = rv.Schema(
        person="pid",
        identifiers=["name", "income", "admitted", "ward"],
        quasi=["age", "sex", "town"],
        sensitive="diagnosis",
    )
    content = rv.explore(frame, schema, [rv.TauSafety(3), (rv.Static(k=5), rv.Mondrian())], sample=80, workers=1)
    assert (content["current"], content["sample"]) == (None, 80)
    assert [one["rows"] for one in content["points"]] == [80, 80]
    assert content["points"][1]["settings"]["method"] == "mondrian"
    for wrong in ([3], []):
        with pytest.raises(rv.ConfigError):
            rv.explore(frame, schema, wrong)
    none = explored([frame], schema, [], None, minutes=1)
    assert (none["points"], none["refused"]) == ([], [])
    assert TOO_LATE
    assert "As it is" not in render(none)
    assert named({"m": 3, "angelize": True, "method": None}) == "m = 3, angelize = true"


@pytest.mark.parametrize(
    "words_",
    [
        ("explore",),
        ("explore", "-o", "page.html"),
        ("explore", "--choose", 99),
        ("explore", "t.csv", "-o", "page.txt"),
        ("explore", "t.csv", "-o", "page.html", "--sample", 0),
        ("explore", "t.csv", "-o", "page.html", "--minutes", 0),
    ],
)
def test_bad_usage(
    words_: tuple[object, ...], tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"pid": [1]}).write_csv("t.csv")
    assert run(monkeypatch, *words_, "-c", config) == 2
    assert "error: " in capsys.readouterr().err
    assert config.read_text() == CONFIG
