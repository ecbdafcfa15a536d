"""Ninety-nine releases of a growing national table under tau-safety: time, width, counterfeits and the vault.

    python -m benchmarks.scale_series run OUT.jsonl [scale] [effort] [releases]   # goes on where it was stopped
    python -m benchmarks.scale_series audit OUT.jsonl scale [from] [to]           # of them together, in memory
    python -m benchmarks.scale_series report NAME=OUT.jsonl ...                   # docs/evidence/scale_series*

Every release is everything from the frame to the confirmed file: diff, grouping, writing, the judge, the vault. CPU
seconds are those of all threads of this process; the peak of memory is taken anew for each release. Releases (folders
of parts), snapshots and vault lie in a folder beside OUT, with its name.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

import reveil as rv
from benchmarks.case_table import QUASI, RELEASES, SENSITIVE, snapshots
from benchmarks.floor import resident
from reveil.core.effort import Effort
from reveil.reporting import charts
from reveil.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable

M = 4
EVIDENCE = Path(__file__).resolve().parents[1] / "docs" / "evidence"
PAGE = EVIDENCE.parent / "scale.md"
MARK = "<!-- the table is written by benchmarks/scale_series.py -->"


def schema() -> rv.Schema:
    """Return what the columns of the table are."""
    return rv.Schema(person="pid", quasi=list(QUASI), sensitive=SENSITIVE)


def run(out: Path, scale: int, effort: str, releases: int) -> None:
    """Publish the series, a line for each release; releases that are there already are not published again."""
    folder = out.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    done = len(out.read_text().splitlines()) if out.exists() else 0
    series = rv.Series.open(
        folder / "vault", schema(), rv.TauSafety(m=M, effort=Effort(effort)), name="cases", seed=1, archive=False
    )
    for number, frame in enumerate(snapshots(scale, releases), start=1):
        if number <= done:
            continue
        Path("/proc/self/clear_refs").write_text("5")
        cpu, clock, before = time.process_time(), time.perf_counter(), resident("VmRSS")
        series.publish_to(f"{folder / str(number)}/", frame)
        row: dict[str, Any] = {
            "release": number,
            "cpu": time.process_time() - cpu,
            "clock": time.perf_counter() - clock,
        }
        last = series.history()[-1]
        manifest = json.loads((folder / str(number) / "manifest.json").read_text())
        frame.write_parquet(folder / f"truth-{number}.parquet")
        row |= {
            "rows": manifest["rows"],
            "persons": last["persons"],
            "counterfeits": last["counterfeits"],
            "fewest": last.get("fewest_counterfeits"),
            "groups": manifest["groups"],
            "withheld": manifest["withheld"],
            "gcp": width(folder / "vault", number),
            "peak": resident("VmHWM") - before,
            "peak_all": resident("VmHWM"),
            "vault": (folder / "vault" / "vault.duckdb").stat().st_size,
            "copy": sum(file.stat().st_size for file in (folder / "vault" / "releases").rglob("*") if file.is_file()),
        }
        with out.open("a") as lines:
            lines.write(json.dumps(row) + "\n")
        print(row, flush=True)


def width(vault: Path, number: int) -> float:
    """Return the mean width of a cell that the vault keeps of a release."""
    with Vault.open(vault, create=False) as opened:
        (row,) = [one for one in opened.releases() if one.release == number]
    return float(row.facts["measures"]["gcp"])


def audit(out: Path, scale: int, first: int, last: int) -> None:
    """Attack some releases together, by somebody who knows everybody's events, and say what was found."""
    folder = out.with_suffix("")
    numbers = range(first, last + 1)
    truth = [pl.read_parquet(folder / f"truth-{number}.parquet") for number in numbers]
    cpu = time.process_time()
    found = rv.audit([f"{folder}/{number}/" for number in numbers], schema(), truth=truth)
    told = found.summary
    row = {"releases": [first, last], "scale": scale, "cpu": time.process_time() - cpu, "peak": resident("VmHWM")}
    row |= {key: told[key] for key in ("persons", "certain", "above", "bound", "held")}
    out.with_suffix(".audit.json").write_text(json.dumps(row) + "\n")
    print(row, flush=True)


def report(given: list[str]) -> None:
    """Write the evidence: the figures of each series, and pictures of them over the rows of a release."""
    found: dict[str, dict[str, Any]] = {}
    for one in given:
        name, _, path = one.partition("=")
        lines = [json.loads(line) for line in Path(path).read_text().splitlines()]
        attacked = Path(path).with_suffix(".audit.json")
        found[name] = {"releases": lines, "audit": json.loads(attacked.read_text()) if attacked.exists() else None}
    (EVIDENCE / "scale_series.json").write_text(json.dumps(found) + "\n")
    before, _, rest = PAGE.read_text().partition(f"{MARK}\n")
    after = rest.lstrip("\n").partition("\n\n")[2]
    PAGE.write_text(f"{before}{MARK}\n\n{table(found)}\n\n{after}")
    for figure, (label, of) in FIGURES.items():
        places = sorted({row["rows"] for series in found.values() for row in series["releases"]})
        lines_of = {
            name: [at.get(rows) for rows in places]
            for name, series in found.items()
            for at in [{row["rows"]: of(row) for row in series["releases"]}]
        }
        chart = charts.lines(label, places, lines_of, x_label="rows of the release", y_label=label, log_x=True)
        (EVIDENCE / f"scale_series_{figure}.svg").write_text(charts.svg(chart, file=True) + "\n")


def table(found: dict[str, Any]) -> str:
    """Return some releases of each series as a table of the page."""
    lines = [
        "| series | release | rows | CPU s | µs a row | mean width | counterfeits | vault, B a person | peak, MiB |",
        "|:---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, series in found.items():
        rows = series["releases"]
        for row in [rows[0], *(one for one in rows[1:-1] if one["release"] % 14 == 0), rows[-1]]:
            cells = [
                name,
                row["release"],
                f"{row['rows']:,}",
                f"{row['cpu']:.1f}",
                f"{1e6 * row['cpu'] / row['rows']:.0f}",
            ]
            cells += [f"{row['gcp']:.3f}", row["counterfeits"], f"{row['vault'] / row['persons']:,.0f}"]
            lines.append(f"| {' | '.join(map(str, [*cells, round(row['peak_all'] / 2**20)]))} |")
    return "\n".join(lines)


FIGURES: dict[str, tuple[str, Callable[[dict[str, Any]], float]]] = {
    "time": ("CPU microseconds a row", lambda row: 1e6 * row["cpu"] / row["rows"]),
    "width": ("mean width of a cell", lambda row: row["gcp"]),
    "vault": ("bytes of the vault a person", lambda row: row["vault"] / row["persons"]),
}


if __name__ == "__main__":
    what, *more = sys.argv[1:]
    if what == "run":
        place, scale, effort, releases = [*more, *("", "1000", "quick", str(RELEASES))[len(more) :]]
        run(Path(place), int(scale), effort, int(releases))
    elif what == "audit":
        place, scale, begin, end = [*more, *("", "1000", "1", str(RELEASES))[len(more) :]]
        audit(Path(place), int(scale), int(begin), int(end))
    else:
        report(more)
