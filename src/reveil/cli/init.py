"""``reveil init``: look at a table, propose what its columns are and what to promise, ask, and write a config."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reveil.cli import interrupts
from reveil.cli.console import Console, quiet_option
from reveil.core.errors import FileError, InputError
from reveil.tables.formats import DEFAULT, in_words, readable
from reveil.tables.schema import Role

if TYPE_CHECKING:
    from reveil.series.proposing.choosing import Choice
    from reveil.series.proposing.trying import Trial
    from reveil.tables.profiling import Profile


@click.command("init", epilog=f"Tables are {in_words(readable())} files.")
@click.argument("data", type=click.Path())
@click.option("--again/--once", default=None, help="Whether the table will be published again.")
@click.option("--changing/--fixed", default=None, help="Whether sensitive values change from release to release.")
@click.option("--ever", is_flag=True, help="The question is whether somebody ever had a value.")
@click.option("--parts", is_flag=True, help="Recipients get parts of the people: a region, an age group.")
@click.option("--recipients", is_flag=True, help="Several recipients get other columns.")
@click.option("--yes", is_flag=True, help="Take every proposal without asking; read the config before you publish.")
@click.option("-o", "--out", default="reveil.toml", show_default=True, type=click.Path(), help="The config to write.")
@quiet_option
def command(
    data: str,
    again: bool | None,
    changing: bool | None,
    ever: bool,
    parts: bool,
    recipients: bool,
    yes: bool,
    out: str,
    quiet: bool,
) -> None:
    """Look at the table DATA, propose what each column is and what to promise, and write a config.

    At a terminal you are asked about every column and about the releases to come; --yes takes the proposals, with the
    reasons as comments. What the table cannot keep is not proposed. No column is ever taken for harmless by itself.
    """
    console = Console(quiet=quiet)
    if not yes and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError(
            "there is no terminal to ask at, and what a column is should not be guessed silently",
            hint="Add --yes to take the proposals; the config then says the reason for each and what you must decide.",
        )
    if again is False and (changing or ever or parts or recipients):
        raise InputError(
            "--once says that there is one release, and the other options speak of several",
            hint="Take --once or the others out.",
        )
    if changing is False and ever:
        raise InputError("--ever is about values that change, and --fixed says that none does", hint="Take one out.")
    target = _target(Path(out), Path(data), ask=not yes)
    with console.progress():
        console.stage("reading")
        from reveil.series.proposing.answers import Answers
        from reveil.tables.profiling import profile

        console.announce_compilation()
        found = profile(data)
    answers = Answers(again=again, changing=changing, ever=ever, parts=parts, recipients=recipients)
    if not yes:
        interrupts.rearm()
        from reveil.cli.init_questions import ask_answers, ask_roles

        found = ask_roles(found)
        answers = ask_answers(found, answers)
    with console.progress():
        console.stage("trying")
        from reveil.series.proposing.choosing import choose
        from reveil.series.proposing.saving import check_publishable, save_config
        from reveil.series.proposing.trying import attempt
        from reveil.series.proposing.writing import config_text

        console.announce_compilation()
        check_publishable(found)
        choice = choose(found, answers)
        trial = attempt(config_text(found, choice), found)
        save_config(target, Path(data), config_text(found, choice, trial))
    console.say(_summary(found, choice, trial, data, target))


def _target(target: Path, data: Path, *, ask: bool) -> Path:
    """Return the path to write to; an existing file is only replaced when somebody says so, and never a table."""
    from reveil.releases.files import KeptFiles, file_target

    file_target(target, KeptFiles((data,)), config=True)
    if target.exists() and (not ask or not click.confirm(f"{target} exists. Write over it?", err=True)):
        raise FileError("this file exists", file=target, hint="Remove it, or choose another name with -o.")
    return target


def _summary(found: Profile, choice: Choice, trial: Trial, data: str, target: Path) -> str:
    from reveil.series.proposing.writing import shown

    names = [shown(column.name) for column in found.columns]
    width = max(map(len, names))
    lines = [f"wrote {target}", ""]
    for name, column in zip(names, found.columns, strict=True):
        lines.append(f"  {name:<{width}}  {column.role:<10}" + ("  please decide" if column.decide else ""))
    lines += ["", f"  {choice.in_words}"]
    if found.visits_in_words is not None:
        lines.append(f"  {shown(found.visits_in_words)}")
    if not found.names(Role.SENSITIVE):
        lines.append("  no column is sensitive: only k is asked for")
    lines += [f"  {shown(cost)}" for cost in (*choice.costs, trial.in_words)]
    lines += [
        f"  {shown(column.name)}: {shown(obstacle)}"
        for column in found.columns
        if column.role is Role.PERSON and (found.visits is None or found.visits[0] != column.name)
        for obstacle in column.obstacles
    ]
    lines += [f"  {shown(column.name)}: {shown(column.spelling)}" for column in found.columns if column.spelling]
    lines += [f"  {shown(warning)}" for warning in choice.warnings]
    release = target.with_name(f"{found.path.stem}.release{DEFAULT}")
    words = shlex.join(["reveil", "publish", data, "-c", str(target), "-o", str(release)])
    decide = "Read the config"
    if marked := sum(column.decide for column in found.columns):
        decide += f", and decide what is marked there ({marked} {'column' if marked == 1 else 'columns'})"
    return "\n".join([line.rstrip() for line in lines] + ["", f"{decide}, then:", f"  {words}"])
