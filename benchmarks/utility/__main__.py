"""Publish four changing tables and print what the releases are worth, part by part.

``python -m benchmarks.utility`` runs everything; ``--part``, ``--table`` and ``--variant`` run less. ``--store`` writes
what was measured to ``docs/evidence``, beside what was stored of other tables and variants, and with it one table and
one plot of everything that is stored (see :mod:`benchmarks.utility.summary`). A part is a module ``part_NAME.py``
beside this one with a function ``variants(table)``, which returns what measures each variant, and ``GOALS``: the
greatest width by (table, variant), where there is one.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import benchmarks.utility as package
from benchmarks.papers.common import EVIDENCE
from benchmarks.utility import summary
from benchmarks.utility.tables import NAMES, Worth, table_named

if TYPE_CHECKING:
    from types import ModuleType

PREFIX = "part_"


def parts() -> list[str]:
    """Return the names of the parts that there are."""
    return [own.name.removeprefix(PREFIX) for own in pkgutil.iter_modules(package.__path__) if PREFIX in own.name]


def run(name: str, tables: list[str], only: list[str] | None, *, store: bool) -> bool:
    """Run one part, print a line for each variant, and return whether every goal is met."""
    part: ModuleType = importlib.import_module(f"{package.__name__}.{PREFIX}{name}")
    goals: dict[tuple[str, str], float] = part.GOALS
    good = True
    print(
        f"{name}\n  {'table':<10}{'variant':<22}{'release':>8}{'gcp':>8}{'added':>8}{'held':>8}"
        f"{'error':>8}{'fitted':>8}{'cpu s':>8}"
    )
    for own in tables:
        table = table_named(own)
        if table is None:
            continue
        for variant, measured in part.variants(table).items():
            if only and variant not in only:
                continue
            worth: Worth = measured()
            goal = goals.get((own, variant))
            met = goal is None or worth.gcp <= goal
            good &= met
            said = "" if goal is None else f"  goal {goal:g}{'' if met else '  MISSED'}"
            print(
                f"  {own:<10}{variant:<22}{worth.release:>8}{worth.gcp:>8.3f}{worth.counterfeits:>8.4f}"
                f"{worth.withheld:>8.4f}{worth.query_error:>8.3f}{worth.fitted_error or float('nan'):>8.3f}"
                f"{worth.seconds:>8.2f}{said}",
                flush=True,
            )
            if store:
                keep(name, own, variant, worth)
    return good


def keep(part: str, table: str, variant: str, worth: Worth) -> None:
    """Write one measurement to its file, in the place of an older one."""
    place = EVIDENCE / f"utility_{part}.json"
    found: dict[str, dict[str, Any]] = json.loads(place.read_text()) if place.is_file() else {}
    found.setdefault(table, {})[variant] = asdict(worth)
    place.write_text(json.dumps(found, indent=1) + "\n")


def main() -> int:
    """Read what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=parts(), action="append", help="one part (all of them)")
    parser.add_argument("--table", choices=NAMES, action="append", help="one table (all four)")
    parser.add_argument("--variant", action="append", help="one variant of a part (all of them)")
    parser.add_argument("--store", action="store_true", help="write the results to docs/evidence")
    asked = parser.parse_args()
    tables = asked.table or list(NAMES)
    done = [run(name, tables, asked.variant, store=asked.store) for name in asked.part or parts()]
    if asked.store:
        summary.store()
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
