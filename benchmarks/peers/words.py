"""What the comparison says in sentences: its setting, its goals beside what was found, and what to know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.papers.common import Finding
from benchmarks.peers import arx
from benchmarks.peers.tools import ANJANA, ANONYPY, QUASI, QUICK, SHARED_LABELS, Run, rival

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

GOAL = 50  # how many times faster than a Python anonymiser Reveil should be
ELSEWHERE = {"anonypy": 13.5, "anjana": 3.85}  # seconds for k = 10 on a machine with less to do
NAMES = {"anjana": "ANJANA", "ours": "Reveil", "arx": "ARX"}


def setting(records: int, absent: Sequence[str], versions: Mapping[str, str]) -> list[str]:
    """Return what was run, on which data, and who was not there."""
    known = ", ".join(f"{NAMES.get(name, name)} {version}" for name, version in versions.items())
    return [
        (
            f"UCI Adult, {records:,} complete records; quasi columns: {', '.join(QUASI)}; with l and t the occupation "
            "is sensitive and no quasi column."
        ),
        f"Versions: {known}.",
        "Every tool gets the same CSV file and writes a CSV file, in a process of its own.",
        (
            "'Process' is the whole of it, interpreter and imports included; 'file to file' is reading, publishing and "
            "writing in a process that has started; Reveil verifies its output in both, the peers do not."
        ),
        (
            "Other work ran on the machine and stretched the times on the clock, those of long runs more than those of "
            "short ones, so that tools are compared in processor time (CPU, over all threads), which it stretches "
            "less. Reveil's times are the best of three, a peer's are one run; differences below two times mean "
            "nothing."
        ),
        (
            "Every output was checked by code that is neither the peer's nor Reveil's: classes are counted in the "
            "written file, and every record must lie in the cells of its row."
        ),
        (
            "'GCP of cells' is the width of what a reader sees, 'GCP of values' that of the original values in each "
            "class, which flatters tools that publish labels."
        ),
        *(f"{sentence[0].upper()}{sentence[1:]}." for sentence in absent),
    ]


def findings(runs: Mapping[str, Sequence[Run]]) -> list[Finding]:
    """Return the goals beside what was found."""
    found = []
    for key, tool in (("k", ANONYPY), ("k", ANJANA)):
        own = next((run for run in runs[key] if run.tool == tool), None)
        beside = None if own is None else rival(own, runs[key])
        if own is None or beside is None:
            name = NAMES.get(tool.name, tool.name)
            found.append(Finding(f"{name} beside Reveil", f"goal: {GOAL} times", "did not run here", "not compared"))
            continue
        found += _beside(own, beside)
    return [*found, *_arx(runs["k"]), *_right(runs)]


def _beside(own: Run, beside: Run) -> list[Finding]:
    """Return how a peer's time and loss compare with Reveil's, k = 10."""
    name = NAMES.get(own.tool.name, own.tool.name)
    inside, whole = own.inside_cpu / beside.inside_cpu, own.answer.whole_cpu / beside.answer.whole_cpu
    speed = Finding(
        f"{name}'s time over Reveil's, k = 10",
        f"goal: {GOAL} times",
        f"{inside:,.0f} times from file to file, {whole:,.1f} times for the whole process",
        "yes" if min(inside, whole) >= GOAL else "partly" if inside >= GOAL else "no",
        f"On the clock {own.inside / beside.inside:,.0f} and {own.answer.whole / beside.answer.whole:,.1f} times. "
        f"Reveil takes {beside.inside_cpu:.2f} s from file to file, verification included; starting the interpreter, "
        f"importing and loading compiled kernels takes {beside.answer.whole_cpu - beside.inside_cpu:.1f} s more, "
        f"{name}'s start {own.answer.whole_cpu - own.inside_cpu:.1f} s.",
    )
    if own.verdict is None or beside.verdict is None:
        return [speed]
    values = own.verdict.gcp_values, beside.verdict.gcp_values
    better = beside.verdict.gcp_cells <= own.verdict.gcp_cells
    return [
        speed,
        Finding(
            f"Reveil's GCP beside {name}'s, k = 10",
            "goal: equal or better",
            f"cells {beside.verdict.gcp_cells:.4f} against {own.verdict.gcp_cells:.4f}"
            + ("" if None in values else f", values {values[1]:.4f} against {values[0]:.4f}"),
            "yes" if better else "no",
            f"{own.verdict.left_out:,} records that {name} left out count as lost." if own.verdict.left_out else "",
        ),
    ]


def _arx(runs: Sequence[Run]) -> list[Finding]:
    """Return Reveil's loss with the shared hierarchies beside ARX's figures from elsewhere."""
    own = next((run for run in runs if run.tool == SHARED_LABELS), None)
    if own is None or own.verdict is None or own.verdict.gcp_values is None:
        return []
    bounds = {label: figures[3] for label, figures in arx.ELSEWHERE.items()}
    held = own.verdict.gcp_values <= min(bounds.values()) and own.verdict.gcp_cells <= arx.BEST_CELLS
    return [
        Finding(
            "ARX's NCP with shared hierarchies",
            "; ".join(f"{label}: {ncp}" for label, ncp in bounds.items())
            + f" and {arx.BEST_CELLS} of cells (measured elsewhere)",
            f"{own.verdict.gcp_values:.4f} from original values, {own.verdict.gcp_cells:.4f} of cells",
            "yes" if held else "no",
            "Nobody is left out. Cells are sets of the leaves that occur; one label over each group, cut without "
            "looking at labels, was 0.1335 wide, which is more than ARX's.",
        )
    ]


def _right(runs: Mapping[str, Sequence[Run]]) -> list[Finding]:
    """Return whose output is what was asked for."""
    wrong = []
    for key, found in runs.items():
        for run in found:
            faults = ["published nothing"] if run.verdict is None else run.verdict.faults(run.job)
            wrong += [(run, f"{run.tool.label.split(',')[0]} ({key}): {', '.join(faults)}")] if faults else []
    return [
        Finding(
            "Every output is what was asked for, checked independently",
            "goal: Reveil's always",
            "; ".join(words for _, words in wrong) if wrong else "all are",
            "no" if any(run.tool.ours for run, _ in wrong) else "yes",
        )
    ]


def notes(runs: Mapping[str, Sequence[Run]]) -> list[str]:
    """Return sentences for below the tables."""
    own = next((run for run in runs["k"] if run.tool == SHARED_LABELS), None)
    first = (
        ""
        if own is None
        else f" In the process with hierarchies the first publication took {own.answer.cpu[0]:.2f} s of processor time."
    )
    return [
        "Peers are compared with Reveil's run that has hierarchies where they have them, with the effort that it has "
        "by itself (normal), and with Stack & Deal for t, which is made for it." + first,
        *_quick(runs["k"]),
        *_quieter(runs["k"]),
        (
            "ANJANA may leave out 2 % of the records, Reveil and anonypy none. anonypy publishes classes with counts "
            "instead of rows, so that it writes a smaller file."
        ),
    ]


def _quick(runs: Sequence[Run]) -> list[str]:
    """Return the ratio to ANJANA's time where groups are cut only, as other tools do, and what it costs."""
    own, quick = (next((run for run in runs if run.tool == tool), None) for tool in (ANJANA, QUICK))
    if own is None or quick is None or own.verdict is None or quick.verdict is None:
        return []
    return [
        (
            f"With effort quick, which ends with the cuts, Reveil takes {quick.inside_cpu:.2f} s from file to file, "
            f"and ANJANA {own.inside_cpu / quick.inside_cpu:,.0f} times that. Cells are "
            f"{quick.verdict.gcp_cells:.4f} wide then; those of ANJANA, which generalises all of a column alike, "
            f"{own.verdict.gcp_cells:.4f}."
        )
    ]


def _quieter(runs: Sequence[Run]) -> list[str]:
    """Return the ratios with what the peers took on a machine with less to do, which stretches nobody's time."""
    found = []
    for own in runs:
        beside, seconds = rival(own, runs), ELSEWHERE.get(own.tool.name)
        if beside is not None and seconds is not None:
            found.append(quieter(NAMES.get(own.tool.name, own.tool.name), seconds, beside.inside_cpu))
    return found


def quieter(name: str, seconds: float, ours: float) -> str:
    """Return one such ratio in words."""
    return (
        f"On a machine with less to do {name} took {seconds:g} s for k = 10 (measured elsewhere): "
        f"{seconds / ours:,.0f} times Reveil's processor time from file to file here."
    )
