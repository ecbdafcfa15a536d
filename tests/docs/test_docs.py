"""The documentation says what is so: its blocks are carried out, its tables compared, its links followed."""

import random
import re
import runpy
from dataclasses import fields

import click
import polars as pl
import pytest

import reveil as rv
from reveil.cli import COMMANDS, cli
from reveil.core import registry
from reveil.series.alarms import Alarms
from reveil.tables.input import InputSettings
from reveil.tables.schema import Type
from reveil.tables.settings import ColumnSettings, SeriesSettings
from tests.docs.pages import DOCS, ROOT, Follower, anchors, links, page, rows, sections
from tests.docs.trials import COLUMNS, people
from tests.rarely import mostly_slow

PAGES = sorted(DOCS.glob("*.md"))
FOLLOWED = [
    "analysts.md",
    "methods.md",
    "promise.md",
    "files.md",
    "refusals.md",
    "other-tools.md",
    "tutorial.md",  # the longest ones last: from here on they are slow
    "which-guarantee.md",
    "vault.md",
    "attacks.md",
]
ASKED = {
    "k alone": rv.KAnonymity(4),
    "k and l": rv.KAnonymity(4) & rv.DistinctDiversity(3),
    "k and t": rv.KAnonymity(4) & rv.TCloseness(0.4),
}
NEEDED = {"safe-grid": {"beta": 0.5, "epsilon": 1.0, "scales": {"age": [0, 50, 100]}}}


@pytest.mark.parametrize("name", mostly_slow(FOLLOWED, FOLLOWED.index("tutorial.md")))
def test_what_a_page_says_is_what_happens(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REVEIL_KEY", raising=False)
    dice = random.Random(1)  # noqa: S311  (keys and seeds that are the same every time: a test is no game of chance)
    monkeypatch.setattr("secrets.token_bytes", dice.randbytes)
    monkeypatch.setattr("secrets.randbits", dice.getrandbits)
    Follower(name).follow(page(name))


def test_pages_with_blocks_are_followed():
    runs = {path.name for path in PAGES if re.search(r"^```(console|python|pycon)$", path.read_text(), re.MULTILINE)}
    assert runs - {"reference.md"} == set(FOLLOWED)


def test_every_page_is_listed():
    listed = {target for target, _ in links(page("README.md"))}
    assert {path.name for path in PAGES} - {"README.md"} <= listed


def test_links_lead_somewhere():
    for path in [*PAGES, *DOCS.glob("decisions/*.md")]:
        for target, anchor in links(path.read_text()):
            aim = path.parent / target if target else path
            assert aim.exists(), f"{path.name}: {target}"
            assert not anchor or anchor in anchors(aim.read_text()), f"{path.name}: {target}#{anchor}"


def test_every_counterexample_of_the_sources_is_a_test():
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", page("papers.md"))
    assert len(named) > 20
    for path, name in named:
        assert f"def {name}(" in (ROOT / path).read_text(), f"papers.md: {path}::{name}"


def spelled(parameter):
    """Return how a parameter of a command is written."""
    return {parameter.make_metavar(click.Context(cli))} if isinstance(parameter, click.Argument) else {*parameter.opts}


def test_every_option_is_documented_and_exists():
    parts = sections(page("command-line.md"))
    described = {title.removeprefix("reveil "): part for title, part in parts.items() if title.startswith("reveil ")}
    assert described.keys() == COMMANDS.keys()
    for name, part in described.items():
        command = cli.get_command(click.Context(cli), name)
        if isinstance(command, click.Group):
            below = part.split("### reveil ")[1:]
            assert [text.partition("\n")[0] for text in below] == [f"{name} {one}" for one in command.commands], name
            for text, one in zip(below, command.commands.values(), strict=True):
                _same_options(text, one)
        else:
            _same_options(part, command)


def _same_options(part, command):
    told = [set(re.findall(r"`([^`]+)`", line[0])) for line in rows(part)[1:]]
    assert sorted(map(sorted, told)) == sorted(sorted(spelled(own)) for own in command.params), command.name


def test_every_setting_of_a_config_is_documented():
    part = sections(page("command-line.md"))["The config"]
    series = [line[1].strip("`") for line in rows(part)[1:]]
    keys = [own.name for settings in (SeriesSettings, InputSettings) for own in fields(settings)]
    assert series[: len(keys)] == keys
    limits = rows(part[part.index("| limit |") :])[1:]
    assert [line[0].strip("`") for line in limits] == [own.name for own in fields(Alarms)]
    columns = rows(part[part.index("| setting of a column") : part.index("| limit |")])[1:]
    assert [line[0].strip("`") for line in columns] == [own.name for own in fields(ColumnSettings)]
    assert set(Type) <= set(re.findall(r"`(\w+)`", columns[1][1]))


def grade(method, model):
    """Return the grade that a table of this method and model has, or that the two do not go together."""
    own = registry.find("groupers", method)(**NEEDED.get(method, {}))
    names = [name for name in COLUMNS if method != "safe-grid" or name != "town"]
    types = {"age": "number", "disease": "text"} if method == "safe-grid" else {}
    schema = rv.Schema(quasi=[name for name in names if name != "disease"], sensitive="disease", types=types)
    try:
        release = rv.anonymize(people().select(names), schema, model, own, seed=1)
    except rv.ConfigError:
        return "no"
    return release.manifest["guarantee"]["grade"]


def test_methods_and_their_grades():
    text = page("methods.md")
    head, *lines = rows(text[text.index("| method | k alone") :])
    assert sorted(line[0].strip("`") for line in lines) == sorted(registry.names("groupers"))
    for line in lines:
        method = line[0].strip("`")
        found = [grade(method, ASKED[name]) for name in head[1:4]]
        assert found == line[1:4], f"{method}: {found}"
        settings = [own.name for own in fields(registry.find("groupers", method)) if own.init]
        assert re.findall(r"`(\w+)`", line[4]) == settings, method


def test_the_reference_is_up_to_date():
    made = runpy.run_path(str(DOCS / "reference.py"))["reference"]()
    assert page("reference.md") == made, "docs/reference.md is not what the docstrings say: run make docs"
    assert all(f"### {name}\n" in made or f"`rv.{name}`" in made or f"- `{name}` (" in made for name in rv.__all__)
    assert str(ROOT) not in made
    assert not re.search(r"0x[0-9a-f]{6}", made)


def test_a_follower_sees_what_is_wrong(tmp_path, monkeypatch):
    """The tests above are worth something: a page that is not true is found out."""
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"age": [1]}).write_csv("t.csv")
    follow = lambda text: Follower("page").follow(text)  # noqa: E731
    follow("```console\n$ cat t.csv\nage\n...\n```")
    for text in (
        "```console\n$ cat t.csv\nname\n...\n```",
        "```console\n$ cat nothing.csv\n...\n```",
        "```console\n$ reveil query t.csv\n...\n$ echo $?\n0\n```",
        "```pycon\n>>> 1 + 1\n3\n```",
        "```python\nassert False\n```",
    ):
        with pytest.raises(AssertionError):
            follow(text)
