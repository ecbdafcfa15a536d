"""What the experiments share: the layout of a result, its Markdown, its plot, and where it is stored.

A result is an :class:`Experiment`: plain data that goes to JSON and back. Its heart is a list of :class:`Finding`, the
source's claim beside what was found here, so that a contradiction stands in the same line as what it contradicts.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reveil.reporting import charts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

EVIDENCE = Path(__file__).resolve().parents[2] / "docs" / "evidence"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
LAYOUT = "experiment"
AGREES = ("yes", "partly", "no", "not compared")
Cell = str | float | int | None


@dataclass(frozen=True)
class Finding:
    """One claim of a source beside what was found here; ``why`` says where a difference comes from."""

    what: str
    source: str
    ours: str
    agrees: str
    why: str = ""

    def __post_init__(self) -> None:
        if self.agrees not in AGREES:
            raise ValueError(f"agrees is one of {', '.join(AGREES)}")


@dataclass(frozen=True)
class Table:
    """Numbers under a heading; the cells are numbers, words or nothing."""

    title: str
    head: list[str]
    rows: list[list[Cell]]


@dataclass(frozen=True)
class Plot:
    """Lines over common places, as :func:`reveil.reporting.charts.lines` draws them."""

    title: str
    x: list[float]
    series: dict[str, list[float | None]]
    x_label: str
    y_label: str
    log_x: bool = False
    log_y: bool = False
    bound: float | None = None

    def svg(self) -> str:
        """Draw it as a file of its own."""
        return charts.svg(charts.lines(**asdict(self)), file=True)


@dataclass(frozen=True)
class Experiment:
    """An experiment of a source, run again.

    ``source`` names the thesis or paper and the section. ``setting`` says in sentences what was run, on which data, and
    what of the source's settings was left out. ``notes`` are sentences that stand below the tables.
    """

    name: str
    title: str
    source: str
    setting: list[str]
    findings: list[Finding]
    tables: list[Table]
    plot: Plot | None = None
    notes: list[str] = field(default_factory=list)

    def json(self) -> dict[str, Any]:
        """Return it as plain data, marked with its layout."""
        return {"layout": LAYOUT, **asdict(self)}

    @classmethod
    def of(cls, told: dict[str, Any]) -> Experiment:
        """Read plain data that :meth:`json` made."""
        own = {key: value for key, value in told.items() if key != "layout"}
        own["findings"] = [Finding(**one) for one in own["findings"]]
        own["tables"] = [Table(**one) for one in own["tables"]]
        own["plot"] = None if own["plot"] is None else Plot(**own["plot"])
        return cls(**own)

    def markdown(self, level: int = 2, folder: str = "evidence") -> str:
        """Return it as a chapter of a page; ``folder`` is where the picture lies, seen from the page."""
        marks = "#" * level
        parts = [f"{marks} {self.title}", f"Source: {self.source}.", " ".join(self.setting)]
        if self.findings:
            parts += [findings(self.findings)]
        if self.plot is not None:
            parts += [f"![{self.plot.title}]({folder}/{self.name}.svg)"]
        for one in self.tables:
            parts += [f"{marks}# {one.title}", table(one.head, one.rows)]
        return "\n\n".join([*parts, *self.notes]) + "\n"


def findings(found: Iterable[Finding]) -> str:
    """Return claims and findings side by side."""
    head = ["what", "the source", "here", "agrees", "why they differ, or what to know"]
    return table(head, [[one.what, one.source, one.ours, one.agrees, one.why] for one in found])


def table(head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Return a Markdown table; columns without a word in them are set to the right.

    >>> print(table(["m", "loss"], [[2, 0.25], [10, None]]))
    | m | loss |
    |---:|---:|
    | 2 | 0.25 |
    | 10 |  |
    """
    lines = [list(row) for row in rows]
    words = [any(isinstance(row[i], str) for row in lines) for i in range(len(head))]
    ruler = "|" + "|".join(":---" if word else "---:" for word in words) + "|"
    return "\n".join([_line(head), ruler, *(_line(row) for row in lines)])


def _line(cells: Sequence[Cell]) -> str:
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell.replace("|", "\\|").replace("\n", " ")
    return charts.number(cell)


def short(value: float, digits: int = 4) -> float:
    """Return a number with no more digits than are read, so that stored results stay small."""
    return float(f"{value:.{digits}g}")


def finish(result: Experiment, fast: bool, folder: Path | None = None) -> list[Path]:  # noqa: FBT001  (all callers name it)
    """Print a result, and store it as ``NAME.json`` and ``NAME.svg``; return the files that were written.

    Without a folder a full run is stored in ``docs/evidence``, and a fast one is not stored: its numbers are those of a
    small table and would be taken for the others.
    """
    print(result.markdown(), flush=True)
    if folder is None and fast:
        return []
    place = EVIDENCE if folder is None else folder
    place.mkdir(parents=True, exist_ok=True)
    written = [place / f"{result.name}.json"]
    _write(written[0], json.dumps(result.json(), indent=1, ensure_ascii=False) + "\n")
    if result.plot is not None:
        written.append(place / f"{result.name}.svg")
        _write(written[1], result.plot.svg() + "\n")
    return written


def _write(path: Path, text: str) -> None:
    # Whoever reads at the same time sees the old file or the new one, never half of one.
    other = path.with_name(path.name + ".part")
    other.write_text(text, encoding="utf-8")
    other.replace(path)


def read(path: Path) -> Experiment | dict[str, Any]:
    """Read a stored result: an experiment where it has this layout, else what the file holds as it is."""
    told = json.loads(path.read_text(encoding="utf-8"))
    return Experiment.of(told) if isinstance(told, dict) and told.get("layout") == LAYOUT else told


def progress(*words: object) -> None:
    """Say what is being done, beside the result."""
    print("  ...", *words, file=sys.stderr, flush=True)


def main(run: Callable[[bool], Experiment], argv: Sequence[str] | None = None) -> int:
    """Run an experiment from the command line: ``--fast`` for a small table, ``--out FOLDER`` to store it elsewhere."""
    parser = argparse.ArgumentParser(description=sys.modules[run.__module__].__doc__)
    parser.add_argument("--fast", action="store_true", help="a small table, a few seconds; stored nowhere by itself")
    parser.add_argument("--out", type=Path, help="store the result in this folder")
    asked = parser.parse_args(argv)
    finish(run(asked.fast), asked.fast, asked.out)
    return 0
