"""What is proposed for a table nobody has described: the safe side of every guess, with its reason."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from reveil.core.errors import DataError, FileError
from reveil.tables import column_hints as hints
from reveil.tables.column_roles import UNKNOWN
from reveil.tables.profiling import ColumnProfile, Profile, profile
from reveil.tables.schema import Role, Type
from reveil.testing import hospital

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
ROWS = 200


def profile_of(folder: Path, columns: dict[str, list[Any]], suffix: str = ".csv") -> Profile:
    frame = pl.DataFrame(columns)
    path = folder / f"table{suffix}"
    if suffix == ".csv":
        frame.write_csv(path)
    else:
        frame.write_parquet(path)
    return profile(path)


def column(found: Profile, name: str) -> ColumnProfile:
    return next(c for c in found.columns if c.name == name)


def real(name: str) -> Path:
    path = DATA / f"{name}.parquet"
    if not path.exists():
        pytest.skip("the real tables are not beside the repository")
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_hospital(tmp_path: Path, suffix: str) -> None:
    found = profile_of(tmp_path, hospital.month(2000).to_dict(as_series=False), suffix)
    roles = {c.name: c.role.value for c in found.columns}
    assert roles == {
        "pid": "person",
        "name": "identifier",
        "age": "quasi",
        "sex": "quasi",
        "town": "quasi",
        "income": "quasi",
        "admitted": "quasi",
        "ward": "quasi",
        "diagnosis": "sensitive",
    }
    assert [c.name for c in found.columns if c.decide] == ["income"]
    assert column(found, "admitted").type is Type.DATE


FEW = [f"v{i % 7}" for i in range(ROWS)]
CODES = [f"c{i:05}" for i in range(ROWS)]


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("age", "quasi"),
        ("Alter", "quasi"),
        ("Geschlecht", "quasi"),
        ("postcode", "quasi"),
        ("Wohnort", "quasi"),
        ("maritalStatus", "quasi"),
        ("native-country", "quasi"),
        ("age_at_diagnosis", "quasi"),
        ("town name", "quasi"),
        ("disease", "sensitive"),
        ("Diagnose", "sensitive"),
        ("ICD10", "sensitive"),
        ("HIVstatus", "sensitive"),
        ("A1Cresult", "sensitive"),
        ("salary-class", "sensitive"),
        ("test", "sensitive"),
        ("disease_name", "sensitive"),
        ("religion", "sensitive"),
        ("readmitted", "sensitive"),
        ("Vorname", "identifier"),
        ("Straße", "identifier"),
        ("Prénom", "identifier"),
        ("eMail", "identifier"),
        ("phone", "identifier"),
        ("ssn", "identifier"),
        ("IBAN", "identifier"),
        ("home address", "identifier"),
        ("name", "identifier"),
        ("geburtsname", "identifier"),
    ],
)
def test_names_are_read(tmp_path: Path, name: str, role: str) -> None:
    found = column(profile_of(tmp_path, {name: FEW, "other": FEW}), name)
    assert found.role.value == role, found.reasons


@pytest.mark.parametrize("name", ["latest", "x", "flavour", "page", "spaß", "état"])
def test_what_it_does_not_know_is_something_others_may_know(tmp_path: Path, name: str) -> None:
    found = column(profile_of(tmp_path, {name: FEW}), name)
    assert (found.role, found.reasons, found.decide) == (Role.QUASI, (UNKNOWN,), True)


@pytest.mark.parametrize(
    ("names", "person"),
    [
        (["pid"], "pid"),
        (["id"], "id"),
        (["Patienten-Nr"], "Patienten-Nr"),
        (["patientID", "id"], "patientID"),
        (["encounter_id", "patient_id"], "patient_id"),
        (["ssn", "kundennummer"], "kundennummer"),
        (["ssn"], "ssn"),
        (["case_id"], "case_id"),
        (["index"], None),
        (["email"], None),
        (["flavour"], None),
    ],
)
def test_the_person(tmp_path: Path, names: list[str], person: str | None) -> None:
    found = profile_of(tmp_path, dict.fromkeys(names, CODES) | {"age": list(range(ROWS))})
    assert found.names(Role.PERSON) == (() if person is None else (person,))
    assert set(found.names(Role.IDENTIFIER)) == {name for name in names if name != person}


@pytest.mark.parametrize(
    "values",
    [
        [i + 0.5 for i in range(ROWS)],
        [date(2020, 1, 1) + timedelta(days=i) for i in range(ROWS)],
        [None, *CODES[1:]],
    ],
    ids=["float", "date", "null"],
)
def test_what_cannot_be_a_person_is_none(tmp_path: Path, values: list[Any]) -> None:
    found = profile_of(tmp_path, {"case_id": values, "age": list(range(ROWS))})
    assert found.names(Role.PERSON) == ()


def test_a_persons_number_that_repeats_comes_before_a_visits_number_that_does_not(tmp_path: Path) -> None:
    patients = [f"p{i // 2}" for i in range(ROWS)]
    found = profile_of(tmp_path, {"encounter_id": CODES, "patient_nbr": patients, "age": list(range(ROWS))})
    patient = column(found, "patient_nbr")
    assert patient.role is Role.PERSON
    assert patient.decide
    assert "repeat" in " ".join(patient.reasons)
    assert column(found, "encounter_id").role is Role.IDENTIFIER


def test_unknown_and_different_in_every_row_is_dropped_for_now(tmp_path: Path) -> None:
    found = column(profile_of(tmp_path, {"flavour": CODES, "age": FEW}), "flavour")
    assert (found.role, found.decide) == (Role.IDENTIFIER, True)


def test_free_text_and_addresses_are_dropped_whatever_their_name(tmp_path: Path) -> None:
    prose = [f"came in on day {i} with a cough and went home" for i in range(ROWS)]
    found = profile_of(
        tmp_path, {"diagnosis": prose, "contact": [f"a{i}@example.org" for i in range(ROWS)], "age": FEW}
    )
    assert found.names(Role.IDENTIFIER) == ("diagnosis", "contact")


def test_cells_that_are_no_single_values_are_dropped(tmp_path: Path) -> None:
    columns = {"visits": [[1, 2]] * 4, "span": [timedelta(1)] * 4, "raw": [b"x"] * 4, "age": [1, 2, 3, 4]}
    found = profile_of(tmp_path, columns, ".parquet")
    assert found.names(Role.IDENTIFIER) == ("visits", "span", "raw")


@pytest.mark.parametrize(
    ("values", "order"),
    [
        (["high", "low", "medium"], ["low", "medium", "high"]),
        (["Tertiary", "None", "Primary"], ["None", "Primary", "Tertiary"]),
        (["III", "I", "II"], ["I", "II", "III"]),
        (["Stage 10", "Stage 2", "Stage 1"], ["Stage 1", "Stage 2", "Stage 10"]),
        (["[10-20)", "[0-10)", ">100"], ["[0-10)", "[10-20)", ">100"]),
        (["65+", "18-64", "<18"], ["<18", "18-64", "65+"]),
        (["Élevé", "faible", "moyen"], ["faible", "moyen", "Élevé"]),
        (["high", "low"], None),
        (["high", "low", "other"], None),
        (["low", "Low", "high"], None),
        (["stage 1", "grade 2", "stage 3"], None),
        (["stage xx", "stage 2", "stage 3"], None),
        (["stage 1", "stage 2", "stage " + "9" * 5000], None),  # more digits than Python reads
        (["s", "m", "d"], None),
    ],
)
def test_scales(values: list[str], order: list[str] | None) -> None:
    assert hints.steps(values) == order


def test_an_order_is_for_quasi_columns_of_at_most_ten_values(tmp_path: Path) -> None:
    bands = [f"{10 * (i % 10)}-{10 * (i % 10) + 9}" for i in range(ROWS)]
    many = [f"{i % 20}-{i % 20 + 1}" for i in range(ROWS)]
    found = profile_of(tmp_path, {"age": bands, "height": many})
    assert len(column(found, "age").order or ()) == 10
    assert "scale" in (column(found, "age").handling or "")
    assert column(found, "height").order is None
    assert "scale" in " ".join(column(found, "height").notes)


@pytest.mark.parametrize("zips", [["01067", "80331"], ["80331", "10115"]])
def test_postal_codes_are_text(tmp_path: Path, zips: list[str]) -> None:
    found = profile_of(tmp_path, {"PLZ": zips * 100, "zip_score": FEW})
    assert column(found, "PLZ").zip
    assert column(found, "PLZ").handling == "published as sets of values"


def test_marks_for_missing_and_foreign_forms_are_noticed(tmp_path: Path) -> None:
    days = [f"{i % 28 + 1}.12.2023" for i in range(ROWS)]
    found = profile_of(
        tmp_path, {"age": ["?", "NA", *map(str, range(ROWS - 2))], "born": days, "town": ["?", "a"] * 100}
    )
    assert column(found, "age").marks == ("?", "NA")
    assert column(found, "born").type is Type.DATE
    assert found.input.notation.dates == "%d.%m.%Y"
    assert (column(found, "age").marked, column(found, "town").marked) == (2, 100)
    assert column(found, "town").marks == ("?",)
    assert "null_values" in " ".join(column(found, "town").notes)


@pytest.mark.parametrize(
    ("values", "marks"),
    [
        (["north", "south", "Unknown", "n/a"], ("Unknown", "n/a")),
        (["north", "None", "south"], ()),  # a value, for all that anybody can see
        (["1", "None", "2"], ("None",)),
        (["1.5", ".", "2.5", " NA "], (" NA ", ".")),
        (["1", "-9", "2"], ("-9",)),
        (["1", "-9", "-99", "2"], ("-99", "-9")),
        (["1", "-9", "-3", "2"], ()),  # other negative numbers are there
        (["-9", "-9", "-9"], ()),
        (["?", "?", "?"], ()),
        (["1", "2", "3"], ()),
    ],
)
def test_marks_for_missing_are_found_per_column(tmp_path: Path, values: list[str], marks: tuple[str, ...]) -> None:
    found = profile_of(tmp_path, {"flavour": values * 50, "age": [*range(50 * len(values))]})
    assert column(found, "flavour").marks == marks
    assert column(found, "flavour").marked == 50 * len(marks)
    assert column(found, "age").marks == ()


@pytest.mark.parametrize("name", ["benefits", "vet_benefits", "capital-gain", "dividends", "wage_per_hour"])
def test_benefits_and_incomes_are_candidates_for_sensitive(tmp_path: Path, name: str) -> None:
    beside = column(profile_of(tmp_path, {name: FEW, "disease": FEW, "age": FEW}), name)
    assert (beside.role, beside.decide) == (Role.QUASI, True)
    assert "candidate for sensitive" in beside.reasons[0]
    alone = column(profile_of(tmp_path, {name: FEW, "age": FEW}), name)
    assert (alone.role, alone.decide) == (Role.SENSITIVE, True)


def test_income_comes_before_benefits(tmp_path: Path) -> None:
    found = profile_of(tmp_path, {"income": FEW, "capital-gain": FEW, "age": FEW})
    assert found.names(Role.SENSITIVE) == ("income",)


@pytest.mark.parametrize("name", ["household_id", "HHID", "familyNr", "Haushaltsnummer", "dwelling key"])
def test_the_key_of_a_household_is_no_number_to_make_ranges_of(tmp_path: Path, name: str) -> None:
    found = column(profile_of(tmp_path, {name: [i // 3 % 40 for i in range(ROWS)], "age": FEW}), name)
    assert (found.role, found.decide) == (Role.IDENTIFIER, True)
    assert "household" in found.reasons[0]


@pytest.mark.parametrize("name", ["household_size", "family status", "children"])
def test_what_only_speaks_of_a_household_is_no_key(tmp_path: Path, name: str) -> None:
    assert column(profile_of(tmp_path, {name: [i % 7 for i in range(ROWS)], "age": FEW}), name).role is Role.QUASI


@pytest.mark.parametrize("name", ["fnlwgt", "instance_weight"])
def test_weights_of_a_survey_are_dropped(tmp_path: Path, name: str) -> None:
    found = profile_of(tmp_path, {name: [i % 90 + 0.5 for i in range(ROWS)], "weight": FEW, "age": FEW})
    assert column(found, name).role is Role.IDENTIFIER
    assert column(found, "weight").role is Role.QUASI  # somebody's own


def test_columns_of_drugs_go_together(tmp_path: Path) -> None:
    doses = ["no", "up", "down", "steady"] * (ROWS // 4)
    found = profile_of(
        tmp_path,
        {"insulin": doses, "glipizide": doses[1:] + doses[:1], "flavour": ["no", "sweet"] * (ROWS // 2), "age": FEW},
    )
    assert found.names(Role.SENSITIVE) == ("insulin", "glipizide")
    assert "go together" in column(found, "glipizide").reasons[0]
    assert column(found, "glipizide").decide
    assert column(found, "flavour").role is Role.QUASI  # it has a value of its own


def test_a_sensitive_column_in_which_all_agree_is_left_out_beside_others(tmp_path: Path) -> None:
    rare = ["no"] * (ROWS - 1) + ["yes"]
    found = profile_of(tmp_path, {"disease": FEW, "hiv": rare, "age": FEW})
    assert (column(found, "hiv").role, column(found, "hiv").decide) == (Role.IDENTIFIER, True)
    assert "left out" in " ".join(column(found, "hiv").reasons)
    alone = profile_of(tmp_path, {"hiv": rare, "age": FEW})
    assert alone.names(Role.SENSITIVE) == ("hiv",)


def test_income_is_sensitive_where_nothing_else_is(tmp_path: Path) -> None:
    incomes = list(range(ROWS))
    alone = column(profile_of(tmp_path, {"age": FEW, "income": incomes}), "income")
    beside = column(profile_of(tmp_path, {"age": FEW, "income": incomes, "disease": FEW}), "income")
    assert (alone.role, alone.decide) == (Role.SENSITIVE, True)
    assert (beside.role, beside.decide) == (Role.QUASI, True)


def test_chosen_roles_are_decided_and_say_what_was_proposed(tmp_path: Path) -> None:
    found = profile_of(tmp_path, {"flavour": FEW, "age": FEW}).with_roles({"flavour": Role.SENSITIVE})
    chosen = column(found, "flavour")
    assert (chosen.role, chosen.decide) == (Role.SENSITIVE, False)
    assert UNKNOWN in chosen.reasons[0]
    person = column(found.with_roles({"age": Role.PERSON}), "age")
    assert "repeat" in " ".join(person.reasons)


@pytest.mark.parametrize("values", [[None] * 5, ["same"] * 5])
def test_empty_and_constant_columns_are_not_harmless(tmp_path: Path, values: list[str | None]) -> None:
    found = column(profile_of(tmp_path, {"flavour": values, "age": [1, 2, 3, 4, 5]}), "flavour")
    assert (found.role, found.decide, found.reasons[0]) == (Role.QUASI, True, UNKNOWN)


def test_a_column_may_have_any_name(tmp_path: Path) -> None:
    names = ["n", "value", "count", "a\nb", "", "日本", "1"]
    found = profile_of(tmp_path, {name: ["p", "q"] for name in names}, ".parquet")
    assert [c.name for c in found.columns] == names


def test_nothing_that_is_said_quotes_a_value(tmp_path: Path) -> None:
    found = profile_of(tmp_path, hospital.month(500).to_dict(as_series=False))
    said = repr(found) + " ".join(c.facts for c in found.columns)
    frame = hospital.month(500)
    for name in ("diagnosis", "town", "name"):
        assert not [value for value in frame[name].drop_nulls().unique() if str(value) in said]


def test_tables_that_cannot_be_looked_at(tmp_path: Path) -> None:
    empty, twice, other = tmp_path / "empty.csv", tmp_path / "twice.csv", tmp_path / "table.xlsx"
    empty.write_text("age,sex\n")
    twice.write_text("age,age\n1,2\n")
    other.write_text("x")
    with pytest.raises(DataError, match="no rows"):
        profile(empty)
    with pytest.raises(DataError, match="more than once"):
        profile(twice)
    for path in (other, tmp_path, tmp_path / "missing.csv"):
        with pytest.raises(FileError):
            profile(path)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("table", "person", "sensitive"),
    [
        ("adult_arx", (), {"salary-class"}),
        ("adult_uci_full", (), {"income"}),
        ("diabetes130", ("patient_nbr",), {"diag_1", "diag_2", "diag_3", "A1Cresult", "readmitted", "diabetesMed"}),
        ("gov_census", (), {"salary"}),
    ],
)
def test_real_tables(table: str, person: tuple[str, ...], sensitive: set[str]) -> None:
    found = profile(real(table))
    assert found.names(Role.PERSON) == person
    assert sensitive <= set(found.names(Role.SENSITIVE))
    assert found.names(Role.PLAIN) == ()
    assert {"age", "race"} <= set(found.names(Role.QUASI))
    assert all(c.reasons for c in found.columns)
