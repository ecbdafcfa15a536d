"""Talk: progress at a terminal and in a log, compilation announced, no colours."""

import io
import os
import re
import sys
import time

import pytest

from reveil.cli import console
from tests.cli.run import reveil_alone as reveil
from tests.rarely import mostly_slow


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_shows_the_stage_after_a_while_and_wipes_it(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(console, "PATIENCE", 0.05)
    talk = console.Console()
    with talk.progress():
        talk.stage("grouping")
        time.sleep(0.3)
    assert "grouping" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_progress_without_a_terminal_is_a_line_now_and_then(monkeypatch):
    assert console.LINE_EVERY == 10
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(console, "LINE_EVERY", 0.1)
    with console.Console().progress() as talk:
        talk.stage("grouping")
        time.sleep(0.5)
    lines = stream.getvalue().splitlines()
    assert lines
    assert all(re.fullmatch(r"grouping … \d+ s", line) for line in lines)


def test_no_progress_in_a_short_run_or_where_quiet_is_asked_for(monkeypatch):
    for stream, patience, quiet in ((Terminal(), 2.0, False), (io.StringIO(), 2.0, False), (io.StringIO(), 0.0, True)):
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(console, "PATIENCE", patience)
        monkeypatch.setattr(console, "LINE_EVERY", patience)
        with console.Console(quiet=quiet).progress() as talk:
            talk.stage("grouping")
            time.sleep(0.05)
        assert stream.getvalue() == ""


@pytest.mark.parametrize("setting", mostly_slow([{}, {"NO_COLOR": "1"}, {"FORCE_COLOR": "1"}]))
def test_no_colours(tmp_path, setting):
    done = reveil("publish", "none.csv", "-c", "none.toml", "-o", tmp_path / "o.csv", **setting)
    assert "\x1b" not in done.stderr


@pytest.mark.slow
def test_compilation_is_announced_once_per_machine(tmp_path):
    (tmp_path / "t.csv").write_text("age,s\n1,a\n2,b\n")
    (tmp_path / "c.toml").write_text('[columns]\nage = "quasi"\ns = "sensitive"\n[guarantee]\nkind = "static"\nk = 2\n')
    arguments = ("publish", tmp_path / "t.csv", "-c", tmp_path / "c.toml", "-o", tmp_path / "o.csv")
    setting = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    os.makedirs(setting["NUMBA_CACHE_DIR"])  # noqa: PTH103
    first, second = (reveil(*arguments, **setting).stderr for _ in range(2))
    assert first.count("compiling") == 1
    assert "compiling" not in second


def test_compilation_is_not_announced_for_a_command_that_has_ended(capsys):
    from numba.core import event

    ended = console.Console()
    with ended.progress():
        ended.announce_compilation()
    quiet = console.Console(quiet=True)
    with quiet.progress():
        quiet.announce_compilation()
        event.start_event("numba:compile")
        event.end_event("numba:compile")
    assert capsys.readouterr().err == ""
