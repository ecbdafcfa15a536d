"""What t-closeness costs under each method: privacy loss and certainty penalty, at equal k and at equal t.

Prints Markdown tables and writes them, the numbers as JSON and one chart to ``docs/evidence``. At equal k the methods
that work towards a t are asked for t = 0.2 as well; at equal t everybody is asked for k = 5. Beside them stands a cloud
of 100 random partitions into groups of k. The real table lies beside the repository; where it is not, it is left out
with a sentence. ``--fast`` takes few records and writes nothing.
"""

from __future__ import annotations

import json
import sys
import time
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import reveil as rv
from reveil.core import registry
from reveil.models.encoding import encode
from reveil.models.statistics import Histogram
from reveil.models.t_closeness import earth_movers_distance
from reveil.reporting import charts
from reveil.tables.snapshot import read_snapshot
from reveil.testing import hospital

if TYPE_CHECKING:
    from reveil.models.base import Model

ROOT = Path(__file__).resolve().parents[1]
EVIDENCE = ROOT / "docs" / "evidence"
ADULT = ROOT.parent / "shared" / "data" / "adult_uci_full.parquet"
ADULT_QUASI = ["age", "hours-per-week", "workclass", "marital-status", "race", "sex"]
HEART_COUNTS = (359, 247, 231, 120, 42, 13, 10, 3)
KS, TS = (5, 10, 15, 20), (0.05, 0.1, 0.2, 0.3)
ASKED, LEAST = 0.2, 5
CLOUD = 100
FAST = 1_500
INTRODUCTION = """\
Privacy loss (the largest distance of a group to the table, in any sensitive attribute), certainty penalty and number of
groups. At equal k the methods that work towards a t are asked for t = 0.2 as well; at equal t everybody is asked for
k = 5. An empty cell: the method works towards one t only. The last line of a table at equal k is the range of privacy
loss over 100 random partitions into groups of k. Made by `python -m benchmarks.closeness_quality`.
"""
Results = dict[str, dict[str, dict[str, Any]]]


def methods() -> dict[str, tuple[Any, bool]]:
    """Return the methods that are registered here, and whether each works towards a t."""
    known = registry.everything("groupers")
    made = {
        "Mondrian": (known["mondrian"](), False),
        "Stack & Deal, local": (known["stack-deal"](), False),
        "Stack & Deal, source": (known["stack-deal"](deal="source"), False),
        "Fragmentation": (known["fragmentation"](), True),
        "Fragmentation, gcd": (known["fragmentation"](sizing="gcd"), True),
        "SABRE": (known["sabre"](), True),
        "Microaggregation, k first": (known["microaggregation"](), True),
        "Microaggregation, t first": (known["microaggregation"](variant="t-first"), True),
    }
    return {**made, "BangA": (known["bang"](), False)} if "bang" in known else made


def tables(*, fast: bool) -> dict[str, tuple[pl.DataFrame, rv.Schema]]:
    """Return the tables that are at hand, each with its schema."""
    found = {}
    if ADULT.is_file():
        adult = pl.read_parquet(ADULT).sample(fraction=1, shuffle=True, seed=1)
        adult = adult.head(FAST) if fast else adult
        for sensitive in (["education-num"], ["education-num", "occupation"]):
            frame = adult.select(*ADULT_QUASI, *sensitive)
            found[f"adult, {' and '.join(sensitive)}"] = (frame, rv.Schema(quasi=ADULT_QUASI, sensitive=sensitive))
    else:
        print("adult_uci_full is not beside the repository: left out")
    rest = hospital.month(sum(HEART_COUNTS)).select("age", "sex", "income", "ward").sort("age", "income")
    # Old people have the higher values more often, as with blood pressure or cholesterol.
    noisy = np.random.default_rng(1).normal(np.arange(rest.height), rest.height / 2).argsort()
    level = np.empty(rest.height, np.int64)
    level[noisy] = np.repeat(np.arange(len(HEART_COUNTS)), HEART_COUNTS)
    heart = rest.with_columns(level=pl.Series(level))
    found["heart-like"] = (heart, rv.Schema(quasi=heart.columns[:-1], sensitive="level"))
    return found


def asked(schema: rv.Schema, k: int, t: float | None) -> Model:
    """Return k, and the same t in every sensitive attribute."""
    parts = [rv.TCloseness(t, attribute=name) for name in schema.sensitive] if t is not None else []
    return reduce(lambda one, other: one & other, [rv.KAnonymity(k), *parts])


