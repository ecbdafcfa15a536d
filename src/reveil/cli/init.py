"""``reveil init``: look at a table, propose what its columns are, ask, and write a commented config."""

from __future__ import annotations

import shlex
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reveil.cli import interrupts
from reveil.cli.console import Console, quiet_option
from reveil.core.errors import DataError, FileError, InputError
from reveil.tables.formats import DEFAULT, in_words
from reveil.tables.schema import Role, Type, toml_key, toml_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveil.tables.profiling import ColumnProfile, Profile

_ROLES = {
    Role.PERSON: "whom the row is about: the same number in every release, never published",
    Role.IDENTIFIER: "points at a person directly: dropped",
    Role.QUASI: "others may know it of a person: published in groups, as ranges or sets",
    Role.SENSITIVE: "must not become known of a person: published, but so that it fits several",
    Role.PLAIN: "harmless, and says nothing of who a person is: published as it is",
}
_CONFIRMATION = "published as it is"
_WIDTH = 118
SEVERAL = (
    "several sensitive columns are published in the same row, and each is protected by itself: whoever knows one of "
    "somebody's values may find the row by it and read the others"
)
_MANY_TEXTS, _MANY_NUMBERS = 20, 50  # different values from which a hierarchy, or bins, are worth a word


@click.command("init", epilog=f"Tables are {in_words()} files.")
@click.argument("data", type=click.Path())
@click.option("--yes", is_flag=True, help="Take every proposal without asking; read the config before you publish.")
@click.option("-o", "--out", default="reveil.toml", show_default=True, type=click.Path(), help="The config to write.")
@quiet_option
def command(data: str, yes: bool, out: str, quiet: bool) -> None:
    """Look at the table DATA, propose what each column is, and write a config.

    At a terminal you are asked about every column; --yes takes the proposals, with the reasons as comments. No column
    is ever taken for harmless by itself.
    """
    console = Console(quiet=quiet)
    if not yes and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError(
            "there is no terminal to ask at, and what a column is should not be guessed silently",
            hint="Add --yes to take the proposals; the config then says the reason for each and what you must decide.",
        )
    target = _target(Path(out), Path(data), ask=not yes)
    with console.progress():
        console.stage("reading")
        from reveil.tables.profiling import profile

        console.announce_compilation()
        found = profile(data)
    if not yes:
        interrupts.rearm()
        found = _ask(found)
    _check(found)
    _write(target, Path(data), config_text(found))
    console.say(_summary(found, data, target))


def config_text(found: Profile) -> str:
    """Return a reveil.toml for the table, with a reason for each column and each number."""
    return "\n".join([*_series_lines(found), *_column_lines(found), *_guarantee_lines(found)]) + "\n"


def _series_lines(found: Profile) -> Iterator[str]:
    name = found.path.stem
    yield from _comment(
        f"What becomes of {found.path.name}: {found.rows:,} rows, {len(found.columns)} columns. Written by reveil init "
        "from names, types and counts; only you know what others may know. Read every line before you publish."
    )
    if any(column.decide for column in found.columns):
        yield from _comment("PLEASE DECIDE marks what was guessed.")
    yield from ("", "[series]", f"name = {toml_text(name)}")
    yield from _comment(
        "What was told so far, per person. It never leaves your building and must be guarded like the table."
    )
    yield f"vault = {toml_text(name + '.vault')}"
    marked = [column for column in found.columns if column.marks]
    if marked:
        # What stands in a sensitive column is not repeated, not even a mark.
        marks = sorted({mark for column in marked if column.role is Role.QUASI for mark in column.marks})
        yield from _comment(
            f"Some cells look like marks for a missing value (columns {', '.join(repr(c.name) for c in marked)}). Such "
            "cells are values until you list the marks here:"
        )
        yield f"# null_values = [{', '.join(map(toml_text, marks)) or '...'}]"


def _column_lines(found: Profile) -> Iterator[str]:
    yield ""
    yield from _comment("Every column of the table has one role:")
    yield from (f"#   {role:<10} {meaning}" for role, meaning in _ROLES.items())
    yield "[columns]"
    for column in found.columns:
        yield ""
        yield from _comment(("PLEASE DECIDE. " if column.decide else "") + _sentence(column.facts))
        yield from _comment(" ".join(map(_sentence, _remarks(column))))
        key = toml_key(column.name)
        settings = {"role": toml_text(column.role.value), **_handling(column)}
        if len(settings) == 1:
            yield f"{key} = {settings['role']}"
        else:
            yield f"{key} = {{ {', '.join(f'{name} = {value}' for name, value in settings.items())} }}"
        yield from _suggestions(column, key)


