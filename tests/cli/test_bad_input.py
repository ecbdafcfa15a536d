"""Whatever a file holds, a command ends with 0, 1 or 2, in our words and in nobody else's."""

import copy
import json
import os
import resource
import subprocess
import sys

import polars as pl
import pytest

from reveil.core import registry
from reveil.releases.manifest_files import digest_of
from reveil.tables.snapshot.types import outside_the_calendar
from tests.cli.run import reveil

CONFIG = """
[series]
name = "t"
[columns]
pid = "person"
age = "quasi"
town = "quasi"
illness = "sensitive"
[guarantee]
kind = "static"
k = 2
"""
ROWS = 8


def raw(**columns):
    own = {"pid": range(ROWS), "age": [20 + i for i in range(ROWS)], "town": ["Ulm", "Bonn"] * 4}
    return pl.DataFrame({**own, "illness": ["gout", "ague"] * 4, **columns})


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "reveil.toml").write_text(CONFIG)
    raw().write_csv(tmp_path / "raw.csv")
    return tmp_path


def publish(folder, data="raw.csv", out="out.csv", run=reveil):
    return run("publish", folder / data, "-c", folder / "reveil.toml", "-o", folder / out)


def is_told(done, *words, code=2):
    """Check that a command ended as it should, with a message of ours."""
    assert done.returncode == code, done.stderr
    assert "went wrong" not in done.stderr, done.stderr
    assert "panicked" not in done.stderr
    assert "Traceback" not in done.stderr
    assert not [word for word in words if word not in done.stderr], done.stderr


OUTSIDE = {
    "far": pl.Series([2**31 - 1 - i for i in range(ROWS)], dtype=pl.Int32).cast(pl.Date),
    "long ago": pl.Series([-(2**31) + i for i in range(ROWS)], dtype=pl.Int32).cast(pl.Date),
    "milliseconds": pl.Series([2**63 - 1 - i for i in range(ROWS)]).cast(pl.Datetime("ms")),
    "microseconds": pl.Series([-(2**63) + 1 + i for i in range(ROWS)]).cast(pl.Datetime("us", "Europe/Berlin")),
}


@pytest.mark.parametrize("column", ["age", "illness", "pid"])
@pytest.mark.parametrize("case", OUTSIDE)
def test_dates_outside_the_calendar(folder, column, case):
    raw(**{column: OUTSIDE[case]}).write_parquet(folder / "raw.parquet")
    is_told(publish(folder, "raw.parquet"), repr(column), "no calendar has", "row 1")


def test_what_the_calendar_has():
    days = pl.Series(["0000-01-01", "9999-12-31", None]).str.to_date()
    assert outside_the_calendar(days) is None
    assert outside_the_calendar(pl.Series([2**63 - 1, -(2**63) + 1]).cast(pl.Datetime("ns", "Europe/Berlin"))) is None
    nested = pl.DataFrame({"lo": days, "hi": [None, 2**31 - 1, 0]}).with_columns(
        pl.col("hi").cast(pl.Int32).cast(pl.Date)
    )
    assert outside_the_calendar(nested.to_struct("x")).to_list() == [False, True, False]
    assert outside_the_calendar(
        pl.Series([[1, None], [], [2**31 - 1]], dtype=pl.List(pl.Int32)).cast(pl.List(pl.Date))
    ).any()
    assert outside_the_calendar(pl.Series([[1]], dtype=pl.List(pl.Int32)).cast(pl.List(pl.Date))) is None
    assert outside_the_calendar(pl.Series(["x"])) is None


def test_a_release_with_such_dates_cannot_be_read(folder):
    raw(age=pl.Series(range(ROWS), dtype=pl.Int32).cast(pl.Date)).write_parquet(folder / "raw.parquet")
    publish(folder, "raw.parquet", "out.parquet")
    manifest = json.loads((folder / "out.manifest.json").read_text())
    table = pl.read_parquet(folder / "out.parquet")
    far = pl.col("age").struct.with_fields(hi=pl.lit(2**31 - 1, pl.Int32).cast(pl.Date))
    table.with_columns(far).write_parquet(folder / "out.parquet")
    manifest["digest"] = digest_of(folder / "out.parquet")
    (folder / "out.manifest.json").write_text(json.dumps(manifest))
    is_told(reveil("query", folder / "out.parquet", "age is null"), "no calendar has")


