"""What k costs under each static method: certainty penalty, discernibility, divergence and query error side by side.

Prints one Markdown table for each data set, and writes the numbers as JSON and one chart to ``docs/evidence``. The real
tables lie beside the repository; one that is not there is left out with a sentence. ``--fast`` takes 5,000 records of
each and writes nothing. Methods that are not registered are left out.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import reveil as rv
from benchmarks.floor import coded
from benchmarks.worlds import TABLES, real
from reveil.core import registry
from reveil.reporting import charts

if TYPE_CHECKING:
    import polars as pl

EVIDENCE = Path(__file__).resolve().parents[1] / "docs" / "evidence"
KS = (5, 10, 50, 100, 1000)
QUERIES = 200
GENERATED = 100_000
FAST = 5_000
DRAWN = "adult_uci_full"
MEASURES = ("gcp", "dcp", "kl", "query_error")


def methods() -> dict[str, Any]:
    """Return the methods to compare that are registered here."""
    known = registry.everything("groupers")
    made = {"Mondrian": known["mondrian"](), "R+-tree": known["rtree"]()}
    if "bang" in known:
        forms = {f"BangA {form}": known["bang"](form=form) for form in ("compact", "nested")}
        return {**forms, **made}
    return made


def tables(*, fast: bool) -> dict[str, tuple[pl.DataFrame, rv.Schema]]:
    """Return the tables that are at hand, each with its schema."""
    found = {}
    for name in ("adult_uci_full", "census_income_kdd"):
        frame = real(name)
        if frame is None:
            print(f"{name} is not beside the repository: left out")
            continue
        sensitive, quasi = TABLES[name]
        found[name] = (frame, rv.Schema(quasi=quasi, sensitive=sensitive))
    generated = coded(GENERATED)
    found["generated"] = (generated, rv.Schema(quasi=generated.columns[:-1], sensitive=generated.columns[-1]))
    return {name: (frame.head(FAST) if fast else frame, schema) for name, (frame, schema) in found.items()}


def measured(frame: pl.DataFrame, schema: rv.Schema, k: int, method: Any) -> dict[str, float]:
    """Publish once and measure; the time is that of the release, verification included."""
    started = time.perf_counter()
    release = rv.anonymize(frame, schema, rv.KAnonymity(k), method, seed=1)
    taken = time.perf_counter() - started
    found: Any = rv.measure(frame, release, schema, queries=QUERIES, seed=1)
    return {
        "gcp": float(found["gcp"]),
        "dcp": float(found["dcp"]),
        "kl": float(found["kl"]),
        "query_error": float(found["query_error"]["median"]),
        "groups": release.manifest.groups,
        "seconds": round(taken, 3),
    }


def table(name: str, rows: int, results: dict[str, dict[str, dict[str, float]]]) -> str:
    """Return the results on one data set as a Markdown table; the best of each measure is in bold."""
    lines = [
        f"### {name}, {rows:,} records",
        "",
        "| k | method | gcp | dcp | KL | query error | groups | s |",
        "|---:|:---|---:|---:|---:|---:|---:|---:|",
    ]
    for k, by_method in results.items():
        best = {key: min(own[key] for own in by_method.values()) for key in MEASURES}
        for method, own in by_method.items():
            cells = [f"**{own[key]:.4g}**" if own[key] == best[key] else f"{own[key]:.4g}" for key in MEASURES]
            lines.append(f"| {k} | {method} | {' | '.join(cells)} | {own['groups']:,.0f} | {own['seconds']:.2f} |")
    return "\n".join([*lines, ""])


def chart(name: str, results: dict[str, dict[str, dict[str, float]]]) -> str:
    """Draw the certainty penalty of each method against k."""
    names = list(next(iter(results.values())))
    series = {method: [by_method[method]["gcp"] for by_method in results.values()] for method in names}
    title, places = f"What k costs on {name}", [float(k) for k in results]
    drawn = charts.lines(title, places, series, x_label="k", y_label="certainty penalty", log_x=True)
    return charts.svg(drawn, file=True)


def run(*, fast: bool = False) -> bool:
    found: dict[str, Any] = {}
    for name, (frame, schema) in tables(fast=fast).items():
        warm = frame.head(1_000)
        for method in methods().values():
            measured(warm, schema, 5, method)  # compiled before it is timed
        results = {
            str(k): {label: measured(frame, schema, k, method) for label, method in methods().items()}
            for k in KS
            if 2 * k <= frame.height
        }
        print(table(name, frame.height, results), flush=True)
        found[name] = {"records": frame.height, "quasi": list(schema.quasi), "results": results}
    if not fast:
        EVIDENCE.mkdir(parents=True, exist_ok=True)
        (EVIDENCE / "static_quality.json").write_text(json.dumps({"queries": QUERIES, **found}, indent=1) + "\n")
        drawn = DRAWN if DRAWN in found else "generated"
        (EVIDENCE / "static_quality.svg").write_text(chart(drawn, found[drawn]["results"]) + "\n")
    return True


if __name__ == "__main__":
    sys.exit(0 if run(fast="--fast" in sys.argv) else 1)