def _remarks(column: ColumnProfile) -> list[str]:
    more = [remark for remark in (column.handling, column.spelling) if remark]
    return [*column.reasons, *more, *column.notes]


def _handling(column: ColumnProfile) -> dict[str, str]:
    """Return the settings beside the role, as TOML values."""
    if column.role is Role.QUASI and column.zip:
        return {"type": '"text"'}
    if column.role is Role.QUASI and column.order:
        return {"order": f"[{', '.join(map(toml_text, column.order))}]"}
    if column.role in (Role.QUASI, Role.SENSITIVE) and column.type in (Type.DATE, Type.DATETIME):
        return {"type": toml_text(column.type)}
    return {}


def _suggestions(column: ColumnProfile, key: str) -> Iterator[str]:
    """Offer what would change the published values, for the steward to switch on."""
    role = column.role
    if role is Role.QUASI and column.zip:
        yield from _comment(
            "Text, so that leading zeros stay. To publish shortened codes, write a file with a line like "
            "44101;4410*;441*;* for each code, and:"
        )
        yield f'# {key} = {{ role = "quasi", type = "text", hierarchy = "zip.csv" }}'
    elif role is Role.QUASI and column.order:
        yield from _comment("Least first. Add the steps that later tables may have.")
    elif role is Role.QUASI and column.type is Type.TEXT and column.distinct > _MANY_TEXTS:
        yield from _comment(
            "To publish broader terms, write a file with a line like value;broader;broadest;* for each value, and:"
        )
        yield f'# {key} = {{ role = "quasi", hierarchy = "FILE.csv" }}'
    elif role is Role.SENSITIVE and column.order:
        yield from _comment("Its values look like a scale; with order = [...], least first, t-closeness can use it.")
    elif role is Role.SENSITIVE and column.type is Type.NUMBER and column.distinct > _MANY_NUMBERS:
        yield from _comment(
            "So many different numbers that neighbours count as different values, which is little protection. To count "
            "20 ranges instead (the numbers are still published as they are):"
        )
        yield f'# {key} = {{ role = "sensitive", type = "number", bins = 20 }}'


def _guarantee_lines(found: Profile) -> Iterator[str]:
    from reveil.core import registry

    proposal = found.guarantee
    yield ""
    yield from _comment("static: this release is judged alone, as if it were the only one.")
    for reason in proposal.reasons:
        yield from _comment(reason)
    if len(found.names(Role.SENSITIVE)) > 1:
        yield from _comment(_sentence(SEVERAL))
    yield from ("[guarantee]", 'kind = "static"', f"k = {proposal.k}")
    if proposal.l is not None:
        yield f"l = {proposal.l}"
        yield from _comment('Different is not equally likely: diversity = "frequency" or "entropy" is stricter.')
        yield '# diversity = "distinct"'
    yield from _comment("The share of records that may be left out where that makes the others clearer:")
    yield "# suppress = 0.02"
    yield from _comment(
        "A table that is published again and again tells more with each release. The guarantee for a whole series is "
        f"chosen by kind. Known here: {', '.join(registry.names('guarantees'))}."
    )
    if found.names(Role.PERSON) and len(found.names(Role.SENSITIVE)) == 1:
        yield from _comment("Instead of the lines above, for releases that may be compared with each other:")
        yield from ('# kind = "tau-safety"', "# m = 4")
    if not found.names(Role.PERSON):
        yield from _comment(
            "No column says whom a row is about. One release needs none; a series does: a number that stays the same "
            'from release to release, with the role "person".'
        )


def _ask(found: Profile) -> Profile:
    """Ask about each column until the answers make a config."""
    _tell(f"{found.path.name}: {found.rows:,} rows, {len(found.columns)} columns.")
    _tell("Enter takes the proposal in brackets. Or type another role:")
    for role, meaning in _ROLES.items():
        _tell(f"  {role:<10} {meaning}")
    while True:
        for number, name in enumerate([column.name for column in found.columns], 1):
            column = next(c for c in found.columns if c.name == name)
            _tell("")
            _tell(click.style(f"{number} of {len(found.columns)}: {_shown(name)}", bold=True) + f"  ({column.facts})")
            for remark in _remarks(column):
                _tell(f"  {_shown(_sentence(remark))}")
            if column.decide:
                _tell("  This is a guess: please decide.")
            role = _ask_role(column.role)
            chosen = {name: role}
            if role is Role.PERSON:
                for other in found.names(Role.PERSON):
                    if other != name:
                        chosen[other] = Role.IDENTIFIER
                        _tell(f"  There is one person column: {_shown(other)} is then an identifier, dropped.")
            found = found.with_roles(chosen)
        if found.names(Role.QUASI):
            return found
        _tell("\nNo column is quasi, so there is nothing by which people could be grouped. Please look again.")


