"""The text of a proposed config: every setting with its reason as a comment above it."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from reveil.core import registry
from reveil.series.proposing.input_lines import input_lines
from reveil.tables.feasible import BINS, FEW_COUNTERFEITS, many_numbers
from reveil.tables.schema import Role, Type, toml_key, toml_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveil.series.proposing.choosing import Choice, Setting
    from reveil.series.proposing.trying import Trial
    from reveil.tables.profiling import ColumnProfile, Profile

ROLES = {
    Role.PERSON: "whom the row is about: the same number in every release, never published",
    Role.IDENTIFIER: "points at a person directly: dropped",
    Role.QUASI: "others may know it of a person: published in groups, as ranges or sets",
    Role.SENSITIVE: "must not become known of a person: published, but so that it fits several",
    Role.PLAIN: "harmless, and says nothing of who a person is: published as it is",
}
_WIDTH = 118
_MANY_TEXTS = 20  # different values from which a hierarchy is worth a word


def config_text(found: Profile, choice: Choice, trial: Trial | None = None) -> str:
    """Return a reveil.toml for the table, with a reason for each column and each number."""
    sections = (
        _series_lines(found),
        input_lines(found, comment),
        _column_lines(found, choice),
        _guarantee_lines(choice, trial),
        _limit_lines(choice),
    )
    return "\n".join(line for section in sections for line in section) + "\n"


def _series_lines(found: Profile) -> Iterator[str]:
    name = found.path.stem
    yield from comment(
        f"What becomes of {found.path.name}: {found.rows:,} rows, {len(found.columns)} columns. Written by reveil init "
        "from names, types and counts; only you know what others may know. Read every line before you publish."
    )
    if any(column.decide for column in found.columns):
        yield from comment("PLEASE DECIDE marks what was guessed.")
    yield from ("", "[series]", f"name = {toml_text(name)}")
    yield from comment(
        "What was told so far, per person. It never leaves your building and must be guarded like the table."
    )
    yield f"vault = {toml_text(name + '.vault')}"
    yield from _mark_lines(found)


def _mark_lines(found: Profile) -> Iterator[str]:
    # What was found beside numbers and dates stands under [input], but for sensitive columns.
    written = [name for name in found.input.nulls_of if name not in found.names(Role.SENSITIVE)]
    marked = [column for column in found.columns if column.marks and column.name not in written]
    if not marked:
        return
    yield from comment(
        "Some cells look like marks for a missing value: "
        + ", ".join(f"{column.marked:,} of {column.name!r}{_marks_of(column)}" for column in marked)
        + ". Such cells are values until you list the marks here, for all columns:"
    )
    # What stands in a sensitive column is not repeated, not even a mark.
    marks = sorted({mark for column in marked if column.role is Role.QUASI for mark in column.marks})
    yield f"# null_values = [{', '.join(map(toml_text, marks)) or '...'}]"


def _marks_of(column: ColumnProfile) -> str:
    return f" ({', '.join(column.marks)})" if column.role is Role.QUASI else ""


def _column_lines(found: Profile, choice: Choice) -> Iterator[str]:
    yield ""
    yield from comment("Every column of the table has one role:")
    yield from (f"#   {role:<10} {meaning}" for role, meaning in ROLES.items())
    yield "[columns]"
    for column in found.columns:
        yield ""
        yield from comment(("PLEASE DECIDE. " if column.decide else "") + sentence(column.facts))
        yield from comment(" ".join(map(sentence, remarks(column))))
        key = toml_key(column.name)
        settings = {"role": toml_text(column.role.value), **_handling(column, choice)}
        if len(settings) == 1:
            yield f"{key} = {settings['role']}"
        else:
            yield f"{key} = {{ {', '.join(f'{name} = {value}' for name, value in settings.items())} }}"
        yield from _suggestions(column, key, choice)


def remarks(column: ColumnProfile) -> list[str]:
    """Return why a column is what it is proposed to be, and what else was noticed."""
    more = [remark for remark in (column.handling, column.spelling) if remark]
    return [*column.reasons, *more, *column.notes]


def _handling(column: ColumnProfile, choice: Choice) -> dict[str, str]:
    """Return the settings beside the role, as TOML values."""
    if column.role is Role.QUASI and column.zip:
        return {"type": '"text"'}
    if column.role is Role.QUASI and column.order:
        return {"order": f"[{', '.join(map(toml_text, column.order))}]"}
    unread = column.role is Role.SENSITIVE and column.marks  # they are values of text as long as nobody lists them
    if column.role in (Role.QUASI, Role.SENSITIVE) and column.type in (Type.DATE, Type.DATETIME) and not unread:
        return {"type": toml_text(column.type)}
    if column.role is Role.SENSITIVE and choice.kind == "tau-safety" and many_numbers(column):
        return {"bins": str(BINS)}
    return {}


def _suggestions(column: ColumnProfile, key: str, choice: Choice) -> Iterator[str]:
    """Offer what would change the published values, for the steward to switch on."""
    role = column.role
    if role is Role.QUASI and column.zip:
        yield from comment(
            "Text, so that leading zeros stay. To publish shortened codes, write a file with a line like "
            "44101;4410*;441*;* for each code, and:"
        )
        yield f'# {key} = {{ role = "quasi", type = "text", hierarchy = "zip.csv" }}'
    elif role is Role.QUASI and column.order:
        yield from comment("Least first. Add the steps that later tables may have.")
    elif role is Role.QUASI and column.type is Type.TEXT and column.distinct > _MANY_TEXTS:
        yield from comment(
            "To publish broader terms, write a file with a line like value;broader;broadest;* for each value, and:"
        )
        yield f'# {key} = {{ role = "quasi", hierarchy = "FILE.csv" }}'
    elif role is Role.SENSITIVE and column.order:
        yield from comment("Its values look like a scale; with order = [...], least first, t-closeness can use it.")
    elif role is Role.SENSITIVE and many_numbers(column):
        yield from _many_numbers(key, choice)


def _many_numbers(key: str, choice: Choice) -> Iterator[str]:
    little = "So many different numbers that neighbours count as different values, which is little protection."
    if choice.kind == "tau-safety":
        yield from comment(
            f"{little} So a number is published as one of about {BINS} ranges with round ends, which the first release "
            "fixes. Name the ends yourself (bins = [10, 20, 30]), or take bins out to publish the numbers as they are."
        )
    elif choice.in_series:
        yield from comment(f"{little} To publish in which range a number lies instead, with the ends that you name:")
        yield f'# {key} = {{ role = "sensitive", bins = [10, 20, 30] }}'
    else:
        yield from comment(f"{little} To count {BINS} ranges instead (the numbers are still published as they are):")
        yield f'# {key} = {{ role = "sensitive", type = "number", bins = {BINS} }}'


def _guarantee_lines(choice: Choice, trial: Trial | None) -> Iterator[str]:
    yield ""
    for reason in (*choice.reasons, *map(sentence, choice.warnings)):
        yield from comment(reason)
    if choice.costs or trial is not None:
        yield from comment("What it costs here:")
    for cost in (*choice.costs, *([] if trial is None else [trial.in_words])):
        yield from comment(cost)
    yield from ("[guarantee]", f"kind = {toml_text(choice.kind)}")
    yield from (f"{key} = {_toml(value)}" for key, value in choice.settings.items())
    if "l" in choice.settings and choice.kind in ("static", "refinement"):
        yield from comment('Different is not equally likely: diversity = "frequency" or "entropy" is stricter.')
        yield '# diversity = "distinct"'
    if choice.kind == "static":
        yield from comment("The share of records that may be left out where that makes the others clearer:")
        yield "# suppress = 0.02"
    yield from comment(
        "A table that is published again and again tells more with each release. The guarantee for a whole series is "
        f"chosen by kind, before the first release. Known here: {', '.join(registry.names('guarantees'))}."
    )


def _limit_lines(choice: Choice) -> Iterator[str]:
    yield ""
    yield from comment(
        "Beyond one of these, nothing is published. Also: withheld, suppressed (shares of the records), width (mean "
        "width of a cell), groups (at least so many)."
    )
    yield "[limits]"
    yield f"counterfeits = {FEW_COUNTERFEITS:g}" if choice.kind == "tau-safety" else "# width = 0.6"


def _toml(value: Setting) -> str:
    return toml_text(value) if isinstance(value, str) else str(value).lower()


def comment(text: str) -> Iterator[str]:
    """Return comment lines; what is not printable could end a comment or a terminal's patience."""
    return (f"# {line}" for line in textwrap.wrap(shown(text), _WIDTH - 2, break_long_words=False))


def sentence(text: str) -> str:
    """Return a text that begins with a capital and ends with a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def shown(text: str) -> str:
    """Return a text without what a terminal or a comment could not bear."""
    return "".join(ch if ch.isprintable() else "\N{REPLACEMENT CHARACTER}" for ch in text)
