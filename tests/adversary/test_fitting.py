"""Tables of other tools: what cannot be read excludes nobody and is said, what contradicts people stops the audit."""

from pathlib import Path

import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import DataError
from tests.cli.run import reveil

OTHERS = Path(__file__).parents[3] / "shared" / "data" / "other_tools"
many = [pytest.mark.slow, pytest.mark.many]
real = pytest.mark.skipif(not OTHERS.is_dir(), reason="the releases of other tools are not here")

SCHEMA = rv.Schema(person="pid", quasi=["age", "country"], sensitive="job", types={"age": "number"})
TRUTH = pl.DataFrame(
    {
        "pid": ["a", "b", "c", "d", "e", "f"],
        "age": [20, 25, 30, 40, 45, 50],
        "country": ["Peru", "Peru", "Chile", "Chile", "Italy", "Italy"],
        "job": ["nurse", "cook", "nurse", "clerk", "cook", "nurse"],
    }
)


def release(ages, countries, frame=TRUTH):
    return pl.DataFrame({"age": ages, "country": countries, "job": frame["job"]})


def test_labels_that_nobody_explains_exclude_nobody_and_are_said():
    published = release(["*"] * 6, ["America"] * 4 + ["Europe"] * 2)
    found = rv.audit(published, SCHEMA, truth=TRUTH)
    assert found.summary["certain"] == 0
    assert found.unread == ["country"]
    assert "column 'country' has 2 labels in 6 rows" in found.notes[0]
    assert "hierarchy" in found.notes[0]
    assert "cannot read the labels of country" in found.sentence
    assert "America" not in " ".join(found.notes)


def test_ranges_that_contradict_people_stop_the_audit():
    # Off by one: 40 is meant to be in 20-39.
    published = release(["20-39"] * 4 + ["40-59"] * 2, ["*"] * 6)
    with pytest.raises(DataError, match="1 of the 6 rows of release 1 can be the record of nobody") as stopped:
        rv.audit(published, SCHEMA, truth=TRUTH)
    assert "'age'" in stopped.value.message
    assert "hierarchy" in stopped.value.hint
    for job in TRUTH["job"].unique():
        assert job not in str(stopped.value) + stopped.value.hint
    right = release(["20-40"] * 4 + ["45-59"] * 2, ["*"] * 6)
    assert rv.audit(right, SCHEMA, truth=TRUTH).held


def test_values_decide_where_boxes_alone_would_fit():
    # As many rows as people fit, but the cook of 45 is in no row of a cook.
    frame = TRUTH.with_columns(age=pl.Series([20, 25, 30, 40, 45, 39]))
    published = release(["20-39"] * 4 + ["40-59"] * 2, ["*"] * 6, TRUTH.with_columns(job=pl.Series(list("abcdef"))))
    frame = frame.with_columns(job=pl.Series(list("abcdef")))
    with pytest.raises(DataError, match="with this value"):
        rv.audit(published, SCHEMA, truth=frame)


def test_people_who_fit_no_row_are_counted():
    published = release(["20-30"] * 3, ["*"] * 3, TRUTH[:3])
    found = rv.audit(published, SCHEMA, truth=TRUTH)
    assert any("3 of the 6 people given fit no row of release 1" in note for note in found.notes)


def test_the_command_stops_with_exit_code_2(tmp_path):
    (tmp_path / "reveil.toml").write_text(
        '[columns]\npid = "person"\nage = "quasi"\ncountry = "quasi"\njob = "sensitive"\n'
        '[guarantee]\nkind = "static"\nk = 2\n'
    )
    TRUTH.write_csv(tmp_path / "t.csv")
    release(["20-39"] * 4 + ["40-59"] * 2, ["*"] * 6).write_csv(tmp_path / "r.csv")
    base = ("audit", tmp_path / "r.csv", "-c", tmp_path / "reveil.toml", "--truth", tmp_path / "t.csv")
    done = reveil(*base)
    assert done.returncode == 2
    assert "r.csv: 1 of the 6 rows of release 1" in done.stderr
    release(["*"] * 6, ["America"] * 4 + ["Europe"] * 2).write_csv(tmp_path / "r.csv")
    done = reveil(*base)
    assert done.returncode == 0
    assert "held, as far as the labels can be read" in done.stderr
    assert "note: column 'country' has 2 labels in 6 rows" in done.stderr


QUASI = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"]


def others(family, *, hierarchies):
    """Audit the three releases of a tool, with or without the hierarchies that it used."""
    names = {n: str(OTHERS / "hierarchies" / f"adult_hierarchy_{n}.csv") for n in QUASI} if hierarchies else {}
    schema = rv.Schema(person="pid", quasi=QUASI, sensitive="occupation", hierarchies=names)
    read = [pl.read_csv(OTHERS / f"{family}_{n}.csv", separator=";" if "arx" in family else ",") for n in (1, 2, 3)]
    read = [frame.drop("index", strict=False) for frame in read]
    truth = [pl.read_csv(OTHERS / f"raw{n}.csv", separator=";") for n in (1, 2, 3)]
    model = rv.KAnonymity(10) & rv.DistinctDiversity(3)
    return rv.audit(read, schema, truth=truth, known="events", guarantee=model)


@real
@pytest.mark.parametrize("family", ["arx_local", "arx_k_local"])
def test_arx_ages_are_off_by_one_and_stop_the_audit(family):
    with pytest.raises(DataError, match=r"35\d of the 8,000 rows of release 1 .* column 'age'"):
        others(family, hierarchies=False)


@real
@pytest.mark.parametrize(
    ("family", "hierarchies", "unread", "held"),
    [
        pytest.param("arx_global", False, ["marital-status", "native-country", "workclass"], True, marks=many),
        ("anjana", False, ["marital-status", "education", "native-country", "workclass"], True),
        pytest.param("anonypy", False, [], True, marks=many),
        pytest.param("arx_local", True, [], False, marks=many),  # eight rows of stars are eight, and ten were promised
        pytest.param("arx_k_local", True, [], False, marks=many),  # k alone: classes of one occupation
        pytest.param("anjana", True, [], True, marks=many),
    ],
)
def test_nothing_certain_is_wrong_in_files_of_other_tools(family, hierarchies, unread, held):
    found = others(family, hierarchies=hierarchies)
    assert found.unread == unread
    assert found.summary["certain_and_right"] in (found.summary["certain"], None)
    assert found.certain["right"].all()
    assert found.held is held
    assert bool(found.certain.height) is not bool(unread)
    for own in found.limits:
        if not own["held"]:
            assert own["persons"] == (8 if family == "arx_local" else 136)
