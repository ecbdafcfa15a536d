"""Where a vault lies: its folder, found or made, and the way into its database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from reveil.core.errors import VaultError
from reveil.vault.bridge import one
from reveil.vault.private import FOLDER

if TYPE_CHECKING:
    from pathlib import Path

    from reveil.vault.bridge import Connection

DATABASE = "vault.duckdb"
SPILL = "tmp"


def find_folder(path: Path, *, create: bool) -> Path:
    """Return where the vault lies, made if need be; refuse what is something else."""
    if path.exists() and not path.is_dir():
        raise VaultError("this is a file, and a vault is a folder", file=path, hint="Name another path under `vault`.")
    try:
        if not (path / DATABASE).exists():
            if path.exists() and any(path.iterdir()):
                raise VaultError(
                    "this folder is not a vault: it has files, and no 'vault.duckdb' among them",
                    file=path,
                    hint="Name another folder under `vault`. If it was a vault, restore 'vault.duckdb' from a backup: "
                    "a new one would not know what was told.",
                )
            if not create:
                raise VaultError("there is no vault here", file=path, hint="Check the path, or publish first.")
            path.mkdir(mode=FOLDER, exist_ok=True)
        return path.resolve(strict=True)
    except OSError:
        raise VaultError(
            "this folder cannot be made or read",
            file=path,
            hint="Check that the folder above it exists, and the permissions of both.",
        ) from None


def connect(folder: Path) -> Connection:
    """Open the database, without extensions and without a way to files outside the vault."""
    connection = duckdb.connect(
        str(folder / DATABASE),
        config={
            "temp_directory": str(folder / SPILL),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        },
    )
    # These belong to the database, not to the connection: the first one of the process has set them for all.
    if one(connection, "SELECT current_setting('enable_external_access')"):
        inside = f"{folder}/".replace("'", "''")
        connection.execute(f"SET allowed_directories = ['{inside}']")
        connection.execute("SET enable_external_access = false")
    return connection
