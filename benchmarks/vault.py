"""What a sealed vault costs beside a plain one: recall and prepare, in a folder, sealed, and on a PostgreSQL server.

``python -m benchmarks.vault [--persons N]``. The yardstick is the embedded DuckDB file in the same run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import polars as pl

from reveil.vault import Change, Records, ReleaseRow, Vault
from reveil.vault.address import Place, place_of
from reveil.vault.protocol import Entries, Ledger

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


def measured(place: Place, size: int) -> tuple[float, float]:
    """Return the seconds of a recall and of a prepare of the second release; a recall opens the vault."""
    persons = pl.Series([f"person {n}" for n in range(size)])
    with Vault.open(place) as vault:
        vault.prepare(change_of(vault, persons, 1))
        vault.confirm(1)
        high, low = vault.key.pseudonyms(persons)
    started = time.perf_counter()
    with Vault.open(place) as vault:
        vault.recall(high, low)
        recall = time.perf_counter() - started
        change = change_of(vault, persons, 2)
        started = time.perf_counter()
        vault.prepare(change)
        return recall, time.perf_counter() - started


def run(size: int = 100_000) -> bool:
    """Print the ratios; return whether the goals were reached."""
    from tests.vault import servers

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        places: dict[str, Place] = {
            "folder": place_of(folder / "plain.vault"),
            "sealed": place_of(folder / "sealed.vault", sealed=True),
        }
        if servers.reason() is None:
            server = stack.enter_context(servers.running())
            places["server"] = place_of(server.address("bench", keys=folder / "server.keys"))
        else:
            print(f"server: not measured: {servers.reason()}")
        found = {name: measured(place, size) for name, place in places.items()}
    recall, prepare = found["folder"]
    print(f"{size:,} persons, embedded file: recall {recall:.2f} s, prepare {prepare:.2f} s")
    good = True
    for name, (one, two) in found.items():
        if name != "folder":
            print(f"{name}: recall {one / recall:.1f} times, prepare {two / prepare:.1f} times the embedded file's")
            good &= one <= RECALL_GOAL * recall and two <= PREPARE_GOAL * prepare
    print(f"goals: {RECALL_GOAL:.0f} and {PREPARE_GOAL:.0f} times: {'reached' if good else 'missed'}")
    return good


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=1_000_000)
    sys.exit(0 if run(parser.parse_args().persons) else 1)
