"""What a steward waits for, and what they get: ``python -m benchmarks.steward [risk] [report] [explore] [tables]``.

Each part is stored in ``docs/evidence/steward.json`` beside the others. ``risk``: the figures of the field on
adult_arx. ``report``: three releases of 40,000 rows with eleven sensitive columns. ``explore``: the default candidates
on 50,000 x 8. ``tables``: real tables from the file to a verified release of a series with defaults only, one of them
as a German program would have written it (Latin-1, days before months, commas in numbers). Times are CPU seconds of
all processes, for the machine is shared. A table that is not at hand is left out.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import reveil as rv
from benchmarks.papers.common import EVIDENCE
from benchmarks.utility.tables import SHARED
from reveil.testing import hospital

FILE = EVIDENCE / "steward.json"
ROWS = 50_000  # of each real table at most: its first rows
GERMAN = 20_000
TABLES = ("adult_uci_full", "census_income_kdd", "diabetes130", "fars_1998_2010", "gov_census")
KEYS = {
    "four columns": ("sex", "age", "race", "marital-status"),
    "eight columns": (
        *("sex", "age", "race", "marital-status"),
        *("education", "native-country", "workclass", "occupation"),
    ),
}


def reveil(folder: Path, *words: str) -> tuple[float, int]:
    """Run a command; return its CPU seconds and its exit code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([Path(sys.executable).with_name("reveil"), *words, "-q"], cwd=folder, check=False)  # noqa: S603
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return round(spent, 1), done.returncode


def risk() -> dict[str, Any]:
    """Count the figures of adult_arx, as it is."""
    frame = pl.read_parquet(SHARED / "adult_arx.parquet")
    found = {}
    for name, quasi in KEYS.items():
        own = frame.select(*quasi, "salary-class")
        schema = rv.Schema(quasi=quasi, sensitive="salary-class")
        risks = rv.audit(own, schema, truth=own, attacks="linkage", population_size=10 * own.height).table_risks
        told: dict[str, Any] = risks[0].after.to_json()
        found[name] = {
            "rows": told["rows"],
            "classes": told["classes"],
            "uniques": told["uniques"],
            "prosecutor highest": told["prosecutor"]["highest"],
            "prosecutor mean": told["prosecutor"]["mean"],
            "above 0.2": told["prosecutor"]["above"]["0.2"],
            "marketer, ten times as many people": told["marketer"],
            "population uniques, zayatz": told["population_uniques"]["zayatz"],
            "population uniques, pitman": told["population_uniques"]["pitman"],
            "special uniques": told["special_uniques"]["rows"],
        }
    return found


def report(folder: Path) -> dict[str, Any]:
    """Report on three releases of 40,000 rows with eleven sensitive columns."""
    rng, people, rows = np.random.default_rng(0), 44_000, 40_000
    values = [f"v{n}" for n in range(12)]
    sensitive = [f"s{n}" for n in range(11)]
    columns = {
        "pid": np.arange(people),
        "age": rng.integers(18, 90, people),
        "sex": rng.choice(["f", "m"], people),
        "zip": rng.integers(0, 300, people),
        "education": rng.choice(list("abcdef"), people),
        **{name: rng.choice(values, people) for name in sensitive},
    }
    frame = pl.DataFrame(columns)
    lines = "\n".join(f'{name} = "sensitive"' for name in sensitive)
    quasi = "\n".join(f'{name} = "quasi"' for name in ("age", "sex", "zip", "education"))
    (folder / "reveil.toml").write_text(
        f'[series]\nname = "eleven"\n[columns]\npid = "person"\n{quasi}\n{lines}\n'
        '[guarantee]\nkind = "refinement"\nk = 5\n'
    )
    for number in range(3):
        frame.slice(number * 2_000, rows).write_csv(folder / f"raw{number}.csv")
        _, code = reveil(folder, "publish", f"raw{number}.csv", "-c", "reveil.toml", "-o", f"out{number}.csv")
        if code:
            raise SystemExit(code)
    truth = [f"raw{number}.csv" for number in range(3)]
    spent, code = reveil(folder, "report", "-c", "reveil.toml", "-o", "report.html", "--truth", *truth)
    return {"releases": 3, "rows": rows, "sensitive columns": len(sensitive), "CPU s": spent, "exit code": code}