def measured(frame: pl.DataFrame, schema: rv.Schema, model: Model, method: Any) -> dict[str, Any] | None:
    """Publish once and measure; None where the method refuses the plan. The time includes verification."""
    started = time.process_time()
    try:
        release = rv.anonymize(frame, schema, model, method, seed=1)
    except rv.ConfigError:
        return None
    taken = time.process_time() - started
    found: Any = rv.measure(frame, release, schema)
    loss = max(found["privacy_loss"].values())
    return {"loss": loss, "gcp": found["gcp"], "groups": release.manifest.groups, "seconds": round(taken, 2)}


def cloud(frame: pl.DataFrame, schema: rv.Schema, k: int) -> dict[str, float]:
    """Return the least and the largest privacy loss of random partitions into groups of k or k + 1."""
    codes = encode(read_snapshot(frame, schema))
    rng, groups = np.random.default_rng(k), codes.n // k
    losses = []
    for _ in range(CLOUD):
        labels = rng.permutation(codes.n) % groups
        worst = 0.0
        for attribute in codes.sensitive:
            histogram = Histogram.of(labels, attribute.codes, groups, attribute.domain)
            numerator, denominator = earth_movers_distance(histogram, attribute.reference())
            worst = max(worst, float((numerator / denominator).max()))
        losses.append(worst)
    return {"least": min(losses), "largest": max(losses)}


def table(title: str, head: str, results: Results, clouds: dict[str, dict[str, float]]) -> str:
    """Return one Markdown table: a line for each method, at each setting privacy loss, penalty and groups."""
    settings = list(results)
    lines = [
        f"### {title}",
        "",
        f"| method | {' | '.join(f'{head} = {s}: loss' + ' | gcp | groups' for s in settings)} |",
        "|:---|" + "---:|" * (3 * len(settings)),
    ]
    for name in next(iter(results.values())):
        cells = []
        for setting in settings:
            own = results[setting][name]
            cells += ["", "", ""] if own is None else [f"{own['loss']:.3f}", f"{own['gcp']:.3f}", f"{own['groups']:,}"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    if clouds:
        cells = [f"{clouds[s]['least']:.3f} to {clouds[s]['largest']:.3f} | |" for s in settings]
        lines.append(f"| {CLOUD} random partitions | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def chart(name: str, results: Results) -> str:
    """Draw the certainty penalty of each method against t."""
    series = {m: [own[m]["gcp"] for own in results.values()] for m in next(iter(results.values())) if "gcd" not in m}
    drawn = charts.lines(
        f"What t costs on {name}, k = {LEAST}",
        [float(t) for t in results],
        series,
        x_label="t",
        y_label="certainty penalty",
    )
    return charts.svg(drawn, file=True)


def run(*, fast: bool = False) -> bool:
    found: dict[str, Any] = {}
    pages = ["# What t-closeness costs, method by method", "", INTRODUCTION]
    for name, (frame, schema) in tables(fast=fast).items():
        by_k: Results = {
            str(k): {
                label: measured(frame, schema, asked(schema, k, ASKED if towards else None), method)  # type: ignore[misc]
                for label, (method, towards) in methods().items()
            }
            for k in KS
        }
        clouds = {str(k): cloud(frame, schema, k) for k in KS}
        by_t: Results = {
            str(t): {
                label: measured(frame, schema, asked(schema, LEAST, t), method)  # type: ignore[misc]
                for label, (method, _) in methods().items()
            }
            for t in TS
        }
        title = f"{name}, {frame.height:,} records"
        pages += [table(f"{title}: equal k", "k", by_k, clouds), table(f"{title}: equal t", "t", by_t, {})]
        print("\n".join(pages[-2:]), flush=True)
        found[name] = {"records": frame.height, "quasi": list(schema.quasi), "k": by_k, "t": by_t, "cloud": clouds}
    if not fast:
        EVIDENCE.mkdir(parents=True, exist_ok=True)
        (EVIDENCE / "closeness_quality.json").write_text(json.dumps(found, indent=1) + "\n")
        (EVIDENCE / "closeness_quality.md").write_text("\n".join(pages))
        drawn = next(iter(found))
        (EVIDENCE / "closeness_quality.svg").write_text(chart(drawn, found[drawn]["t"]) + "\n")
    return True


if __name__ == "__main__":
    sys.exit(0 if run(fast="--fast" in sys.argv) else 1)
