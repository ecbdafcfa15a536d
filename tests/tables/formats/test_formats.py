"""Every format does all that a format does, and one that another package adds does it too."""

from __future__ import annotations

import datetime as dt
import json
from importlib.metadata import EntryPoint
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import reveil as rv
from reveil.cli import cli
from reveil.core import registry
from reveil.core.errors import DataError, FileError
from reveil.releases.files import KeptFiles, file_target, output_path, release_target
from reveil.releases.release import Release
from reveil.tables.formats import check_path, endings, find_format, format_of, in_words
from reveil.tables.snapshot import canonical_text, read_snapshot
from reveil.testing import check_format
from tests.plugin.package.reveil_toys.json_lines import JsonLines

TOY = EntryPoint("jsonl", "tests.plugin.package.reveil_toys.json_lines:JsonLines", "reveil.formats")
CONFIG = """
[series]
name = "toy"
seed = 1
vault = "toy.vault"
[columns]
pid = "person"
age = "quasi"
seen = "quasi"
s = "sensitive"
[guarantee]
kind = "m-invariance"
m = 2
"""


@pytest.fixture
def toy(monkeypatch):
    """Register the toy beside the formats of Reveil, as its package would by an entry point."""

    real = registry.points
    monkeypatch.setattr(registry, "points", lambda group: [*real(group), *([TOY] if group == "formats" else [])])
    registry.names.cache_clear()
    registry.find.cache_clear()
    yield
    monkeypatch.undo()
    registry.names.cache_clear()
    registry.find.cache_clear()


def people():
    return pl.DataFrame(
        {
            "pid": [2**63 - 1 - n for n in range(8)],
            "age": [30, 31, None, 33, 34, 35, 36, 37],
            "seen": [dt.date(2024, 1, 1) + dt.timedelta(days=n) for n in range(7)] + [None],
            "s": [f"s{n}" for n in range(8)],
        }
    )


def write_raw(frame, path):
    """Write a raw table as its owner would: typed, or with every cell as text."""
    form = find_format(path)
    texts = frame.select(canonical_text(frame[name]).alias(name) for name in frame.columns)
    form.write(texts if form.text_only else frame, path)


def check_raw(path):
    """A raw table is the same in every format: big integers, dates, nulls; what is no number is missing."""
    frame = people().with_columns(big=pl.Series([2**62 + n for n in range(8)]), part=pl.Series([0.5, None] * 4))
    schema = rv.Schema(person="pid", quasi=("age", "seen", "big", "part"), sensitive="s")
    write_raw(frame, path)
    assert read_snapshot(path, schema).frame.equals(frame, null_equal=True)
    odd = frame.with_columns(part=pl.Series([0.5, float("nan")] * 4))
    write_raw(odd, path)
    assert read_snapshot(path, schema).frame.equals(frame, null_equal=True), "NaN is missing"
    write_raw(frame.with_columns(part=pl.Series([0.5, float("inf")] * 4)), path)
    typed = rv.Schema(person="pid", quasi=("age", "seen", "big", "part"), sensitive="s", types={"part": "number"})
    with pytest.raises(DataError, match="infinite"):
        read_snapshot(path, typed)
    with pytest.raises(DataError, match="not declared") as caught:
        read_snapshot(path, rv.Schema(person="pid", quasi=("age", "seen", "big"), sensitive="s"))
    assert caught.value.file == str(path)


def check_release(folder, ending):
    """A release of each shape reads back as it was, and its manifest names the format by the ending."""
    release = rv.anonymize(people(), SCHEMA, rv.KAnonymity(2), seed=1)
    for made in (release, rv.anonymize(people(), SCHEMA, rv.DistinctDiversity(2), method=rv.Anatomy(), seed=1)):
        path = made.write(folder / f"{'two' if made.batch is not None else 'one'}{ending}")
        back = Release.read(path)
        assert back.text.equals(made.text, null_equal=True)
        assert (back.batch is None) == (made.batch is None)
        assert list(back.manifest["digests"]) == [ending.removeprefix(".")]


SCHEMA = rv.Schema(person="pid", quasi=("age", "seen"), sensitive="s")


@pytest.mark.parametrize("ending", endings())
def test_tables_and_releases_are_the_same_in_every_format(tmp_path, ending):
    check_raw(tmp_path / f"raw{ending}")
    check_release(tmp_path, ending)