def explore(folder: Path) -> dict[str, Any]:
    """Explore a hospital of 50,000 patients with eight columns."""
    names = ("pid", "age", "sex", "town", "income", "admitted", "ward", "diagnosis")
    next(iter(hospital.year(50_000, months=1, seed=3))).select(*names).write_csv(folder / "raw.csv")
    quasi = "\n".join(f'{name} = "quasi"' for name in names[1:-1])
    (folder / "reveil.toml").write_text(
        f'[series]\nname = "ward"\n[columns]\npid = "person"\n{quasi}\ndiagnosis = "sensitive"\n'
        '[guarantee]\nkind = "tau-safety"\nm = 4\n'
    )
    spent, code = reveil(
        folder, "explore", "raw.csv", "-c", "reveil.toml", "-o", "explore.html", "--json", "explore.json"
    )
    told = json.loads((folder / "explore.json").read_text())
    points = len(told["points"])
    return {"rows": 50_000, "columns": len(names), "candidates": points, "CPU s": spent, "exit code": code}


def german(folder: Path) -> Path:
    """Write a part of adult_uci_full as a German program would have, with a date and an amount of money added."""
    source = pl.read_parquet(SHARED / "adult_uci_full.parquet", n_rows=GERMAN).with_row_index("nr")
    rng = np.random.default_rng(1)
    later = pl.lit(pl.Series(rng.integers(0, 365, source.height)))
    days = pl.date(1994 - pl.col("age"), 1, 1) + pl.duration(days=later)
    amounts = rng.integers(800_000, 20_000_000, source.height)
    pay = pl.Series([f"{cents / 100:_.2f}".replace(".", ",").replace("_", ".") for cents in amounts])
    frame = source.select(
        (pl.col("nr") + 100_000).alias("Kundennr"),
        days.dt.strftime("%d.%m.%Y").alias("Geburtsdatum"),
        pl.when(pl.col("sex") == "Male").then(pl.lit("männlich")).otherwise(pl.lit("weiblich")).alias("Geschlecht"),
        pl.col("education").alias("Ausbildung"),
        pl.col("occupation").fill_null("k. A.").alias("Beruf"),
        pl.col("native-country").fill_null("k. A.").alias("Geburtsland"),
        pay.alias("Einkommen"),
    )
    path = folder / "table.csv"
    path.write_bytes(frame.write_csv(separator=";").replace("\n", "\r\n").encode("latin-1"))
    return path


def tables(folder: Path) -> dict[str, Any]:
    """Publish real tables as a new user would."""
    found = {}
    for name in (*TABLES, "german"):
        source = SHARED / f"{name.replace('german', 'adult_uci_full')}.parquet"
        if not source.exists():
            continue
        own = folder / name
        own.mkdir()
        if name == "german":
            rows = GERMAN
            german(own)
        else:
            frame = pl.read_parquet(source, n_rows=ROWS)
            rows = frame.height
            if "patient_nbr" not in frame.columns:
                frame = frame.with_row_index("person_id")
            frame.write_csv(own / "table.csv")
        init, first = reveil(own, "init", "table.csv", "--yes", "-o", "reveil.toml")
        publish, second = reveil(own, "publish", "table.csv", "-c", "reveil.toml", "-o", "out.csv")
        verify, third = reveil(own, "verify", "out.csv", "table.csv", "-c", "reveil.toml")
        told = json.loads((own / "out.manifest.json").read_text()) if not second else None
        found[name] = {
            "rows of the file": rows,
            "kind": told and told["guarantee"]["kind"],
            "rows published": told and told["rows"],
            "counterfeits": told and told["counterfeits"]["total"],
            "exit codes": f"{first}, {second}, {third}",
            "init, publish, verify: CPU s": f"{init}, {publish}, {verify}",
        }
    return found


PARTS = {"risk": risk, "report": report, "explore": explore, "tables": tables}


def main(names: list[str]) -> None:
    """Measure the parts that are asked for, and store them beside the others."""
    for name in names or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            part = PARTS[name]
            found = part() if part is risk else part(Path(folder))  # type: ignore[operator]
        stored = json.loads(FILE.read_text()) if FILE.exists() else {}
        stored[name] = found
        FILE.write_text(json.dumps(stored, indent=2) + "\n")
        print(name, json.dumps(found, indent=2))


if __name__ == "__main__":
    main(sys.argv[1:])
