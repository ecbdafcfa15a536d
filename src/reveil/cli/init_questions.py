"""What ``reveil init`` asks at a terminal: the role of each column, and what releases there will be."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from reveil.series.proposing.writing import ROLES, remarks, sentence, shown
from reveil.tables.schema import Role

if TYPE_CHECKING:
    from reveil.series.proposing.answers import Answers
    from reveil.tables.profiling import Profile

_CONFIRMATION = "published as it is"


def ask_roles(found: Profile) -> Profile:
    """Ask about each column until the answers make a config."""
    _tell(f"{found.path.name}: {found.rows:,} rows, {len(found.columns)} columns.")
    _tell("Enter takes the proposal in brackets. Or type another role:")
    for role, meaning in ROLES.items():
        _tell(f"  {role:<10} {meaning}")
    while True:
        for number, name in enumerate([column.name for column in found.columns], 1):
            column = next(c for c in found.columns if c.name == name)
            _tell("")
            _tell(click.style(f"{number} of {len(found.columns)}: {shown(name)}", bold=True) + f"  ({column.facts})")
            for remark in remarks(column):
                _tell(f"  {shown(sentence(remark))}")
            if column.decide:
                _tell("  This is a guess: please decide.")
            role = _ask_role(column.role)
            chosen = {name: role}
            if role is Role.PERSON:
                for other in found.names(Role.PERSON):
                    if other != name:
                        chosen[other] = Role.IDENTIFIER
                        _tell(f"  There is one person column: {shown(other)} is then an identifier, dropped.")
            found = found.with_roles(chosen)
        if found.names(Role.QUASI):
            return found
        _tell("\nNo column is quasi, so there is nothing by which people could be grouped. Please look again.")


def ask_answers(found: Profile, given: Answers) -> Answers:
    """Ask about the releases to come, as far as options have not said it."""
    if not found.names(Role.PERSON):
        return given  # only static is possible, whatever is answered
    _tell("")
    again = given.again
    if again is None:
        again = given.several or _ask(
            "Will this table be published again, about some of the same people?", default=True
        )
    recipients = given.recipients or _ask("Do several recipients get other columns of it?", default=False)
    parts = given.parts or _ask("Do recipients get parts of the people (a region, an age group)?", default=False)
    answers = replace(given, again=again, recipients=recipients, parts=parts)
    if not answers.several:
        return answers
    leaving = _ask("Do people leave, or return?", default=True) if again and given.leaving is None else given.leaving
    changing = given.changing
    if changing is None and found.names(Role.SENSITIVE):
        changing = given.ever or _ask("Do sensitive values change from release to release?", default=True)
    ever = given.ever
    if changing and not ever:
        ever = _ask("Is the question whether somebody EVER had a value, and not what they have now?", default=False)
    return replace(answers, leaving=leaving, changing=changing, ever=ever)


def _ask(question: str, *, default: bool) -> bool:
    return click.confirm(question, default=default, err=True)


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


def _tell(text: str) -> None:
    click.echo(text, err=True)
