"""``reveil verify``: is this file what was promised, and is it this snapshot's?"""

from __future__ import annotations

import click

from reveil.cli.console import Console, config_option, quiet_option


@click.command("verify")
@click.argument("release_path", metavar="RELEASE", type=click.Path())
@click.argument("snapshot_path", metavar="SNAPSHOT", type=click.Path())
@config_option
@quiet_option
def command(release_path: str, snapshot_path: str, config_path: str, quiet: bool) -> None:
    """Check RELEASE against the SNAPSHOT it came from, with code that shares nothing with the publisher.

    Reads the published bytes, counts every group again, asks the config's model again, and searches an assignment
    of all published rows to the snapshot's records.
    """
    console = Console(quiet=quiet)
    with console.progress():
        console.stage("starting")
        from reveil.config import load_config
        from reveil.publishing import verify_file

        console.announce_compilation()
        release = verify_file(load_config(config_path), release_path, snapshot_path, stage=console.stage)
    manifest = release.manifest  # every number and the claim have been computed anew and compared
    console.say(
        f"{release_path} holds: {manifest['rows']:,} rows in {manifest['groups']:,} groups; "
        f"{manifest['claim'][0].lower()}{manifest['claim'][1:]}"
    )
