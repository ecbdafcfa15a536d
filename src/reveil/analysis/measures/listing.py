"""The numbers of a release line by line: the name of each, the number, and what it means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reveil.analysis.measures import meanings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveil.analysis.measures import Measures

BETTER = {"larger": "larger is better", "smaller": "smaller is better", "neither": ""}
_SKIPPED = "queries that no raw record satisfies, left out of mean and median"
NOTES = {"query_error skipped": _SKIPPED, "query_error_sensitive skipped": _SKIPPED}


def measure_lines(found: Measures) -> list[tuple[str, str, str]]:
    """Return name, value and meaning of every number."""
    lines = []
    for key, meaning in meanings().items():
        note = meaning.text + (f" ({BETTER[meaning.better]})" if BETTER[meaning.better] else "")
        if found.shares.get(key):
            note += f": {found.shares[key]:.2%}"
        lines += [(name, _number(value), NOTES.get(name, note)) for name, value in _flat(key, found[key])]
    return lines


def _flat(key: str, value: object) -> Iterator[tuple[str, object]]:
    """List the numbers of a measure, those of a mapping under its name; what is not a number is for the JSON."""
    if not isinstance(value, dict):
        yield key, value
        return
    for name, inner in value.items():
        if not isinstance(inner, dict):
            yield f"{key} {name}", inner


def _number(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4f}"
