"""What a sealed vault costs beside a plain one: recall and prepare, in a folder, sealed, and on a PostgreSQL server.

``python -m benchmarks.vault [--persons N] [--save]``. The yardstick is the embedded DuckDB file in the same run. Both
the clock and processor seconds are compared (those of the server's processes included), because on a machine on which
others work the clock tells little. ``--save`` writes docs/evidence/vault.json.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.vault import Change, Records, ReleaseRow, Vault
from reveil.vault.address import Place, place_of
from reveil.vault.protocol import Entries, Ledger

if TYPE_CHECKING:
    from collections.abc import Callable

EVIDENCE = Path(__file__).resolve().parents[1] / "docs" / "evidence" / "vault.json"
TOLD = Ledger("told", keys=("signature",))
RECALL_GOAL, PREPARE_GOAL = 8.0, 10.0  # times the embedded file


def change_of(vault: Vault, persons: pl.Series, release: int) -> Change:
    """Return a release of so many persons with four attributes, a signature each and placements."""
    high, low = vault.key.pseudonyms(persons)
    known = vault.recall(high, low)
    size = len(persons)
    rng = np.random.default_rng(release)
    names = ("age", "sex", "town", "disease")
    fresh = {name: pl.Series([str(n) for n in range(90)]) for name in names} if release == 1 else {}
    codes = {name: rng.integers(0, 90, size).astype(np.int32) for name in names}
    record = pl.Series("record", np.arange(size, dtype=np.int32))
    return Change(
        ReleaseRow(release, "pending", "2026-01-01T00:00:00", "snapshot", {}),
        Records(
            high,
            low,
            known.person,
            np.ones(size, np.bool_),
            codes,
            known.gone,
            dict.fromkeys(names, "text"),
            fresh,
        ),
        (Entries(TOLD, pl.DataFrame({"record": record, "signature": rng.integers(0, 30, size).astype(np.int32)})),),
        placements=pl.DataFrame(
            {"record": record, "place": rng.permutation(size).astype(np.int32), "grp": record // 4}
        ),
    )


def processor_seconds(postmaster: int) -> float:
    """Return what a server's processes have used so far: those that are there, and those that are gone."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        pid, parent = int(path.parent.name), int(fields[1])
        if pid == postmaster:
            ticks += sum(map(int, fields[11:15]))
        elif parent == postmaster:
            ticks += sum(map(int, fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def measured(place: Place, size: int, server: Callable[[], float] = lambda: 0.0) -> dict[str, tuple[float, float]]:
    """Return the seconds on the clock, and of the processor, of a recall and of a prepare of the second release.

    A recall opens the vault.
    """

    def now() -> tuple[float, float]:
        return time.perf_counter(), time.process_time() + server()

    def since(start: tuple[float, float]) -> tuple[float, float]:
        clock, work = now()
        return clock - start[0], work - start[1]

    persons = pl.Series([f"person {n}" for n in range(size)])
    with Vault.open(place) as vault:
        vault.prepare(change_of(vault, persons, 1))
        vault.confirm(1)
        high, low = vault.key.pseudonyms(persons)
    start = now()
    with Vault.open(place) as vault:
        vault.recall(high, low)
        recall = since(start)
        change = change_of(vault, persons, 2)
        start = now()
        vault.prepare(change)
        return {"recall": recall, "prepare": since(start)}


def run(size: int = 100_000, *, save: bool = False) -> bool:
    """Print the ratios; return whether the goals were reached on the clock."""
    from tests.vault import servers

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        places: dict[str, Place] = {
            "folder": place_of(folder / "plain.vault"),
            "sealed": place_of(folder / "sealed.vault", sealed=True),
        }
        found = {name: measured(place, size) for name, place in places.items()}
        if servers.reason() is None:
            server = stack.enter_context(servers.running())
            address = place_of(server.address("bench", keys=folder / "server.keys"))
            postmaster = int((Path(server.data) / "postmaster.pid").read_text().split()[0])
            found["server"] = measured(address, size, lambda: processor_seconds(postmaster))
        else:
            print(f"server: not measured: {servers.reason()}")
    good = True
    told: dict[str, object] = {}
    for name, own in found.items():
        line: dict[str, float] = {}
        told[name] = line
        for what, goal in (("recall", RECALL_GOAL), ("prepare", PREPARE_GOAL)):
            (clock, work), base = own[what], found["folder"][what]
            line |= {f"{what}, s": round(clock, 2), f"{what}, processor s": round(work, 2)}
            if name != "folder":
                ratio, of_work = clock / base[0], work / base[1]
                line |= {f"{what}, times": round(ratio, 1), f"{what}, times, processor": round(of_work, 1)}
                good &= ratio <= goal
        print(f"{name}: {', '.join(f'{key} {value}' for key, value in line.items())}")
    print(f"goals: {RECALL_GOAL:.0f} and {PREPARE_GOAL:.0f} times: {'reached' if good else 'missed'}")
    if save:
        about = {
            "command": f"python -m benchmarks.vault --persons {size} --save",
            "persons": size,
            "machine": "two cores, busy",
            "goals, times the embedded file": f"recall {RECALL_GOAL:.0f}, prepare {PREPARE_GOAL:.0f}",
        }
        EVIDENCE.write_text(json.dumps({"run": about, "stores": told}, indent=1) + "\n", encoding="utf-8")
    return good


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=1_000_000)
    parser.add_argument("--save", action="store_true", help="write docs/evidence/vault.json")
    asked = parser.parse_args()
    sys.exit(0 if run(asked.persons, save=asked.save) else 1)
