"""``python -m benchmarks.long_run``: see the package."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.long_run import stores
from benchmarks.long_run.commands import Commands
from benchmarks.long_run.plans import PLANS, chosen
from benchmarks.long_run.running import Found, SeriesRun, Size


def say(text: str) -> None:
    print(time.strftime("%H:%M:%S"), text, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=sys.modules["benchmarks.long_run"].__doc__)
    parser.add_argument("--persons", type=int, default=100_000)
    parser.add_argument("--releases", type=int, default=24)
    parser.add_argument("--plans", nargs="+", default=[], choices=PLANS, metavar="PLAN")
    parser.add_argument("--stores", nargs="+", default=list(stores.STORES), choices=stores.STORES)
    parser.add_argument("--check", type=int, default=6)
    parser.add_argument("--audit", type=int, default=6)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--effort", default="", choices=["quick", "normal", "thorough"])
    parser.add_argument("--beside", action="store_true", help="the calm series runs in another process, in this folder")
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    size = Size(asked.persons, asked.releases, asked.check, asked.audit, sample=asked.sample, effort=asked.effort)
    root = asked.folder or Path(tempfile.mkdtemp(prefix="long-run-"))
    problems = 0
    with Commands() as commands, stores.places(asked.stores) as places:
        for plan in chosen(asked.plans):
            folder = root / plan.name.replace(" ", "-")
            for store in asked.stores if asked.beside else dict.fromkeys([stores.CALM, *asked.stores]):
                one = folder / store
                if store == stores.CALM and (known := Found.of(one)) is not None and known.ended:
                    problems += len(known.problems)
                    continue
                shutil.rmtree(one, ignore_errors=True)
                series = SeriesRun(commands, plan, store, one, size, say)
                series.begin(places[store])
                problems += len(series.run().problems)
    say(f"{problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