def test_another_package_adds_a_format(tmp_path, toy):
    assert endings() == (".csv", ".jsonl", ".parquet")
    check_format(JsonLines(), tmp_path / "t.jsonl")
    check_raw(tmp_path / "raw.jsonl")
    check_release(tmp_path, ".jsonl")


def test_messages_name_all_formats(tmp_path, toy):
    assert in_words() == ".csv, .jsonl or .parquet"
    with pytest.raises(
        FileError, match=r"neither a \.arrow nor a \.csv nor .* nor a \.jsonl nor a \.parquet nor .* nor a \.xlsx file"
    ):
        find_format(Path("t.xls"))
    with pytest.raises(FileError, match=r"written as \.csv, \.jsonl or \.parquet"):
        output_path(tmp_path / "t.xls")
    with pytest.raises(FileError, match=r"Name a \.arrow, \.csv, .* \.jsonl, \.parquet, .* or \.xlsx file in it"):
        check_path(tmp_path)
    with pytest.raises(DataError, match=r"path of a \.arrow, \.csv, .* \.jsonl, \.parquet, .* or \.xlsx file"):
        read_snapshot(7, SCHEMA)


def test_a_file_in_an_added_format_is_not_written_over(tmp_path, toy):
    write_raw(people(), tmp_path / "raw.jsonl")
    with pytest.raises(FileError, match="would replace a table"):
        file_target(tmp_path / "raw.jsonl", KeptFiles())
    with pytest.raises(FileError, match="column 'pid', which no release has"):
        release_target(tmp_path / "raw.jsonl", KeptFiles(columns=("pid",)))


def test_a_series_in_an_added_format(tmp_path, toy):
    """All commands read it and write it, and the vault keeps it and finds it again."""
    folder = tmp_path / "series"
    folder.mkdir()
    (folder / "reveil.toml").write_text(CONFIG)
    write_raw(people(), folder / "raw.jsonl")
    config = ["-c", str(folder / "reveil.toml")]

    def run(*words):
        done = CliRunner().invoke(cli, [str(word) for word in words], standalone_mode=False)
        assert done.exception is None, (words, done.exception, done.output)
        return done.output

    def told():
        return json.loads((folder / "r1.manifest.json").read_text())["digests"]

    run("init", folder / "raw.jsonl", "--yes", "-o", folder / "proposed.toml")
    run("publish", folder / "raw.jsonl", *config, "-o", folder / "r1.jsonl")
    assert list(told()) == ["jsonl"]
    assert [path.name for path in (folder / "toy.vault" / "releases").iterdir() if path.suffix == ".jsonl"]
    run("publish", folder / "raw.jsonl", *config, "-o", folder / "r1.parquet")  # the same release, in another format
    assert list(told()) == ["jsonl", "parquet"]
    run("verify", folder / "r1.jsonl", folder / "raw.jsonl", *config)
    run("audit", folder / "r1.jsonl", *config, "--truth", folder / "raw.jsonl")
    run("measure", folder / "raw.jsonl", folder / "r1.jsonl", *config)
    run("query", folder / "r1.jsonl", "age >= 33")
    assert "jsonl" not in run("history", *config, "--check", folder)
    table = folder / "r1.jsonl"
    table.write_bytes(table.read_bytes().replace(b"s0", b"s1"))
    with pytest.raises(AssertionError, match="jsonl was changed after it was published"):
        run("history", *config, "--check", folder)
    with pytest.raises(rv.VerificationError):
        Release.read(table)


def test_a_foreign_release_in_an_added_format(tmp_path, toy):
    from reveil.releases.foreign import read_release

    form = format_of(Path("x.jsonl"))
    form.write(pl.DataFrame({"age": ["[30, 33]", "*"], "s": ["a", "b"]}), tmp_path / "f.jsonl")
    assert read_release(tmp_path / "f.jsonl", SCHEMA).manifest["rows"] == 2


def test_what_is_in_a_format_that_is_not_installed_any_more(tmp_path):
    assert format_of(Path("t.jsonl")) is None
    with pytest.raises(FileError, match=r"neither a \.arrow nor a \.csv nor .* nor a \.xlsx file"):
        read_snapshot(_touched(tmp_path / "t.jsonl"), SCHEMA)


def _touched(path):
    path.write_text("[]\n")
    return path