def test_no_word_of_a_panic_reaches_stderr(folder):
    # Past every check: the process prints what polars prints, and Python sees an exception that is none.
    code = (
        "import sys, polars as pl\n"
        "from reveil.tables.snapshot import table\n"
        "table.check_calendar = lambda *_: None\n"
        "from reveil.cli import main\n"
        "main()\n"
    )
    raw(age=OUTSIDE["far"]).write_parquet(folder / "raw.parquet")
    call = ["publish", folder / "raw.parquet", "-c", folder / "reveil.toml", "-o", folder / "out.csv"]
    done = subprocess.run([sys.executable, "-c", code, *map(str, call)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "error:" in done.stderr
    assert "panicked" not in done.stderr
    assert "out-of-range" not in done.stderr
    assert not (folder / "out.csv").exists()


def test_damaged_parquet(folder):
    raw().write_parquet(folder / "whole.parquet")
    whole = (folder / "whole.parquet").read_bytes()
    for place in range(0, len(whole), max(1, len(whole) // 60)):
        for damaged in (whole[:place], whole[:place] + b"\xff\xff\xff" + whole[place + 3 :]):
            (folder / "raw.parquet").write_bytes(damaged)
            for done in (
                publish(folder, "raw.parquet"),
                reveil("audit", folder / "raw.parquet", "-c", folder / "reveil.toml", "--truth", folder / "raw.csv"),
            ):
                assert done.returncode in (0, 1, 2)
                assert "went wrong" not in done.stderr, done.stderr


@pytest.mark.parametrize("column", ["age", "illness", "pid"])
def test_numbers_of_128_bits(folder, column):
    small, large = (pl.Series([start + i for i in range(ROWS)], dtype=pl.UInt128) for start in (0, 2**127))
    raw(**{column: small}).write_parquet(folder / "raw.parquet")
    assert publish(folder, "raw.parquet").returncode == 0
    raw(**{column: large}).write_parquet(folder / "raw.parquet")
    done = publish(folder, "raw.parquet")
    if column == "pid":  # compared as texts
        assert done.returncode == 0
    else:
        is_told(done, "127 bits", repr(column))


@pytest.mark.skipif(not hasattr(pl, "Float16"), reason="this polars has no such type")
def test_numbers_of_16_bits(folder):
    raw(age=pl.Series([i / 2 for i in range(ROWS)]).cast(pl.Float16)).write_parquet(folder / "raw.parquet")
    assert publish(folder, "raw.parquet").returncode == 0


DEEP = 100_000
SETTINGS = {
    "deep lists": ("a = " + "[" * DEEP + "]" * DEEP, "nested"),
    "deep tables": ("a = " + "{b=" * DEEP + "1" + "}" * DEEP, "nested"),
    "deep keys": (".".join("a" * 400) + " = 1", "nested"),
    "long number": ("a = " + "9" * 5000, "digits"),
    "long hexadecimal number": ("a = 0x" + "f" * 5000, "digits"),
    "NUL": ('a = "x\\u0000y"', "NUL"),
}


@pytest.mark.parametrize("case", SETTINGS)
@pytest.mark.parametrize("where", ["config", "hierarchy"])
def test_settings_that_nobody_writes(folder, case, where):
    text, word = SETTINGS[case]
    if where == "config":
        (folder / "reveil.toml").write_text(CONFIG.replace("k = 2", "k = 2\n" + text))
    else:
        (folder / "town.toml").write_text(text)
        config = CONFIG.replace('town = "quasi"', 'town = { role = "quasi", hierarchy = "town.toml" }')
        (folder / "reveil.toml").write_text(config)
    is_told(publish(folder), word)


def test_long_cells_of_a_hierarchy(folder):
    config = CONFIG.replace('town = "quasi"', 'town = { role = "quasi", hierarchy = "town.csv" }')
    (folder / "reveil.toml").write_text(config)
    (folder / "town.csv").write_text("Ulm;*\n" + "B" * 200_000 + ";*\n")
    is_told(publish(folder), "town.csv:2", "too long")
    (folder / "town.csv").write_text('Ulm;*\n"Bonn;*\n' + "x;*\n" * 50_000)
    is_told(publish(folder), "too long", "quote")


VALUES = [None, True, -1, 1.5, "x", [], {}, 10**30, [[]], {"a": 1}, float("nan"), 2**31, "9" * 5000]


def _places(content, here=()):
    yield here
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, below in inner:
        yield from _places(below, (*here, key))


def _changed(manifest, place, value):
    if not place:
        return value
    manifest = copy.deepcopy(manifest)
    below = manifest
    for key in place[:-1]:
        below = below[key]
    below[place[-1]] = value
    return manifest


def test_manifests_of_wrong_shapes(folder):
    """Each place of a manifest with something else in it, in turn, and each without it."""
    publish(folder)
    path = folder / "out.manifest.json"
    manifest = json.loads(path.read_text())
    config = ("-c", folder / "reveil.toml")
    calls = [
        ("query", folder / "out.csv", "age > 25"),
        ("verify", folder / "out.csv", folder / "raw.csv", *config),
        ("audit", folder / "out.csv", *config, "--truth", folder / "raw.csv"),
        ("measure", folder / "raw.csv", folder / "out.csv", *config),
    ]
    for number, place in enumerate(_places(manifest)):
        value = VALUES[number % len(VALUES)]
        path.write_text(json.dumps(_changed(manifest, place, value)))
        done = reveil(*calls[number % len(calls)])
        assert done.returncode in (0, 1, 2)
        assert "went wrong" not in done.stderr, (place, value, done.stderr)
    for key in manifest:
        path.write_text(json.dumps({name: value for name, value in manifest.items() if name != key}))
        for call in calls[:2]:
            done = reveil(*call)
            assert "went wrong" not in done.stderr, (key, done.stderr)
    for text in ("[" * DEEP + "]" * DEEP, "1" * 5000, "", "{"):
        path.write_text(text)
        for call in calls:
            is_told(reveil(*call), "manifest")


def test_names_that_no_disk_takes(folder):
    data, config, out = folder / "raw.csv", folder / "reveil.toml", folder / "out.csv"
    publish(folder)
    for name in ("n" * 300, "m" * 250, "é" * 130):
        long = folder / f"{name}.csv"
        for call in (
            ("publish", long, "-c", config, "-o", out),
            ("publish", data, "-c", config, "-o", long),
            ("publish", data, "-c", long, "-o", out),
            ("init", long, "--yes", "-o", folder / "new.toml"),
            ("init", data, "--yes", "-o", folder / name / "new.toml"),
            ("verify", long, data, "-c", config),
            ("query", long, "age > 1"),
            ("measure", long, out, "-c", config),
            ("audit", long, "-c", config, "--truth", data),
            ("report", "-c", config, "-o", folder / "r.html", "--releases", long),
        ):
            is_told(reveil(*call))
        for setting in (f'name = "{name}"', f'name = "t"\nvault = "{name * 2}"'):
            text = CONFIG.replace('name = "t"', setting).replace('kind = "static"\nk = 2', 'kind = "tau-safety"\nm = 2')
            config.write_text(text)
            for call in (
                ("publish", data, "-c", config, "-o", out),
                ("history", "-c", config),
                ("forget", "1", "-c", config),
                ("adopt", data, out, "-c", config),
            ):
                done = reveil(*call)
                assert done.returncode in (0, 1, 2)
                assert "went wrong" not in done.stderr, done.stderr
        config.write_text(CONFIG)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_full_disk(folder, suffix, monkeypatch):
    def full(*_, **__):
        raise pl.exceptions.ComputeError("No space left on device: gout")

    for name in ("write", "write_pieces"):
        monkeypatch.setattr(registry.find("formats", suffix), name, full)
    before = sorted(folder.iterdir())
    done = publish(folder, out=f"out.{suffix}")
    is_told(done, "cannot be written", "free space")
    assert "gout" not in done.stderr
    assert sorted(folder.iterdir()) == before


def test_a_disk_that_fills_up(folder):
    pl.DataFrame(
        {"pid": range(3000), "age": [i % 90 for i in range(3000)], "town": ["Ulm"] * 3000, "illness": ["a"] * 3000}
    ).write_csv(folder / "raw.csv")

    def limited(*arguments):
        return subprocess.run(
            [sys.executable, "-c", "from reveil.cli import main; main()", *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
        )

    before = sorted(folder.iterdir())
    is_told(publish(folder, run=limited), "cannot be written", "free space")
    assert sorted(folder.iterdir()) == before


MARKS = ("\ufeff", "\u200b", "\u2060", "\ufeff\ufeff")


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("column", ["town", "illness"])
@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
def test_a_formula_behind_a_mark_that_is_not_seen(folder, mark, column, out):
    cell = f"{mark}=1+1"
    raw(**{column: [cell, "x"] * 4}).write_csv(folder / "raw.csv")
    assert publish(folder, out=out).returncode == 0
    done = reveil("verify", folder / out, folder / "raw.csv", "-c", folder / "reveil.toml")
    assert done.returncode == 0, done.stderr
    if out.endswith(".csv"):
        # A cell of the file begins with a quote, which no program takes for the beginning of a formula.
        cells = pl.read_csv(folder / out, infer_schema=False)[column].unique().to_list()
        assert f'"{cell}"' in cells
        assert cell not in cells


def test_a_name_behind_a_mark_that_is_not_seen(folder):
    config = CONFIG.replace("age =", '"\\ufeff=age" =')
    (folder / "reveil.toml").write_text(config)
    raw().rename({"age": "\ufeff=age"}).select("\ufeff=age", "pid", "town", "illness").write_csv(
        folder / "raw.csv", include_bom=True
    )
    assert publish(folder).returncode == 0
    assert (folder / "out.csv").read_text().startswith('"""\ufeff=age"""')
    done = reveil("verify", folder / "out.csv", folder / "raw.csv", "-c", folder / "reveil.toml")
    assert done.returncode == 0, done.stderr


def test_a_second_mark_at_the_start_of_a_file_is_not_swallowed(folder):
    text = (folder / "raw.csv").read_text()
    (folder / "raw.csv").write_text("\ufeff" + text)
    assert publish(folder).returncode == 0
    (folder / "raw.csv").write_text("\ufeff\ufeff" + text)
    is_told(publish(folder), "is not declared")


def test_a_config_may_begin_with_a_mark(folder):
    (folder / "reveil.toml").write_text("\ufeff" + CONFIG)
    assert publish(folder).returncode == 0


@pytest.mark.parametrize("text", ["pid,age\n", 'pid,"age\n', "\0", "\xff"])
def test_a_damaged_registration_list(folder, text):
    config = CONFIG.replace(
        'kind = "static"\nk = 2', 'kind = "global"\nl = 2\nstrategy = "constant-ratio"\nreleases = 3'
    )
    (folder / "reveil.toml").write_text(config + 'population = "list.csv"\n')
    (folder / "list.csv").write_text(text, encoding="latin-1")
    is_told(publish(folder))


def test_names_that_are_not_utf_8(folder):
    call = "import os, sys; from reveil.cli import main; sys.argv[1:] = map(os.fsdecode, {}); main()"
    odd, data, config = (os.fsencode(folder / name) for name in ("\udce9.csv", "raw.csv", "reveil.toml"))
    for arguments in (
        [b"publish", data, b"-c", config, b"-o", odd],
        [b"publish", odd, b"-c", config, b"-o", data + b".csv"],
    ):
        done = subprocess.run(
            [sys.executable, "-c", call.format(arguments)], capture_output=True, text=True, check=False
        )
        is_told(done, "cannot")


def test_a_command_of_commands_asks_which_one(folder):
    asked = reveil("vault")
    assert (asked.returncode, asked.stdout) == (2, "")
    assert "Error: say what to do with the vault: check, copy, init or rotate-key" in asked.stderr


@pytest.mark.parametrize("number", ["1000001", "9" * 5000])
def test_more_queries_than_can_be_asked_are_refused(number):
    done = reveil("measure", "raw.csv", "release.csv", "-c", "reveil.toml", "--queries", number)
    assert done.returncode == 2
    assert "at most 1,000,000 random queries" in done.stderr
