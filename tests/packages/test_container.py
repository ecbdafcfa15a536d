"""The container file, held without a container engine: what it copies is there, what it runs exists."""

import json
import re
from pathlib import Path

import pytest
from tests.cli.run import reveil

from reveil.cli import COMMANDS

ROOT = Path(__file__).parents[2]


@pytest.fixture
def steps():
    text = (ROOT / "Containerfile").read_text().replace("\\\n", " ")
    return [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]


def test_what_is_copied_is_there(steps):
    copied = [rest.split()[:-1] for word, rest in steps if word == "COPY" and "--from" not in rest]
    names = [name for sources in copied for name in sources]
    assert {"src", "pyproject.toml", "requirements.lock"} <= set(names)
    assert all((ROOT / name).exists() for name in names)


def test_it_ends_as_a_user_without_rights(steps):
    words = [word for word, _ in steps]
    user = words.index("USER")
    assert steps[user][1] not in ("root", "0")
    assert user > len(words) - words[::-1].index("FROM") - 1, "the last stage is the one that runs"
    assert words.index("ENTRYPOINT") > user


def test_what_it_runs_exists(steps):
    run = {word: json.loads(rest) for word, rest in steps if word in ("ENTRYPOINT", "CMD")}
    assert run["ENTRYPOINT"] == ["reveil"]
    command, *given = run["CMD"]
    known = reveil(command, "--help").stdout
    assert command in COMMANDS
    assert all(option in known for option in given if option.startswith("--"))
    warmed = [rest for word, rest in steps if word == "RUN" and re.match(r"reveil ", rest)]
    assert [step.split()[1] in COMMANDS for step in warmed] == [True]
