"""Which guarantee is proposed for which table and which releases, and that what is proposed can be kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import reveil as rv
from reveil.series.proposing.answers import Answers
from reveil.series.proposing.choosing import Choice, choose
from reveil.series.proposing.trying import TRIED, attempt
from reveil.series.proposing.writing import config_text
from reveil.tables.profiling import Profile, profile
from reveil.tables.schema import Role
from reveil.testing import hospital

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 240
MANY = [f"v{i % 24}" for i in range(ROWS)]
FOUR = [f"v{i % 4}" for i in range(ROWS)]
ONCE = Answers(again=False)


def profile_of(folder: Path, columns: dict[str, list[Any]]) -> Profile:
    path = folder / "table.csv"
    pl.DataFrame(columns).write_csv(path)
    return profile(path)


def people(folder: Path, **more: list[Any]) -> Profile:
    own: dict[str, list[Any]] = {"pid": list(range(ROWS)), "age": [20 + i % 50 for i in range(ROWS)]}
    return profile_of(folder, own | more)


def said(choice: Choice) -> str:
    return " ".join((*choice.reasons, *choice.costs, *choice.warnings))


def shares(top: float, values: int) -> list[str]:
    """Return values of which the first has such a share of the records, and the others the same."""
    first = round(top * ROWS)
    return ["v0"] * first + [f"v{1 + i % (values - 1)}" for i in range(ROWS - first)]


@pytest.mark.parametrize(
    ("rows", "values", "k", "l"),
    [
        (1000, ["a", "b", "c", "d"], 10, 3),
        (999, ["a", "b", "c", "d"], 5, 3),
        (1000, ["a", "b"], 10, 2),
        (1000, ["a"] * 17 + ["b", "c", "d"], 10, 2),  # 85 per cent agree
        (1000, ["a"] * 97 + ["b", "c", "d"], 10, None),
        (1000, ["a"], 10, None),
        (10, ["a", "b", "c"], 3, 2),
        (2, ["a", "b"], 2, 2),
    ],
)
def test_the_static_numbers_can_be_kept(tmp_path: Path, rows: int, values: list[str], k: int, l: int | None) -> None:
    table = {"age": [i % 50 for i in range(rows)], "disease": (values * rows)[:rows]}
    choice = choose(profile_of(tmp_path, table), ONCE)
    assert choice.kind == "static"
    assert choice.settings == ({"k": k} if l is None else {"k": k, "l": l})


def test_without_a_sensitive_column_only_k_is_asked_and_that_is_said(tmp_path: Path) -> None:
    for answers, kind in ((ONCE, "static"), (Answers(), "refinement")):
        choice = choose(people(tmp_path), answers)
        assert (choice.kind, choice.settings, choice.warnings) == (kind, {"k": 5}, ())
        assert "No column is sensitive" in said(choice)


WHICH = {
    "nobody said": (Answers(), "tau-safety", {"m": 4}),
    "once": (ONCE, "static", {"k": 5, "l": 3}),
    "again": (Answers(again=True), "tau-safety", {"m": 4}),
    "changing": (Answers(changing=True), "tau-safety", {"m": 4}),
    "never changing": (Answers(again=True, changing=False), "tau-safety", {"m": 4, "fixed": True}),
    "parts": (Answers(parts=True), "refinement", {"k": 5, "l": 3}),
    "parts of a changing table": (Answers(parts=True, changing=True), "tau-safety", {"m": 4}),
    "recipients": (Answers(recipients=True), "worlds", {"l": 3}),
    "recipients, and nobody leaves": (Answers(again=True, recipients=True, leaving=False), "worlds", {"l": 3}),
    "recipients, again": (Answers(again=True, recipients=True), "tau-safety", {"m": 4}),
    "recipients, changing": (Answers(changing=True, recipients=True), "tau-safety", {"m": 4}),
    "ever": (
        Answers(changing=True, ever=True),
        "global",
        {"l": 2, "strategy": "constant-ratio", "releases": 3},
    ),
}


@pytest.mark.parametrize(("answers", "kind", "settings"), WHICH.values(), ids=WHICH.keys())
def test_the_answers_choose(tmp_path: Path, answers: Answers, kind: str, settings: dict[str, Any]) -> None:
    found = people(tmp_path, disease=MANY)
    choice = choose(found, answers)
    assert (choice.kind, dict(choice.settings)) == (kind, settings)
    assert choice.reasons
    trial = attempt(config_text(found, choice), found)
    assert (trial.whole, trial.refused) == (True, None)
    path = tmp_path / "reveil.toml"
    path.write_text(config_text(found, choice, trial))
    published = rv.Series.load(path).publish(tmp_path / "table.csv")
    assert published.manifest.promise.kind == kind


def test_without_a_person_only_static_is_possible_and_why_is_said(tmp_path: Path) -> None:
    found = profile_of(tmp_path, {"age": [i % 50 for i in range(ROWS)], "disease": MANY})
    for answers in (Answers(), Answers(again=True), Answers(recipients=True)):
        choice = choose(found, answers)
        assert choice.kind == "static"
        assert "Only static is possible: no column says whom a row is about" in said(choice)
        assert bool(choice.warnings) == answers.several  # somebody who asked for more is told


@pytest.mark.parametrize(
    ("top", "values", "kind", "m", "words"),
    [
        (0.25, 12, "tau-safety", 4, "m = 4 needs no made-up rows at first"),
        (0.26, 12, "tau-safety", 4, "one value of 'disease' has 26%: m = 4 needs about 0.033 made-up rows per person"),
        (0.30, 12, "tau-safety", 3, "one value of 'disease' has 30%: m = 4 needs about 0.2 made-up rows per person"),
        (0.20, 10, "tau-safety", 3, "m = 4 needs 11 different values (or 4, where values never change: init --fixed)"),
        (0.75, 12, "refinement", None, "one value of 'disease' has 75%: m = 2 needs about 0.5 made-up rows per person"),
        (0.50, 4, "refinement", None, "m = 2 needs 5 different values"),
    ],
)
def test_the_largest_m_and_its_price(
    tmp_path: Path, top: float, values: int, kind: str, m: int | None, words: str
) -> None:
    choice = choose(people(tmp_path, disease=shares(top, values)), Answers())
    assert (choice.kind, choice.settings.get("m")) == (kind, m)
    assert words in said(choice).replace("One value", "one value")


def test_the_price_is_what_publishing_costs(tmp_path: Path) -> None:
    """m s - n counterfeits, in the words of a proposal and in a manifest."""
    frame = pl.DataFrame({"pid": range(ROWS), "age": range(ROWS), "disease": shares(0.75, 12)})
    schema = rv.Schema(person="pid", quasi="age", sensitive="disease")
    release = rv.Series.open(tmp_path / "v", schema, rv.TauSafety(4)).publish(frame)
    assert release.manifest.counterfeits.total == 2 * ROWS


def test_values_that_leave_too_little_for_the_answer_are_named(tmp_path: Path) -> None:
    found = people(tmp_path, disease=shares(0.6, 12))
    ever = choose(found, Answers(changing=True, ever=True))
    assert ever.kind == "refinement"
    assert any("whose value changed between two releases" in warning for warning in ever.warnings)
    assert "not global: one value of 'disease' has 60%" in said(ever)
    assert "harmless" in said(ever)
    columns = choose(found, Answers(recipients=True))
    assert columns.kind == "refinement"
    assert "not worlds" in said(columns)
    less = choose(people(tmp_path, disease=shares(0.25, 12)), Answers(changing=True, ever=True))
    assert less.settings["releases"] == 2
    assert "lasts for 2 releases" in said(less)


def test_several_sensitive_columns_go_with_refinement_and_the_best_single_one_is_named(tmp_path: Path) -> None:
    found = people(tmp_path, disease=FOUR, diagnosis=MANY)
    choice = choose(found, Answers())
    assert choice.kind == "refinement"
    assert "It is not tau-safety as it stands: there are 2 sensitive columns" in said(choice)
    assert 'by form = "angelized" and m = { ' in said(choice)
    assert "diagnosis = " in said(choice)
    assert "'disease' could not: " in said(choice)
    assert "With one column only, it costs least with 'diagnosis'." in said(choice)
    assert any("each is protected by itself" in warning for warning in choice.warnings)
    assert len(choice.warnings) == 2
    one = choose(found.with_roles({"disease": Role.IDENTIFIER}), Answers())
    assert (one.kind, one.warnings) == ("tau-safety", ())


def test_more_than_three_sensitive_columns_get_a_stronger_warning(tmp_path: Path) -> None:
    found = people(tmp_path, diag_1=MANY, diag_2=FOUR, diag_3=MANY, diag_4=FOUR)
    assert "with 4 sensitive columns, many rows are the only ones" in said(choose(found, Answers()))


def test_columns_with_the_same_reason_are_named_together(tmp_path: Path) -> None:
    cost = [17 * i % 239 for i in range(ROWS)]
    found = people(tmp_path, diag_1=MANY, diag_2=FOUR, diag_3=FOUR, lab_result=cost)
    found = found.with_roles({"lab_result": Role.SENSITIVE})
    text = said(choose(found, Answers()))
    assert "'diag_2', 'diag_3' could not: m = 2 needs 5 different values" in text
    assert "and there are 4, 4." in text
    assert text.count("numbers and dates need bins, named") == 1
    assert "In 20 such bins about m = { lab_result = 4 } would fit." in text
    assert "m = { diag_1 = 4 }: no made-up values at first for 'diag_1'; later releases" in text
    assert "so many different numbers in 'lab_result' that neighbours count as different values" in text
    assert "With one column only, it costs least with 'diag_1'." in text


def test_numbers_of_which_neighbours_differ_by_cents_are_published_in_ranges(tmp_path: Path) -> None:
    """A bound over values that are nearly the same would protect nothing."""
    found = people(tmp_path, income=[10_000 + 37.25 * (31 * i % ROWS) for i in range(ROWS)])
    choice = choose(found, Answers())
    text = config_text(found, choice)
    assert (choice.kind, choice.settings["m"]) == ("tau-safety", 4)
    assert 'income = { role = "sensitive", bins = 20 }' in text
    assert "m = 4 needs no made-up rows at first" in said(choice)
    assert "published in about 20 ranges" in said(choice)
    assert attempt(text, found).refused is None
    path = tmp_path / "reveil.toml"
    path.write_text(text)
    release = rv.Series.load(path).publish(found.path)
    cells = release.text["income"].unique().to_list()
    assert 5 <= len(cells) <= 30
    assert sum(" to below " in cell for cell in cells) >= len(cells) - 2  # the first and the last are open
    many = release.text.group_by("group").agg(pl.col("income").n_unique())
    assert many["income"].min() == 4
    few = people(tmp_path, income=[1000 * (i % 40) for i in range(ROWS)])
    assert "bins = 20" not in config_text(few, choose(few, Answers()))


def test_plain_columns_go_with_refinement(tmp_path: Path) -> None:
    found = people(tmp_path, disease=MANY, flavour=FOUR).with_roles({"flavour": Role.PLAIN})
    choice = choose(found, Answers())
    assert (choice.kind, choice.settings["dirty"]) == ("refinement", "never")
    assert attempt(config_text(found, choice), found).refused is None
    assert choose(found, Answers(recipients=True)).kind == "worlds"


def test_a_trial_is_on_a_sample_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    hospital.month(TRIED + 500).write_csv(path)
    found = profile(path)
    trial = attempt(config_text(found, choose(found, Answers())), found)
    assert (trial.records, trial.whole) == (TRIED, False)
    assert trial.width is not None
    assert 0 < trial.width < 0.5
    assert "4,000 of the records" in trial.in_words
    assert "The whole table should do better." in trial.in_words


def test_a_trial_of_a_table_of_visits_takes_each_person_once(tmp_path: Path) -> None:
    visits: dict[str, list[Any]] = {
        "patient_id": [i // 2 for i in range(ROWS)],
        "age": [i % 50 for i in range(ROWS)],
        "disease": MANY,
    }
    found = profile_of(tmp_path, visits)
    assert attempt(config_text(found, choose(found, Answers())), found).records == ROWS // 2


def test_a_refused_trial_says_why(tmp_path: Path) -> None:
    found = people(tmp_path, disease=MANY)
    choice = Choice("static", {"k": 10 * ROWS}, ())
    trial = attempt(config_text(found, choice), found)
    assert trial.refused is not None
    assert f"A quick run on all {ROWS} records was refused: " in trial.in_words


def test_nothing_that_is_said_quotes_a_value(tmp_path: Path) -> None:
    frame = hospital.month(500)
    path = tmp_path / "hospital.csv"
    frame.write_csv(path)
    found = profile(path)
    for answers in (Answers(), ONCE, Answers(recipients=True), Answers(parts=True)):
        choice = choose(found, answers)
        text = said(choice) + attempt(config_text(found, choice), found).in_words
        for name in ("diagnosis", "town", "name"):
            assert not [value for value in frame[name].drop_nulls().unique() if str(value) in text]


def test_several_columns_are_told_with_what_each_costs(tmp_path: Path) -> None:
    text = said(choose(people(tmp_path, disease=shares(0.26, 12), diagnosis=MANY), Answers()))
    assert "m = { disease = 4, diagnosis = 4 }: no made-up values at first for 'diagnosis', " in text
    assert "about 0.033 per person for 'disease'; later releases add some" in text
