"""The section [input] of a proposed config: how the table is written, as it was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reveil.tables.schema import Role, toml_key, toml_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reveil.tables.profiling import Profile


def input_lines(found: Profile, comment: Callable[[str], Iterator[str]]) -> Iterator[str]:
    """Return the section, or nothing where the table is as a program writes it and has one row for each person."""
    read = found.input
    said = {
        "separator": read.dialect.separator,
        "encoding": read.dialect.encoding,
        "decimal": read.notation.decimal if read.notation.local_numbers else None,
        "thousands": read.notation.thousands,
        "dates": read.notation.dates,
    }
    lines = [f"{key} = {toml_text(value)}" for key, value in said.items() if value is not None]
    if read.dates_of:
        lines.append(_table("dates", {name: toml_text(form) for name, form in read.dates_of.items()}))
    secret = found.names(Role.SENSITIVE)  # of which nothing is repeated
    marks = {
        name: f"[{', '.join(map(toml_text, column_marks))}]"
        for name, column_marks in read.nulls_of.items()
        if name not in secret
    }
    if marks:
        lines += [*comment("Cells that were found to be marks for a missing value:"), _table("null_values", marks)]
    if found.visits is not None and found.visits[0] in found.names(Role.PERSON):
        lines += [
            *comment(
                "A person has several rows. One record is made of them before anything else, and the promise is about "
                'persons. Kept is the last row; summarise = { visits = "count", cost = "sum" } puts all together.'
            ),
            'rows = "visits"',
            f"keep = {toml_text(f'last by {found.visits[1]}')}",
        ]
    if lines:
        yield ""
        yield from comment("How the table is written, as it was found. It is read strictly so from now on.")
        yield "[input]"
        yield from lines


def _table(key: str, values: dict[str, str]) -> str:
    return f"{key} = {{ {', '.join(f'{toml_key(name)} = {value}' for name, value in values.items())} }}"
