"""``reveil publish``: a file in, a verified release out."""

from __future__ import annotations

import click

from reveil.cli.console import Console, config_option, quiet_option


@click.command("publish")
@click.argument("data", type=click.Path())
@config_option
@click.option("-o", "--out", required=True, type=click.Path(), help="Where to write: .csv or .parquet.")
@click.option("--dry-run", is_flag=True, help="Show what would be published, with measures; write nothing.")
@quiet_option
def command(data: str, config_path: str, out: str, dry_run: bool, quiet: bool) -> None:
    """Publish the table DATA (.csv or .parquet) as the config says.

    The release is verified from the written bytes before it is put in place; a manifest is written beside it.
    """
    console = Console(quiet=quiet)
    with console.progress():
        console.stage("starting")
        from reveil.config import load_config
        from reveil.publishing import publish_file

        console.announce_compilation()
        config = load_config(config_path)
        release = publish_file(config, data, out, dry_run=dry_run, stage=console.stage)
        if dry_run:
            from reveil.cli.measure import table
            from reveil.measures import measure

            console.stage("measuring")
            measures = measure(data, release, config.schema)
    manifest = release.manifest
    levels = ", ".join(f"{key} = {value}" for key, value in manifest["achieved"].items())
    done = "would publish" if dry_run else "published"
    console.say(
        f"{done} {out}: {manifest['rows']:,} rows in {manifest['groups']:,} groups, "
        f"{manifest['suppressed']:,} suppressed; reached {levels}\n"
        "verified from the file: every group is valid, every record is inside its box, none is lost or altered"
    )
    if dry_run:
        click.echo(table(measures))
        console.say("nothing was published (--dry-run)")
