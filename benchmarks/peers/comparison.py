"""The comparison: who publishes how quickly, what is left of the table, and whether it is right."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from benchmarks.papers.common import SHARED, Experiment, Plot, Table, progress, short
from benchmarks.peers import arx, checks, words
from benchmarks.peers.checking import Published, check
from benchmarks.peers.job import Job
from benchmarks.peers.running import ask, missing
from benchmarks.peers.tools import MODELS, NUMBERS, TOOLS, Run, Tool, after_first, rival

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.papers.common import Cell

LINK = "record"
SIZES = (1_000, 3_000, 10_000)
FAST = 2_000
WARM = 4  # runs in one process, of which the first loads what was compiled


def run(folder: Path, *, fast: bool) -> Experiment | None:
    """Run everything; None, and a sentence, where the real tables are not at hand."""
    source = SHARED / "adult_arx.parquet"
    if not source.is_file():
        print("the table adult_arx is not beside the repository: nothing to compare on")
        return None
    adult = pl.read_parquet(source).sample(fraction=1, shuffle=True, seed=1)
    adult = adult.head(FAST) if fast else adult
    absent = {tool.name: said for tool in TOOLS if (said := missing(tool.name)) is not None}
    runs = {
        key: [done for tool in asked.tools if tool.name not in absent and (done := _one(adult, key, tool, folder))]
        for key, asked in MODELS.items()
    }
    sizes = [n for n in SIZES if n < adult.height]
    growth = {
        tool.label: [_seconds(adult.head(n), tool, folder) for n in sizes]
        + [next((short(own.inside_cpu) for own in runs["k"] if own.tool == tool), None)]
        for tool in TOOLS
        if tool.name not in absent
    }
    checked = checks.run(folder, fast=fast)
    tables = [
        Table(f"UCI Adult, {MODELS[key].title}", HEAD, [_row(own, found) for own in found])
        for key, found in runs.items()
    ]
    tables[0].rows.extend(_elsewhere() if "arx" in absent else [])
    return Experiment(
        name="peers",
        title="The peers, beside us",
        source="ANJANA, anonypy and pycanon as the package index has them; ARX's figures were measured elsewhere"
        if "arx" in absent
        else "ANJANA, anonypy and pycanon as the package index has them, and ARX",
        setting=words.setting(
            adult.height, list(absent.values()), {own.tool.name: own.answer.version for own in runs["k"]}
        ),
        findings=[*words.findings(runs), *checks.findings(checked)],
        tables=[*tables, *checks.tables(checked)],
        plot=Plot(
            title="Processor time from file to file, by records",
            x=[float(n) for n in [*sizes, adult.height]],
            series=growth,
            x_label="records",
            y_label="CPU seconds",
            log_x=True,
            log_y=True,
        ),
        notes=words.notes(runs),
    )


def _job(frame: pl.DataFrame, key: str, tool: Tool, folder: Path) -> Job:
    asked = MODELS[key]
    quasi = list(asked.quasi)
    table = folder / "table.csv"
    frame.select(*quasi, asked.sensitive).write_csv(table)
    places = {name: str(SHARED / "adult_hierarchies" / f"adult_hierarchy_{name}.csv") for name in quasi}
    return Job(
        table=str(table),
        out=str(folder / f"{tool.name}.csv"),
        quasi=quasi,
        sensitive=asked.sensitive,
        numbers=NUMBERS,
        l=asked.l,
        t=asked.t,
        suppress=tool.suppress,
        hierarchies=places if tool.labels else {},
        method=tool.method,
        effort=tool.effort,
    )


def _one(frame: pl.DataFrame, key: str, tool: Tool, folder: Path) -> Run | None:
    """Publish once with a tool, and check what it wrote."""
    progress(key, tool.label)
    job = _job(frame, key, tool, folder)
    whole = ask(tool.name, job, times=3 if tool.ours else 1)
    again = ask(tool.name, replace(job, repeat=WARM)) if tool.ours else whole
    if isinstance(whole, str) or isinstance(again, str):
        print(whole if isinstance(whole, str) else again)
        return None
    answer = replace(whole, seconds=again.seconds, cpu=again.cpu)
    if not answer.told["rows"]:
        return Run(tool, job, answer, None)
    linked = None
    if tool.labels or tool.ours:  # the cells of classes may overlap: record numbers say whose row is whose
        linked = replace(job, table=str(folder / "numbered.csv"), out=str(folder / "linked.csv"), link=LINK)
        frame.select(*job.quasi, job.sensitive).with_row_index(LINK).write_csv(linked.table)
        if isinstance(said := ask(tool.name, linked), str):
            print(said)
            return None
    written = Published.read(job.out, job)
    verdict = check(frame, written, None if linked is None else Published.read(linked.out, linked))
    return Run(tool, job, answer, verdict)


def _seconds(frame: pl.DataFrame, tool: Tool, folder: Path) -> float | None:
    """Return the processor time from file to file for a part of the table."""
    progress(f"{frame.height:,} records", tool.label)
    job = _job(frame, "k", tool, folder)
    answer = ask(tool.name, replace(job, repeat=WARM if tool.ours else 1))
    return None if isinstance(answer, str) else short(after_first(answer.cpu))


HEAD = [
    "tool",
    "process, s",
    "process, CPU s",
    "file to file, s",
    "file to file, CPU s",
    "process, CPU over Reveil's",
    "file to file, CPU over Reveil's",
    "peak, MB",
    "classes",
    "left out",
    "k",
    "l",
    "t",
    "GCP of cells",
    "GCP of values",
    "DCP, millions",
    "right",
]


def _row(own: Run, found: list[Run]) -> list[Cell]:
    answer, verdict, beside = own.answer, own.verdict, rival(own, found)
    times: list[Cell] = [None, None]
    if beside is not None and not own.tool.ours:
        whole, inside = answer.whole_cpu / beside.answer.whole_cpu, own.inside_cpu / beside.inside_cpu
        times = [short(whole, 3), short(inside, 3)]
    row: list[Cell] = [
        own.tool.label,
        short(answer.whole, 3),
        short(answer.whole_cpu, 3),
        short(own.inside, 3),
        short(own.inside_cpu, 3),
        *times,
        None if answer.peak is None else round(answer.peak / 2**20),
    ]
    if verdict is None:
        return [*row, *[None] * 8, "published nothing"]
    return [
        *row,
        verdict.groups,
        verdict.left_out,
        verdict.k,
        verdict.l,
        short(float(verdict.t)),
        short(verdict.gcp_cells),
        None if verdict.gcp_values is None else short(verdict.gcp_values),
        short(verdict.dcp / 1e6),
        "yes" if not (faults := verdict.faults(own.job)) else "no: " + ", ".join(faults),
    ]


def _elsewhere() -> list[list[Cell]]:
    """Return rows for ARX from figures that were measured elsewhere."""
    return [
        [
            f"{label} (measured elsewhere)",
            None,
            None,
            seconds,
            *[None] * 4,
            classes,
            left_out,
            *[None] * 4,
            ncp,
            dcp,
            "not checked here",
        ]
        for label, (seconds, classes, dcp, ncp, left_out) in arx.ELSEWHERE.items()
    ]
