"""Rows of visits become records of persons, by declared rules, and the judge makes them again."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import polars as pl
import pytest
from click.testing import CliRunner

import reveil as rv
from reveil.cli import cli
from reveil.core.errors import ConfigError, DataError, RefusedError, VerificationError
from reveil.series.publishing import anonymize
from reveil.tables.settings import load_schema
from reveil.tables.snapshot import read_snapshot
from reveil.verification.raw_rows import check_raw
from tests.test_real_tables import DATA

ROWS = pl.DataFrame(
    {
        "pid": [1, 2, 1, 3, 2, 1],
        "day": [dt.date(2024, 1, day) for day in (5, 2, 9, 1, 3, 7)],
        "age": [30, 40, 31, 50, 40, 30],
        "cost": [1.5, None, 2.5, None, 4.0, 3.0],
        "s": ["flu", "gout", "flu", "hiv", "flu", "hiv"],
    }
)
ROLES = {"person": "pid", "quasi": ("day", "age", "cost", "visits"), "sensitive": "s"}
RULES = {"visits": "count", "cost": "sum", "s": "most frequent, ties max"}


def schema(keep="last by day", rules=RULES, **roles):
    given = {
        "rows": "visits",
        **({} if keep is None else {"keep": keep}),
        **({} if rules is None else {"summarise": rules}),
    }
    return rv.Schema(**{**ROLES, **roles}, input=given)


def records(rules=RULES, keep="last by day", frame=ROWS):
    return read_snapshot(frame, schema(keep, {"visits": "count", **rules})).frame


def test_a_record_for_each_person():
    found = records()
    assert found.rows() == [
        (1, dt.date(2024, 1, 9), 31, 7.0, "flu", 3),
        (2, dt.date(2024, 1, 3), 40, 4.0, "gout", 2),
        (3, dt.date(2024, 1, 1), 50, None, "hiv", 1),
    ]
    turned = records(frame=ROWS.reverse()).sort("pid")
    assert turned.equals(found, null_equal=True), "the order of rows does not matter"


@pytest.mark.parametrize(
    ("rule", "values"),
    [
        ("sum", [7.0, 4.0, None]),
        ("mean", [7 / 3, 4.0, None]),
        ("min", [1.5, 4.0, None]),
        ("max", [3.0, 4.0, None]),
        ("first by day", [1.5, None, None]),
        ("last by day", [2.5, 4.0, None]),
        ("most frequent, ties first by day", [1.5, 4.0, None]),
        ("most frequent, ties min", [1.5, 4.0, None]),
    ],
)
def test_rules(rule, values):
    rules = {"cost": rule, "s": "last by day"}
    assert records(rules)["cost"].to_list() == pytest.approx(values)
    whole = ROWS.with_columns(pl.col("cost").cast(pl.Int64))
    assert records({**rules, "cost": "sum"}, frame=whole)["cost"].to_list() == [6, 4, None]


def test_the_most_severe_by_a_file(tmp_path):
    (tmp_path / "severity.csv").write_text("value;severity\nflu;1\ngout;2\nhiv;3\n")
    (tmp_path / "reveil.toml").write_text(
        '[input]\nrows = "visits"\nkeep = "last by day"\nsummarise = { s = "most severe by severity.csv" }\n'
        '[columns]\npid = "person"\nday = "identifier"\nage = "quasi"\ncost = "quasi"\ns = "sensitive"\n'
    )
    found = read_snapshot(ROWS, load_schema(tmp_path / "reveil.toml")).frame
    assert found["s"].to_list() == ["hiv", "gout", "hiv"]
    (tmp_path / "severity.csv").write_text("flu,1\ngout,1\n")
    with pytest.raises(DataError, match="1 different values have no severity") as caught:
        read_snapshot(ROWS, load_schema(tmp_path / "reveil.toml"))
    assert "hiv" not in str(caught.value)
    (tmp_path / "severity.csv").write_text("flu,1\ngout,1\nhiv,9\n")
    with pytest.raises(DataError, match="1 person has several values that are equal"):
        read_snapshot(ROWS, load_schema(tmp_path / "reveil.toml"))
    (tmp_path / "severity.csv").write_text("flu,1\nflu,2\n")
    with pytest.raises(ConfigError, match="not a value of its own") as bad:
        load_schema(tmp_path / "reveil.toml")
    assert bad.value.line == 2


@pytest.mark.parametrize(
    ("rules", "keep", "words"),
    [
        ({"visits": "count", "x": "sum"}, "last by day", "'x', which is not declared"),
        ({"visits": "count"}, "last by x", "'x', which is not declared"),
        ({"visits": "count", "cost": "median"}, "last by day", "unknown rule 'median'"),
        ({"visits": "count", "cost": "most frequent"}, "last by day", "equally frequent"),
        ({"visits": "count", "cost": "most frequent, ties sum"}, "last by day", "cannot be settled"),
        ({"visits": "count", "pid": "max"}, "last by day", "person column 'pid' cannot have a rule"),
        ({"visits": "count"}, "sum", "keep must be"),
        (None, None, "needs a rule"),
    ],
)
def test_rules_that_cannot_be(rules, keep, words):
    with pytest.raises(ConfigError, match=words):
        schema(keep, rules)


def test_without_a_person_column():
    with pytest.raises(ConfigError, match="needs a person column"):
        schema(person=None, identifiers="pid")


@pytest.mark.parametrize(
    ("frame", "rules", "keep", "words"),
    [
        (ROWS, {"cost": "sum", "s": "last by day", "day": "max"}, None, "column 'age': 1 person has several values"),
        (ROWS.with_columns(day=dt.date(2024, 1, 1)), {}, "last by day", "equally last by 'day'"),
        (ROWS.with_columns(day=pl.lit(None, pl.Date)), {}, "last by day", "2 persons have several rows"),
        (ROWS, {"s": "sum"}, "last by day", "its type is text, not number"),
        (ROWS.with_columns(visits=1), {}, "last by day", "'visits' is in the table"),
        (ROWS.with_columns(pid=pl.lit(None, pl.Int64)), {}, "last by day", "is empty in 6 rows"),
    ],
)
def test_rows_that_make_no_record(frame, rules, keep, words):
    with pytest.raises(DataError, match=words) as caught:
        records(rules, keep, frame)
    assert not any(value in str(caught.value) for value in ("flu", "gout", "hiv"))


def test_the_manifest_tells_and_the_judge_makes_them_again():
    frame = pl.concat([ROWS.with_columns(pid=pl.col("pid") + 3 * n, age=pl.col("age") + n) for n in range(6)])
    own = schema()
    release = anonymize(frame, own, rv.KAnonymity(2), seed=1)
    assert release.manifest["records"] == {"of": "visits", "rules": {**RULES, "*": "last by day"}}
    snapshot = read_snapshot(frame, own)
    check_raw(release, snapshot)
    with pytest.raises(VerificationError, match="how the rows of a person"):
        check_raw(release.under(replace(release.manifest, records=None)), snapshot)
    for name, value in (("cost", 9.5), ("visits", 2), ("s", "hiv"), ("age", 77)):
        first = pl.Series([value, *snapshot.frame[name][1:]], dtype=snapshot.frame.schema[name])
        wrong = replace(snapshot, frame=snapshot.frame.with_columns(first.alias(name)))
        with pytest.raises(VerificationError, match=f"column '{name}'"):
            check_raw(release, wrong)


def test_the_judge_rounds_for_itself():
    frame = pl.DataFrame({"pid": range(8), "age": [20, 22, 23, 40, 44, 88, 95, 99], "s": list("abababab")})
    own = rv.Schema(person="pid", quasi="age", sensitive="s", coarse={"age": {"top": 90, "round": 5}})
    release, snapshot = anonymize(frame, own, rv.KAnonymity(2), seed=1), read_snapshot(frame, own)
    check_raw(release, snapshot)
    wrong = replace(snapshot, frame=frame)
    with pytest.raises(VerificationError, match="not cut and rounded"):
        check_raw(release, wrong)


@pytest.mark.skipif(not (DATA / "diabetes130.parquet").exists(), reason="the shared tables are not here")
def test_visits_of_a_real_table():
    table = pl.read_parquet(DATA / "diabetes130.parquet").head(5_000)
    names = ["encounter_id", "patient_nbr", "age", "gender", "time_in_hospital", "diag_1"]
    own = rv.Schema(
        person="patient_nbr",
        identifiers="encounter_id",
        quasi=("age", "gender", "visits", "time_in_hospital"),
        sensitive="diag_1",
        input={
            "rows": "visits",
            "keep": "last by encounter_id",
            "summarise": {"visits": "count", "time_in_hospital": "sum"},
        },
    )
    release = anonymize(table.select(names), own, rv.KAnonymity(5), seed=1)
    persons = table["patient_nbr"].n_unique()
    assert persons < table.height
    assert release.manifest.rows == persons


def test_every_command_takes_a_table_of_visits(tmp_path):
    """Also what reads the records again: measures, audits and reports."""
    frame = pl.concat([ROWS.with_columns(pid=pl.col("pid") + 3 * n, age=pl.col("age") + n) for n in range(8)])
    frame.write_csv(tmp_path / "t.csv")
    (tmp_path / "reveil.toml").write_text(
        '[series]\nname = "v"\nseed = 1\nvault = "v.vault"\n'
        '[input]\nrows = "visits"\nkeep = "last by day"\nsummarise = { visits = "count", cost = "sum" }\n'
        '[columns]\npid = "person"\nday = { role = "quasi", type = "date", round = "month" }\n'
        'age = { role = "quasi", top = 50, round = 5 }\ncost = "quasi"\nvisits = "quasi"\ns = "sensitive"\n'
        '[guarantee]\nkind = "tau-safety"\nm = 2\ndomain = ["flu", "gout", "hiv", "a", "b"]\n'
    )
    config, out = ("-c", tmp_path / "reveil.toml"), tmp_path / "r.csv"

    def run(*words):
        done = CliRunner().invoke(cli, [str(word) for word in words], standalone_mode=False)
        assert done.exception is None, (words, done.exception)
        return done.output

    run("publish", tmp_path / "t.csv", *config, "-o", out)
    run("verify", out, tmp_path / "t.csv", *config)
    run("verify", "--series", *config, "--truth", tmp_path / "t.csv")
    run("audit", out, *config, "--truth", tmp_path / "t.csv")
    run("measure", tmp_path / "t.csv", out, *config)
    run("report", *config, "-o", tmp_path / "page.html", "--truth", tmp_path / "t.csv")
    assert "input.visits.cost" in (tmp_path / "page.html").read_text()
    changed = (tmp_path / "reveil.toml").read_text().replace('cost = "sum"', 'cost = "max"')
    (tmp_path / "reveil.toml").write_text(changed)
    again = CliRunner().invoke(
        cli,
        ["publish", str(tmp_path / "t.csv"), "-c", str(tmp_path / "reveil.toml"), "-o", str(tmp_path / "r2.csv")],
        standalone_mode=False,
    )
    assert isinstance(again.exception, RefusedError)
    assert "input.visits.cost" in str(again.exception)
