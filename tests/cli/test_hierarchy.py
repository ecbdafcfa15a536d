"""``reveil hierarchy``, and a table from a German office from the file to a verified release of a series."""

from __future__ import annotations

import datetime as dt
import random

import polars as pl
import pytest
from click.testing import CliRunner

from reveil.cli import cli
from reveil.core.errors import ReveilError
from reveil.tables.hierarchy import Taxonomy

CONFIG = """
[columns]
pid = "person"
age = "quasi"
zip = { role = "quasi", type = "text" }
job = "quasi"
seen = { role = "quasi", type = "date" }
s = "sensitive"
[guarantee]
kind = "static"
k = 2
"""


def run(*words):
    done = CliRunner().invoke(cli, [str(word) for word in words], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.stdout


@pytest.fixture
def folder(tmp_path, monkeypatch):
    dice = random.Random(1)  # noqa: S311
    # Jobs of two kinds: those of the young and those of the old; the sensitive column pairs them the other way.
    jobs = {"nurse": (20, "a"), "baker": (25, "b"), "judge": (60, "a"), "bishop": (65, "b")}
    rows = []
    for person in range(200):
        job, (age, s) = dice.choice(list(jobs.items()))
        day = dt.date(2023, 5, 1) + dt.timedelta(days=dice.randrange(400))
        rows.append((person, age + dice.randrange(5), f"{dice.randrange(44100, 44400):05}", job, day, s))
    frame = pl.DataFrame(rows, schema=["pid", "age", "zip", "job", "seen", "s"], orient="row")
    frame.write_csv(tmp_path / "t.csv")
    (tmp_path / "reveil.toml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("column", "options", "line", "drawn"),
    [
        ("seen", ["--dates", "month,quarter,year"], "2023-05-01;2023-05;2023-Q2;2023;*", "2023-Q1"),
        ("age", ["--bins", "5,10,20"], "20;20 to 24;20 to 29;20 to 39;*", "20 to 39"),
        ("zip", ["--prefix", "3,2"], "44101;441*;44*;*", "441*"),
        ("job", ["--order", "jobs.txt"], "baker;baker to nurse;*", "baker to nurse"),
        ("job", ["--cluster", "2", "-c", "reveil.toml"], "baker;baker / nurse;*", "bishop / judge"),
    ],
)
def test_hierarchies_are_drawn_and_read_back(folder, column, options, line, drawn):
    (folder / "jobs.txt").write_text("baker\nnurse\nbishop\njudge\n")
    out = run("hierarchy", "t.csv", column, *options, "-o", "h.csv", "-q")
    assert drawn in out
    assert line in (folder / "h.csv").read_text().splitlines()
    text = CONFIG.replace('"quasi", type = "text"', '"quasi", type = "text" ')
    plain = {"age": "number", "zip": "text", "job": "text", "seen": "date"}[column]
    lines = [own for own in text.splitlines() if not own.startswith(f"{column} =")]
    lines.insert(2, f'{column} = {{ role = "quasi", type = "{plain}", hierarchy = "h.csv" }}')
    (folder / "with.toml").write_text("\n".join(lines))
    run("publish", "t.csv", "-c", "with.toml", "-o", "r.csv", "-q")
    run("verify", "r.csv", "t.csv", "-c", "with.toml", "-q")


def test_a_sensitive_column_is_not_shown_and_never_clustered(folder):
    assert run("hierarchy", "t.csv", "s", "--prefix", "1", "-c", "reveil.toml", "-o", "s.csv", "-q") == ""
    assert Taxonomy.load(folder / "s.csv").leaves == ("a", "b")
    for column, options, words in (
        ("s", ["--cluster", "2", "-c", "reveil.toml"], "cannot be clustered"),
        ("pid", ["--prefix", "1", "-c", "reveil.toml"], "cannot be given a hierarchy"),
        ("job", ["--cluster", "2"], "needs to know which columns"),
        ("job", ["--cluster", "9", "-c", "reveil.toml"], "from 2 to 3"),
        ("job", ["--bins", "5"], "holds text, not numbers"),
        ("job", ["--dates", "month"], "holds text, not dates"),
        ("seen", ["--dates", "year,month"], "in this order"),
        ("age", ["--bins", "5,12"], "a multiple of the one before"),
        ("age", ["--bins", "x"], "must be numbers"),
        ("age", ["--bins", "5", "--prefix", "1"], "one way"),
        ("age", [], "one way"),
        ("none", ["--bins", "5"], "no column 'none'"),
        ("zip", ["--prefix", "1,2"], "get shorter"),
        ("job", ["--order", "nowhere.txt"], "cannot read this order"),
    ):
        with pytest.raises(ReveilError, match=words) as caught:
            run("hierarchy", "t.csv", column, *options, "-o", "x.csv", "-q")
        assert caught.value.exit_code == 2
        assert not (folder / "x.csv").exists()


def test_an_order_or_a_hierarchy_that_does_not_cover_a_value(folder):
    (folder / "jobs.txt").write_text("baker\nnurse\n")
    with pytest.raises(ReveilError, match="2 different values are not in the order: 'bishop', 'judge'"):
        run("hierarchy", "t.csv", "job", "--order", "jobs.txt", "-o", "h.csv", "-q")
    (folder / "h.csv").write_text("baker;*\nnurse;*\n")
    (folder / "with.toml").write_text(CONFIG.replace('job = "quasi"', 'job = { role = "quasi", hierarchy = "h.csv" }'))
    with pytest.raises(ReveilError, match="not in its hierarchy: ") as caught:
        run("publish", "t.csv", "-c", "with.toml", "-o", "r.csv", "-q")
    assert caught.value.exit_code == 2
    with pytest.raises(ReveilError, match="would replace a file that is read"):
        run("hierarchy", "t.csv", "age", "--bins", "5", "-o", "t.csv", "-q")


GERMAN = ["Köln", "München", "Zürich"]


def test_from_a_german_file_to_a_verified_series_with_defaults_only(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dice = random.Random(4)  # noqa: S311
    lines = ["Personennr;Alter;Wohnort;Aufnahme;Kosten;Diagnose"]
    frames = []
    for person in range(240):
        day = dt.date(2024, 1, 1) + dt.timedelta(days=dice.randrange(360))
        cost = dice.randrange(100_000, 999_999) / 100
        row = (1000 + person, dice.randint(18, 97), dice.choice(GERMAN), day, cost, dice.choice("ABCDEF") + "-Röteln")
        frames.append(row)
        written = f"{cost:,.2f}".translate(str.maketrans(",.", ".,"))
        lines.append(f"{row[0]};{row[1]};{row[2]};{day:%d.%m.%Y};{written};{row[5]}")
    (tmp_path / "t.csv").write_bytes("\r\n".join([*lines, ""]).encode("latin-1"))
    run("init", "t.csv", "--yes", "-o", "r.toml", "-q")
    run("publish", "t.csv", "-c", "r.toml", "-o", "r1.csv", "-q")
    run("verify", "r1.csv", "t.csv", "-c", "r.toml", "-q")
    # The same records in another format are the same snapshot: the vault knows them.
    names = lines[0].split(";")
    pl.DataFrame(frames, schema=names, orient="row").reverse().write_parquet(tmp_path / "same.parquet")
    run("publish", "same.parquet", "-c", "r.toml", "-o", "again.csv", "-q")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "r1.csv").read_bytes()
    run("verify", "r1.csv", "same.parquet", "-c", "r.toml", "-q")
