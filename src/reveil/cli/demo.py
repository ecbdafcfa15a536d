"""``reveil demo``: a made-up hospital publishes a year of extracts in several ways; an adversary holds the files."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sys
import textwrap
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reveil.cli import demo_stories as stories
from reveil.cli.console import Console, quiet_option
from reveil.cli.demo_words import figures, price

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reveil.cli.demo_stories import Outcome

_LONGEST_FIRST = ("naive", "tau-safety", "worlds", "m-invariance", "quick", "global", "refinement", "apart")


@click.command("demo")
@click.option("--out", default="demo", show_default=True, type=click.Path(), help="The folder to write to.")
@quiet_option
def command(out: str, quiet: bool) -> None:
    """Publish a made-up hospital's year as every tool does and with each guarantee, and attack all of it.

    Writes the raw extracts, the configs, the releases, what the attacks found and a page for the browser to a folder,
    so that every step can be tried again by hand.
    """
    console = Console(quiet=quiet)
    folder = Path(out)
    with console.progress():
        console.stage("starting")
        from reveil.testing import hospital

        console.announce_compilation()
        stories.prepare(folder)
        console.stage("making up a hospital")
        for month, raw in enumerate(hospital.year(stories.PATIENTS, months=stories.MONTHS, seed=1), start=1):
            raw.write_csv(folder / "raw" / f"{month:02}.csv")
        told = _outcomes(folder, console)
        console.stage("writing the page")
        from reveil.cli.demo_page import write_page

        write_page(folder / "demo.html", told)
    click.echo("\n".join([*_lines(told), "", *_where(folder)]))


def _outcomes(folder: Path, console: Console) -> dict[str, Outcome]:
    """Tell all the stories, as many at a time as there are cores."""
    told: dict[str, Outcome] = {}
    # Processes are spawned: a fork after compiled threads have run does not end well.
    workers = min(len(stories.STORIES), os.cpu_count() or 1)
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        console.stage(f"publishing and attacking in {len(stories.STORIES)} ways")
        running = {pool.submit(stories.tell, name, str(folder)): name for name in _LONGEST_FIRST}
        try:
            for done in as_completed(running):
                told[running[done]] = done.result()
                left = [name for name in _LONGEST_FIRST if name not in told]
                console.stage(f"publishing and attacking: {', '.join(left)}")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return told


def _lines(told: Mapping[str, Outcome]) -> list[str]:
    """Say what happened, on one screen."""
    naive, apart, safe = told["naive"], told["apart"], told["tau-safety"]
    size, k, l = f"{stories.PATIENTS:,}", stories.K, stories.L
    newest = naive.summary["baseline"]["last_release"]["certain"]
    right = f"certain, and {naive.summary['certain_and_right']:,} of them right"
    return [
        f"A hospital publishes an extract every month: {size} patients at a time, {naive.people:,} in a year,",
        "who come, go, return and change. Others may know age, sex, town, income, admission and ward of",
        "somebody, and when they were there; the diagnosis is nobody's business.",
        "",
        f"AS EVERY TOOL DOES IT: each file by itself, groups of at least {k} with {l} different diagnoses.",
        "",
        *_rows(naive),
        "",
        f"The last file alone tells the diagnosis of {newest:,} patients. Whoever holds all twelve compares them and",
        f"reads off {naive.certain:,} of {naive.people:,}: {right}. January for four recipients,",
        f"with other columns for each: {apart.certain:,} of {apart.people:,}.",
        "",
        "WITH REVEIL: the same attacks on all the files of each series.",
        "",
        *_table(told),
        "",
        *textwrap.wrap(f"tau-safety: {safe.claim}", 100),
        "",
        *_rows(safe),
        "",
        "Every file was checked from its bytes before it was confirmed. m-invariance is the older rule: it does",
        f"not cover people who return or change{_shown(told['m-invariance'])}.",
    ]


def _shown(outcome: Outcome) -> str:
    """Say that an attack broke a bound, where one did."""
    return ", and the attack shows it" if not outcome.summary["held"] else ""


def _table(told: Mapping[str, Outcome]) -> list[str]:
    """Lay the stories out line by line."""
    head = ["", "files", "read off", "belief", "bound", "a cell covers", "counts off", "the price"]
    lines = [
        head,
        *([story.title, *figures(story, told[story.name]), price(told[story.name])] for story in stories.STORIES),
    ]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    out = []
    for line in lines:
        first, *middle, last = line
        cells = [first.ljust(widths[0]), *(f.rjust(w) for f, w in zip(middle, widths[1:], strict=False)), last]
        out.append("  " + "  ".join(cells).rstrip())
    return out


def _where(folder: Path) -> list[str]:
    program = "reveil" if shutil.which("reveil") else sys.argv[0]
    return [
        f"In {folder}: demo.html, raw/, and a folder, a config and a vault for each way to publish.",
        "Try it again:",
        f"  {program} audit {folder}/naive/*.csv -c {folder / 'naive.toml'} --truth {folder}/raw/*.csv",
        f"  {program} report -c {folder / 'tau-safety.toml'} -o report.html --truth {folder}/raw/*.csv",
    ]


def _rows(outcome: Outcome) -> list[str]:
    """Lay a few rows out in columns."""
    cells: Sequence[Sequence[str]] = [outcome.header, *outcome.sample]
    widths = [min(max(len(row[i]) for row in cells), 24) for i in range(len(outcome.header))]
    return [
        "  " + "  ".join(_fit(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    ]


def _fit(cell: str, width: int) -> str:
    return cell.ljust(width) if len(cell) <= width else cell[: width - 1] + "…"
