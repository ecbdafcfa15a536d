"""Where the files of releases are, and the numbers that are kept of each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reveil.analysis.measures.aggregates import aggregates
from reveil.core.errors import InputError, ReveilError, VerificationError
from reveil.releases.files import tables_of
from reveil.releases.manifest_files import digest_of, read_manifest
from reveil.series.backups import is_table_of, manifest_of, says_the_same
from reveil.series.drafts import draft_paths
from reveil.vault.protocol import ADOPTED

if TYPE_CHECKING:
    from reveil.core.json_values import JSON
    from reveil.guarantees.assembly import Prepared
    from reveil.tables.snapshot import Snapshot
    from reveil.vault import ReleaseRow, Vault


def find_file(vault: Vault, row: ReleaseRow) -> Path | None:
    """Return a file that holds a release as it was published: where it was written, or the vault's own copy."""
    places = [] if row.path is None else [Path(row.path)]
    places += draft_paths(vault, row.release)
    return next((path for path in places if is_release(path, row)), None)


def is_release(path: Path, row: ReleaseRow) -> bool:
    """Return whether a file is the release that a vault remembers, byte by byte or in another format."""
    try:
        if not path.exists():
            return False
        if row.state == ADOPTED and row.manifest_digest is None:  # another tool's, without a manifest
            tables = tables_of(path, manifest_of(row))
            return all(table.is_file() for table in tables) and digest_of(*tables) == row.digest
        return says_the_same(read_manifest(path).to_json(), row) and is_table_of(path, row)
    except (OSError, InputError, VerificationError):
        return False


def measures_of(prepared: Prepared, snapshot: Snapshot) -> dict[str, JSON] | None:
    """Return the numbers that the vault keeps of a release; None where they cannot be had.

    They are told to nobody, and a release is not held up by them.
    """
    quasi = None if prepared.draft.altered else prepared.draft.codes.quasi  # dirty records are not of the snapshot
    try:
        return aggregates(snapshot, prepared.release, quasi)
    except ReveilError:
        return None
