"""``reveil vault``: where a series remembers what it told, and its keys."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reveil.cli.console import Console, config_option

if TYPE_CHECKING:
    from reveil.vault.address import Place


@click.group("vault", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Make, copy, check and re-key the vault of a series.

    A vault is a folder (vault = "hospital.vault"), a folder of sealed pieces (sealed = true), or lies on a PostgreSQL
    server (vault = "postgresql://user@host/database?schema=hospital").
    """
    if context.invoked_subcommand is None:
        raise click.UsageError("say what to do with the vault: check, copy, init or rotate-key", context)


@command.command("init")
@config_option
@click.option("--roles", is_flag=True, help="Make the roles SCHEMA_publisher, SCHEMA_auditor and SCHEMA_reader.")
def init(config_path: str, roles: bool) -> None:
    """Make the schema of a vault on a server and, with --roles, roles for those who publish and those who look.

    For an administrator of the database; what is there already stays as it is. A folder needs no such step.
    """
    from reveil.core.errors import ConfigError
    from reveil.series.config import load_config
    from reveil.vault.sealed.postgresql import initialise
    from reveil.vault.store import scheme_of

    place = load_config(config_path).vault_path
    if scheme_of(place) not in ("postgresql", "postgres"):
        raise ConfigError(
            "this vault is a folder, and is made when something is published first",
            file=config_path,
            hint='vault = "postgresql://user@host/database?schema=hospital" under [series] names a server.',
        )
    made = initialise(place.__fspath__(), roles=roles)
    console = Console()
    console.say(f"the vault {place} is ready: nothing was published into it by this")
    for role in made:
        console.say(f"role {role}: GRANT {role} TO somebody")


@command.command("copy")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--backup", is_flag=True, help="The series goes on in FROM; TO is kept for a bad day.")
def copy(source: str, target: str, backup: bool) -> None:
    """Copy the vault FROM into the new vault TO; the series goes on there.

    Each is a config (reveil.toml), a folder, sealed:// and a folder, or postgresql://... FROM refuses to publish
    afterwards, unless the copy is a --backup: two vaults that both went on would tell the same people twice.
    """
    from reveil.vault.copying import copy_vault

    many = copy_vault(_place(source), _place(target), backup=backup)
    console = Console()
    console.say(f"{many:,} releases copied, compared, and opened again from {_place(target)}")
    if backup:
        console.say("the series goes on where it was; restore this copy only if that is lost")
    else:
        console.say("from now on the series is published from there: name it under [series]")


@command.command("check")
@config_option
def check(config_path: str) -> None:
    """Open every part of a vault and compare it with its seals, its chain of changes and its anchor."""
    from reveil.series import Series

    console = Console()
    series = Series.load(config_path)
    found = series.check_vault()
    console.say(
        f"{series.vault}: {found.releases:,} releases, {found.persons:,} persons; everything is as it was written"
    )
    if found.lacking is not None:
        console.say(f"the anchor {series.anchor} knows of {found.lacking} that this vault does not know")
        sys.exit(1)


@command.command("rotate-key")
@config_option
def rotate_key(config_path: str) -> None:
    """Give a vault a new key; pseudonyms are renewed, and the old key is kept sealed under the new one.

    The new key is drawn and written where the old one lies. If the key comes from REVEIL_KEY or key_command, set
    REVEIL_NEW_KEY to the new one, and use it as the key afterwards. Refused while a release is pending.
    """
    from reveil.series import Series

    series = Series.load(config_path)
    series.rotate_key()
    Console().say(f"the vault {series.vault} has a new key: back it up, and keep the old one out of reach")


def _place(text: str) -> Place:
    from reveil.series.config import load_config
    from reveil.vault.address import place_of

    if text.endswith(".toml"):
        return load_config(text).vault_path
    if text.startswith("sealed://"):
        return place_of(text.removeprefix("sealed://"), Path(), sealed=True)
    return place_of(text, Path())
