"""Where the vault of a series lies: a folder, a sealed folder, a PostgreSQL server."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from reveil.tables.schema import toml_text
from reveil.testing import hospital

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.long_run.plans import Plan

CALM = "calm"
STORES = (CALM, "folder", "sealed", "server")
MORE_COLUMNS = 'drug = "sensitive"\ndays = { role = "sensitive", bins = [3, 6, 9, 12, 15, 18, 21, 24, 27] }\n'


def settings(plan: Plan, effort: str, place: str) -> str:
    """Return the config of a plan; ``place`` is what stands under ``[series]`` about the vault."""
    takes = "m = " in plan.guarantee
    guarantee = plan.guarantee + (f'\neffort = "{effort}"' if effort and takes else "")
    text = hospital.config(guarantee, vault="hospital.vault")
    text = text.replace('vault = "hospital.vault"\n', f"seed = 11\n{place}\n")
    if plan.several:
        text = text.replace('diagnosis = "sensitive"\n', f'diagnosis = "sensitive"\n{MORE_COLUMNS}')
    return text + (f"\n[method]\n{plan.method}\n" if plan.method else "")


@contextmanager
def places(stores: Sequence[str]) -> Iterator[dict[str, str]]:
    """Return the lines about the vault for each store; a server is started for them, and stopped afterwards."""
    folder = 'vault = "hospital.vault"'
    found = {CALM: folder, "folder": folder, "sealed": f"{folder}\nsealed = true"}
    if "server" not in stores:
        yield found
        return
    from tests.vault import servers

    with servers.running() as server:
        address = server.address("SCHEMA")
        yield {**found, "server": f"vault = {toml_text(address)}"}