def _ask_role(proposed: Role) -> Role:
    while True:
        answer = click.prompt("  role", default=proposed.value, err=True).strip().lower()
        fitting = [role for role in Role if role.startswith(answer)]
        if len(fitting) != 1:
            _tell(f"  Please type one of {', '.join(Role)}.")
        elif fitting[0] is not Role.PLAIN or _confirmed():
            return fitting[0]


def _confirmed() -> bool:
    """Let the steward say in words that a column is harmless: one keystroke is too few."""
    _tell("  Every value of this column will stand in the release, unchanged, in its person's row.")
    answer = click.prompt(f'  Type "{_CONFIRMATION}" to confirm', default="", show_default=False, err=True)
    if answer.strip().lower() == _CONFIRMATION:
        return True
    _tell("  Not confirmed.")
    return False


def _check(found: Profile) -> None:
    """Refuse a table of which nothing could be published, before anything is written."""
    if not found.names(Role.QUASI):
        raise DataError(
            "no column of this table looks like something that others may know of a person",
            file=found.path,
            hint="People are hidden among others by such columns (age, place, dates); at least one is needed.",
        )


def _target(target: Path, data: Path, *, ask: bool) -> Path:
    """Return the path to write to; an existing file is only replaced when somebody says so, and never a table."""
    from reveil.releases.files import Kept, file_target

    file_target(target, Kept((data,)), config=True)
    if target.exists() and (not ask or not click.confirm(f"{target} exists. Write over it?", err=True)):
        raise FileError("this file exists", file=target, hint="Remove it, or choose another name with -o.")
    return target


def _write(target: Path, data: Path, text: str) -> None:
    """Put the config in place at once, after it was read back: no half of it, and none that does not load."""
    from reveil.releases.files import Kept, draft_folder, write_file
    from reveil.series.config import load_config

    with draft_folder(target) as folder:
        draft = folder / target.name
        write_file(draft, text.encode(), Kept())
        load_config(draft)
    write_file(target, text.encode(), Kept((data,)), config=True)


def _summary(found: Profile, data: str, target: Path) -> str:
    names = [_shown(column.name) for column in found.columns]
    width = max(map(len, names))
    lines = [f"wrote {target}", ""]
    for name, column in zip(names, found.columns, strict=True):
        lines.append(f"  {name:<{width}}  {column.role:<10}" + ("  please decide" if column.decide else ""))
    proposal = found.guarantee
    lines += ["", f"  static, k = {proposal.k}" + ("" if proposal.l is None else f", l = {proposal.l}")]
    if not found.names(Role.SENSITIVE):
        lines.append("  no column is sensitive: only k is asked for")
    lines += [
        f"  {_shown(column.name)}: {_shown(obstacle)}"
        for column in found.columns
        if column.role is Role.PERSON
        for obstacle in column.obstacles
    ]
    lines += [f"  {_shown(column.name)}: {_shown(column.spelling)}" for column in found.columns if column.spelling]
    if len(found.names(Role.SENSITIVE)) > 1:
        lines.append(f"  {SEVERAL}")
    release = target.with_name(f"{found.path.stem}.release{DEFAULT}")
    words = shlex.join(["reveil", "publish", data, "-c", str(target), "-o", str(release)])
    return "\n".join([line.rstrip() for line in lines] + ["", "Read the config, then:", f"  {words}"])


def _comment(text: str) -> Iterator[str]:
    """Return comment lines; what is not printable could end a comment or a terminal's patience."""
    return (f"# {line}" for line in textwrap.wrap(_shown(text), _WIDTH - 2, break_long_words=False))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _shown(text: str) -> str:
    return "".join(ch if ch.isprintable() else "\N{REPLACEMENT CHARACTER}" for ch in text)


def _tell(text: str) -> None:
    click.echo(text, err=True)
