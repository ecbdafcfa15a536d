"""``reveil verify``: is this file what was promised, and is it this snapshot's?"""

from __future__ import annotations

import click

from reveil.cli.console import Console, config_option, quiet_option, where_option


@click.command("verify")
@click.argument("release_path", metavar="RELEASE", type=click.Path())
@click.argument("snapshot_path", metavar="SNAPSHOT", type=click.Path())
@config_option
@where_option
@quiet_option
def command(release_path: str, snapshot_path: str, config_path: str, where: str | None, quiet: bool) -> None:
    """Check RELEASE against the SNAPSHOT it came from, with code that shares nothing with the publisher.

    Reads the published bytes, counts every group again, asks the config's model again, and searches an assignment
    of all published rows to the snapshot's records. A release of a part of the table needs the expression again, which
    the vault recognises and does not keep.
    """
    console = Console(quiet=quiet)
    with console.progress():
        console.stage("starting")
        from reveil.config import load_config
        from reveil.publishing import verify_file

        console.announce_compilation()
        config = load_config(config_path)
        release = verify_file(config, release_path, snapshot_path, where=where, stage=console.stage)
    manifest = release.manifest  # every number has been computed anew and compared
    sentence = config.guarantee.for_release(manifest).model_for(config.schema).sentence()
    console.say(
        f"{release_path} is sound: {manifest['rows']:,} rows in {manifest['groups']:,} groups, the records of this "
        f"snapshot in their boxes; {sentence}"
    )
    if config.guarantee.remembers:
        known = config.vault_path.exists()
        console.say(
            f"it is release {manifest['release']} of the series that the vault remembers"
            if known
            else "the other releases of its series were not looked at: there is no vault here"
        )
