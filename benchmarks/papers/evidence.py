"""Writes ``docs/evidence.md`` from the results stored in ``docs/evidence``: ``python -m benchmarks.papers.evidence``.

An experiment of a source is a chapter with its claims beside what was found. Any other JSON file is shown as it is: its
numbers become tables, one for each shape of record in it, without words of this program's own; where its own benchmark
has written a page beside it, that page is named instead.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from benchmarks.papers.common import EVIDENCE, Cell, Experiment, read, table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGE = EVIDENCE.parent / "evidence.md"
ROWS = 60  # of a table that is shown as it is; the file has the rest
HEAD = """# Evidence

What the sources measured, measured again, and what the methods cost here. `python -m benchmarks.papers.evidence` writes
this page from the files in [evidence](evidence), which the programs under `benchmarks` write; a test compares the two.
The runs of the fuzzer are noted in one of them by hand.

Numbers about quality and privacy are of the same kind on every machine. Times are not: they are given as *floors*, so
many times what polars needs to sort (or to read, sort and write) the same table at that moment, on two cores that had
other work, too. "Agrees" compares what the source says with what was found here: *partly* where it is so in some
settings, *not compared* where the source has no number or sentence of its own. Where the answer is *no*, the last
column says why, as far as we know.
"""


def page(folder: Path = EVIDENCE) -> str:
    """Return the page for the results in a folder."""
    stored = {path: read(path) for path in sorted(folder.glob("*.json"))}
    experiments = {path: one for path, one in stored.items() if isinstance(one, Experiment)}
    others = {path: one for path, one in stored.items() if not isinstance(one, Experiment)}
    parts = [HEAD]
    if experiments:
        parts += [summary([one for one in experiments.values() if one.findings])]
    parts += [one.markdown(folder=folder.name) for one in experiments.values()]
    parts += [as_it_is(path, one) for path, one in others.items()]
    return "\n".join(parts)


def summary(experiments: list[Experiment]) -> str:
    """Return how many claims agree, experiment by experiment, and every contradiction by name."""
    rows: list[list[Cell]] = []
    for one in experiments:
        said = [finding.agrees for finding in one.findings]
        against = [finding.what for finding in one.findings if finding.agrees == "no"]
        counts: list[Cell] = [said.count(answer) for answer in ("yes", "partly", "no", "not compared")]
        rows.append([f"[{one.title}](#{anchor(one.title)})", *counts, "; ".join(against)])
    head = ["experiment", "yes", "partly", "no", "not compared", "where we found otherwise"]
    return "## Claims, and what was found here\n\n" + table(head, rows) + "\n"


def anchor(title: str) -> str:
    """Return the anchor that a heading gets.

    >>> anchor("The global guarantee over l, k' and alpha")
    'the-global-guarantee-over-l-k-and-alpha'
    """
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -_")
    return kept.replace(" ", "-")


def as_it_is(path: Path, told: Any) -> str:
    """Return a file of another layout: what it holds, as tables."""
    parts = [f"## {path.stem.replace('_', ' ').capitalize()}"]
    where = path.parent.name
    if path.with_suffix(".svg").is_file():
        parts += [f"![{path.stem.replace('_', ' ')}]({where}/{path.stem}.svg)"]
    if path.with_suffix(".md").is_file():
        own = f"It has a page of its own: [{path.stem}.md]({where}/{path.stem}.md)."
        return "\n\n".join([*parts, f"{own} The numbers are in [{path.name}]({where}/{path.name})."]) + "\n"
    parts += [f"Shown as it is stored in [{path.name}]({where}/{path.name})."]
    shapes: dict[tuple[Any, ...], list[list[Cell]]] = {}
    for place, record in records(told):
        top, below = place[:1], place[1:]
        shapes.setdefault((top, len(below), tuple(record)), []).append([*below, *record.values()])
    for (top, depth, names), rows in shapes.items():
        if top:
            heading = f"### {top[0]}"
            parts += [heading] if heading not in parts else []
        parts += [table([*([""] * depth), *names], rows[:ROWS])]
        if len(rows) > ROWS:
            parts += [f"{len(rows) - ROWS:,} more lines are in the file."]
    return "\n\n".join(parts) + "\n"


def records(told: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Cell]]]:
    """Yield the records of nested data, with the names on the way to each: what is neither a mapping nor holds one."""
    if isinstance(told, list):
        told = {str(number): one for number, one in enumerate(told, start=1)}
    if not isinstance(told, dict):
        yield place, {"": _cell(told)}
        return
    own = {str(key): _cell(value) for key, value in told.items() if not _nested(value)}
    if any(value is not None for value in own.values()):
        yield place, own
    for key, value in told.items():
        if _nested(value):
            yield from records(value, (*place, str(key)))


def _nested(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(one, dict | list) for one in value))


def _cell(value: Any) -> Cell:
    if isinstance(value, list):
        return ", ".join(str(one) for one in value)
    return str(value).lower() if isinstance(value, bool) else value if isinstance(value, int | float) else _text(value)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE.name} is written from {len(list(EVIDENCE.glob('*.json')))} files")
    sys.exit(0)
