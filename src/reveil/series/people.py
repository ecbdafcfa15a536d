"""What a vault does with one person or with some: where they were published, and erasing them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from reveil.core.errors import RefusedError
from reveil.releases.table import GROUP
from reveil.series.drafts import remove_drafts
from reveil.series.persons import KIND, identities, one_person, persons_in
from reveil.series.release_context import LAYOUT, forgotten
from reveil.tables.snapshot import to_native
from reveil.vault.protocol import PENDING

if TYPE_CHECKING:
    from reveil.core.arrays import IntArray
    from reveil.grouping.groupers.base import Grouper
    from reveil.tables.schema import Schema
    from reveil.vault import DuckDBVault


def find_placements(vault: DuckDBVault, schema: Schema, release: int, frame: object) -> object:
    """Return where the persons in a frame are in a release: person, group, row (from 0)."""
    persons, native = persons_in(frame, schema)
    row = next((row for row in vault.releases() if row.release == release), None)
    if row is None:
        raise RefusedError(f"there is no release {release}", hint="See reveil history.")
    if not vault.has_archive(release):
        raise RefusedError(
            f"no placements of release {release} are kept",
            hint="They are kept of the releases that archive names (all, unless it is set), and not for adopted ones "
            "without rows of their own.",
        )
    keys = vault.key.pseudonyms(identities(persons, vault.setting(KIND)))
    return to_native(_placed(vault, release, persons, keys), native)


def find_all_placements(vault: DuckDBVault, schema: Schema, frame: object) -> dict[int, pl.DataFrame]:
    """Return the same for every release of which placements are kept; the persons are looked up once."""
    persons, _ = persons_in(frame, schema)
    keys = vault.key.pseudonyms(identities(persons, vault.setting(KIND)))
    kept = [row.release for row in vault.releases() if vault.has_archive(row.release)]
    return {release: _placed(vault, release, persons, keys) for release in kept}


def _placed(vault: DuckDBVault, release: int, persons: pl.Series, keys: tuple[IntArray, IntArray]) -> pl.DataFrame:
    found = vault.placements(release, *keys)
    table = pl.DataFrame({"person": persons.gather(found["record"]), GROUP: found["grp"], "row": found["place"]})
    return table.sort("row")


def erase(vault: DuckDBVault, column: str, person: object, method: Grouper | None, *, tombstone: bool) -> bool:
    """Erase a person from the vault, archive included; False if the vault does not know them."""
    high, low = vault.key.pseudonyms(identities(one_person(person, column), vault.setting(KIND)))
    known = vault.recall(high, low).person[0] >= 0
    if known and all(row.state != PENDING for row in vault.releases()):
        # Copies of releases have rows of the person; where they were published, they are found again.
        remove_drafts(vault)
    layout = forgotten if method is None else method.forgetting
    return vault.forget(int(high[0]), int(low[0]), tombstone=tombstone, revised={LAYOUT: layout})
