"""``reveil init`` from the command line: what it writes loads, says why, and can be published as it stands."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from reveil.cli import main
from reveil.core import registry
from reveil.series import config as configs
from reveil.testing import hospital
from tests.rarely import mostly_slow

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
PATIENCE = 20.0  # seconds of silence


def run(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr(sys, "argv", ["reveil", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def columns_of(config: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(config.read_text())["columns"]
    return found


def roles_of(config: Path) -> dict[str, str]:
    return {name: given if isinstance(given, str) else given["role"] for name, given in columns_of(config).items()}


def assert_every_column_has_its_reason(config: Path) -> None:
    """The line above each column is a comment, and a sentence."""
    lines = config.read_text().splitlines()
    start, end = lines.index("[columns]"), lines.index("[guarantee]")
    declared = [i for i in range(start + 1, end) if lines[i] and not lines[i].startswith("#")]
    assert len(declared) == len(columns_of(config))
    for i in declared:
        assert lines[i - 1].startswith("# ")
        assert lines[i - 1].endswith(".")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "hospital.csv"
    hospital.month(2000).write_csv(path)
    return path


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "reveil.toml"


def test_yes_writes_a_config_that_publishes(
    table: Path, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "init", table, "--yes", "-o", config) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert re.search(r"diagnosis +sensitive\n", said.err)
    assert re.search(r"income +quasi +please decide", said.err)
    command = re.search(r"reveil publish (\S+) -c (\S+) -o (\S+)", said.err)
    assert command is not None
    assert_every_column_has_its_reason(config)
    loaded = configs.load_config(config)
    assert (loaded.name, loaded.schema.person, loaded.schema.sensitive) == ("hospital", "pid", ("diagnosis",))
    assert loaded.guarantee.kind == "tau-safety"
    assert re.search(r"A quick run on all 2,000 records: cells are \d+% of their column wide", said.err)
    assert "A quick run on all 2,000 records" in " ".join(config.read_text().split())
    assert columns_of(config)["admitted"] == {"role": "quasi", "type": "date"}
    assert run(monkeypatch, "publish", *command[0].split()[2:]) == 0
    assert run(monkeypatch, "verify", tmp_path / "hospital.release.csv", table, "-c", config) == 0


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        (["--again"], "tau-safety"),
        (["--again", "--changing"], "tau-safety"),
        (["--fixed"], "tau-safety"),
        (["--once"], "static"),
        (["--parts"], "refinement"),
        (["--recipients"], "worlds"),
        (["--recipients", "--again"], "tau-safety"),
        (["--changing", "--ever"], "global"),
    ],
)
def test_options_choose_the_guarantee(
    options: list[str], kind: str, table: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(monkeypatch, "init", table, "--yes", *options, "-q", "-o", config) == 0
    loaded = configs.load_config(config)
    assert loaded.guarantee.kind == kind
    assert ("fixed = true" in config.read_text()) == ("--fixed" in options)


@pytest.mark.parametrize("options", [["--once", "--parts"], ["--once", "--changing"], ["--fixed", "--ever"]])
def test_options_that_contradict_each_other(
    options: list[str], table: Path, config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "init", table, "--yes", *options, "-o", config) == 2
    assert "Take" in capsys.readouterr().err
    assert not config.exists()


def test_without_a_person_column_it_says_why_only_static_is_possible(
    tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hospital.month(300).drop("pid").write_csv(tmp_path / "t.csv")
    assert run(monkeypatch, "init", tmp_path / "t.csv", "--yes", "--again", "-o", config) == 0
    assert "Only static is possible: no column says whom a row is about" in capsys.readouterr().err
    assert configs.load_config(config).guarantee.kind == "static"
    assert "Only static is possible" in config.read_text()


def test_nothing_it_says_or_writes_quotes_a_cell(
    table: Path, config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(monkeypatch, "init", table, "--yes", "-o", config)
    said = config.read_text() + capsys.readouterr().err
    words = set(re.findall(r"\w+", said))
    frame = hospital.month(2000)
    for name in ("pid", "name", "town", "ward", "diagnosis"):
        values = {str(value) for value in frame[name].drop_nulls().unique()}
        assert not values & words, name
        assert not [value for value in values if " " in value and value in said], name


def test_no_value_of_a_sensitive_scale_or_mark_is_written(
    tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    severity, dose = ["mild", "moderate", "severe"], ["N/A", "10", "20"]
    frame = pl.DataFrame({"age": range(300), "severity": severity * 100, "dose": dose * 100})
    frame.write_csv(tmp_path / "t.csv")
    assert run(monkeypatch, "init", tmp_path / "t.csv", "--yes", "-o", config) == 0
    said = config.read_text() + capsys.readouterr().err
    assert roles_of(config) == {"age": "quasi", "severity": "sensitive", "dose": "sensitive"}
    assert not [value for value in (*severity, "N/A") if value in said]


def test_every_registered_guarantee_is_named(table: Path, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(monkeypatch, "init", table, "--yes", "-q", "-o", config)
    comments = " ".join(line.removeprefix("#") for line in config.read_text().splitlines() if line.startswith("#"))
    assert all(name in comments for name in registry.names("guarantees"))


ODD = {
    "one column": {"age": [1, 2, 3]},
    "one row": {"age": [1], "sex": ["f"]},
    "an empty column": {"age": [1, 2, 3], "flavour": [None, None, None], "disease": [None, None, None]},
    "unicode": {"größe": [1, 2, 3], "日本": ["a", "b", "c"], "prénom": ["a", "b", "c"], "🙂": [1, 1, 1]},
    "quotes and spaces": {'the "age"': [1, 2, 3], "a = b # c": [1, 2, 3], "back\\slash": [1, 2, 3], "[x]": [1, 2, 3]},
    "line ends and controls": {
        "a\nb": [1, 2, 3],
        "tab\tend": [1, 2, 3],
        "\x1b[31mred\x7f": [1, 2, 3],
        "age": [1, 2, 3],
    },
    "leading zeros": {"zip": ["01067", "80331", "00001"], "ward": ["007", "12", "3"]},
    "scales": {"education": ["none", "primary", "tertiary"] * 9, 'say "low"': ['"low"', "b", "c"] * 9},
    "marks": {"age": ["?", "NA", "7"] * 9, "born": ["1.2.1990", "3.4.1991", "5.6.1992"] * 9},
    "names used inside": {"n": [1, 2, 3], "value": [3, 4, 5]},
    "booleans and times": {"married": [True, False, None], "seen": ["10:00", "11:00", "12:30"]},
    "many numbers": {"age": [*range(100)], "salary": [*range(100)]},
}


@pytest.mark.parametrize("columns", ODD.values(), ids=ODD.keys())
def test_odd_tables(
    columns: dict[str, list[Any]], tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "odd table.csv"
    pl.DataFrame(columns).write_csv(path)
    assert run(monkeypatch, "init", path, "--yes", "-o", config) == 0
    assert [c.name for c in configs.load_config(config).schema.columns] == list(columns)
    assert_every_column_has_its_reason(config)
    assert "plain" not in roles_of(config).values()
    if len(next(iter(columns.values()))) > 1:
        assert run(monkeypatch, "publish", path, "-c", config, "-o", tmp_path / "out.csv", "-q") == 0


def test_what_is_suggested_works_when_switched_on(
    tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pl.DataFrame(
        {"age": ["?", *map(str, range(299))], "salary": range(300), "zip": [f"{i % 9:05}" for i in range(300)]}
    )
    frame.write_csv(tmp_path / "t.csv")
    assert run(monkeypatch, "init", tmp_path / "t.csv", "--yes", "-o", config) == 0
    text = config.read_text()
    assert columns_of(config)["zip"] == {"role": "quasi", "type": "text"}
    (tmp_path / "zip.csv").write_text("".join(f"{i:05};0000*;*\n" for i in range(9)))
    text = text.replace("# suppress", "suppress")
    for name in ("salary", "zip"):
        text = re.sub(rf"^{name} = .*\n((?:# .*\n)*)# ({name} = .*)$", r"\1\2", text, flags=re.MULTILINE)
    config.write_text(text)
    loaded = configs.load_config(config)
    assert loaded.schema["age"].null_values == ("?",)
    assert loaded.schema["salary"].bins == 20
    assert loaded.schema["zip"].taxonomy is not None
    assert run(monkeypatch, "publish", tmp_path / "t.csv", "-c", config, "-o", tmp_path / "out.csv") == 0
    assert re.search(r"\[\d+, \d+\] \| null", (tmp_path / "out.csv").read_text())


@pytest.mark.parametrize(
    ("header", "words"),
    [("age,age\n1,2\n", "more than once"), ("age\n", "no rows"), ("pid\n1\n2\n", "others may know"), ("", "empty")],
)
def test_tables_that_cannot_be_published(
    header: str, words: str, tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    (tmp_path / "t.csv").write_text(header)
    assert run(monkeypatch, "init", tmp_path / "t.csv", "--yes", "-o", config) == 2
    assert words in capsys.readouterr().err
    assert not config.exists()


def test_without_a_terminal_it_must_be_told_yes(
    table: Path, config: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    assert run(monkeypatch, "init", table, "-o", config) == 2
    assert "--yes" in capsys.readouterr().err
    assert not config.exists()


def test_it_writes_over_nothing(table: Path, config: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    config.write_text("mine")
    before = table.read_bytes()
    assert run(monkeypatch, "init", table, "--yes", "-o", config) == 2
    assert "another name" in capsys.readouterr().err
    assert run(monkeypatch, "init", table, "--yes", "-o", table) == 2
    assert run(monkeypatch, "init", table, "--yes", "-o", table.parent) == 2
    assert run(monkeypatch, "init", table, "--yes", "-o", table.parent / "no" / "folder.toml") == 2
    assert config.read_text() == "mine"
    assert table.read_bytes() == before


@pytest.mark.parametrize(("raised", "code"), [(KeyboardInterrupt, 130), (OSError, 2)])
def test_an_interrupted_write_leaves_nothing(
    raised: type[BaseException], code: int, table: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise raised

    monkeypatch.setattr(os, "replace", fail)
    assert run(monkeypatch, "init", table, "--yes", "-o", config) == code
    assert list(table.parent.iterdir()) == [table]


# The child makes the pseudo-terminal its own, so that ctrl-c reaches it as from a keyboard.
CHILD = """
import fcntl, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from reveil.cli import main
main()
"""


class Terminal:
    """``reveil`` in a pseudo-terminal, answered prompt by prompt."""

    def __init__(self, *words: object) -> None:
        self.ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD, *map(str, words)],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            close_fds=True,
        )
        os.close(theirs)
        self.seen = ""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.ours)

    def expect(self, pattern: str) -> str:
        """Read until the pattern appears; return what was written since the last one."""
        while (found := re.search(pattern, self.seen)) is None:
            more = self._read()
            assert more, f"expected {pattern!r} and saw {self.seen!r}"
            self.seen += more
        before, self.seen = self.seen[: found.end()], self.seen[found.end() :]
        return before

    def answer(self, text: str) -> None:
        os.write(self.ours, text.encode() + b"\n")

    def press(self, key: bytes) -> None:
        """Press a key until it is heard, as people do: the first may come just before an answer is waited for."""
        for _ in range(10):
            os.write(self.ours, key)
            while select.select([self.ours], [], [], 3)[0]:
                more = self._read()
                self.seen += more
                if not more or "interrupted" in self.seen:
                    return

    def end(self) -> int:
        """Read to the end and return the exit code."""
        while more := self._read():
            self.seen += more
        return self.process.wait(PATIENCE)

    def _read(self) -> str:
        """Return what was written, or nothing when the other side has closed or is silent for too long."""
        if not select.select([self.ours], [], [], PATIENCE)[0]:
            return ""
        try:
            return os.read(self.ours, 65536).decode(errors="replace")
        except OSError:  # Linux says so when the other side has closed
            return ""


def test_a_session_at_a_terminal(table: Path, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config.write_text("an older one")
    answers = {
        "income": ["nonsense", "p", "sens"],  # refused, ambiguous, enough of a word
        "sex": ["plain", "yes", "plain", "published as it is"],  # not confirmed at first
    }
    with Terminal("init", table, "-o", config) as terminal:
        terminal.expect(r"Write over it\? \[y/N\]:")
        terminal.answer("y")
        for name in hospital.month(1).columns:
            shown = terminal.expect(r"role \[\w+\]:")
            assert re.search(rf"of 9: {name}\b", shown)
            assert ("please decide" in shown) == (name == "income")
            if name not in answers:
                terminal.answer("")
                continue
            for n, text in enumerate(answers[name]):
                terminal.answer(text)
                if n < len(answers[name]) - 1:
                    terminal.expect(r"role \[\w+\]:|to confirm: ?")
        for question, text in (
            ("published again", ""),
            ("other columns", ""),
            ("parts of the people", "n"),
            ("leave, or return", "y"),
            ("values change", "maybe"),  # neither yes nor no: asked again
            ("values change", "y"),
            ("EVER", ""),
        ):
            assert question in terminal.expect(r"\[[yYnN]/[yYnN]\]:")
            terminal.answer(text)
        assert terminal.end() == 0
        assert re.search(r"income +sensitive", terminal.seen)
    assert roles_of(config) | {"income": "sensitive", "sex": "plain"} == roles_of(config)
    assert configs.load_config(config).guarantee.kind == "refinement"  # two sensitive columns, and a plain one
    assert "PLEASE DECIDE" not in config.read_text()
    assert "chosen by you" in config.read_text().lower()
    assert_every_column_has_its_reason(config)
    assert run(monkeypatch, "publish", table, "-c", config, "-o", tmp_path / "out.csv") == 0


@pytest.mark.slow
def test_another_person_and_a_second_round_at_a_terminal(tmp_path: Path, config: Path) -> None:
    (tmp_path / "t.csv").write_text("pid,mrn,age\n" + "".join(f"{i},{i + 7},{i}\n" for i in range(30)))
    with Terminal("init", tmp_path / "t.csv", "-o", config) as terminal:
        for text in ("", "person", "identifier"):  # nothing is left to publish: asked again
            terminal.expect(r"role \[\w+\]:")
            terminal.answer(text)
        assert "look again" in terminal.expect(r"role \[identifier\]:")
        terminal.answer("")
        terminal.expect(r"role \[person\]:")
        terminal.answer("")
        terminal.expect(r"role \[identifier\]:")
        terminal.answer("quasi")
        for text in ("n", "n", "n"):  # not again, no recipients, no parts: nothing more is asked
            terminal.expect(r"\[[yYnN]/[yYnN]\]:")
            terminal.answer(text)
        assert terminal.end() == 0
    assert configs.load_config(config).guarantee.kind == "static"
    assert roles_of(config) == {"pid": "identifier", "mrn": "person", "age": "quasi"}


@pytest.mark.parametrize("key", mostly_slow([b"\x03", b"\x04"]), ids=["ctrl-c", "ctrl-d"])
def test_leaving_the_questions_writes_nothing(key: bytes, table: Path, config: Path) -> None:
    with Terminal("init", table, "-o", config) as terminal:
        terminal.expect(r"role \[person\]:")
        terminal.press(key)
        assert terminal.end() == 130
    assert list(table.parent.iterdir()) == [table]


def real(name: str) -> Path:
    path = DATA / f"{name}.parquet"
    if not path.exists():
        pytest.skip("the real tables are not beside the repository")
    return path


@pytest.mark.shared
def test_a_real_table(tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = real("adult_arx")
    assert run(monkeypatch, "init", table, "--yes", "-o", config) == 0
    assert_every_column_has_its_reason(config)
    assert run(monkeypatch, "publish", table, "-c", config, "-o", tmp_path / "out.csv") == 0


@pytest.mark.slow
@pytest.mark.shared
def test_a_real_table_with_several_rows_for_a_person(
    tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    rows = pl.read_parquet(real("diabetes130"), n_rows=6000)
    rows.write_parquet(table := tmp_path / "visits.parquet")
    persons = rows["patient_nbr"].n_unique()
    assert persons < rows.height
    assert run(monkeypatch, "init", table, "--yes", "-o", config) == 0
    assert f"The 6,000 rows are visits of {persons:,} people: the last one of each" in capsys.readouterr().err
    assert_every_column_has_its_reason(config)
    said = tomllib.loads(config.read_text())
    assert said["input"] == {"rows": "visits", "keep": "last by encounter_id"}
    # One record for each person is made of the visits, and the config publishes as it is.
    assert run(monkeypatch, "publish", table, "-c", config, "-o", tmp_path / "out.csv") == 0
    manifest = json.loads((tmp_path / "out.manifest.json").read_text())
    assert manifest["rows"] + manifest["suppressed"] + manifest["withheld"] == persons
