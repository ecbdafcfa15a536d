"""``reveil adopt``: what was published before Reveil counts, too."""

from __future__ import annotations

import click

from reveil.cli.console import Console, config_option, quiet_option


@click.command("adopt")
@click.argument("snapshot", type=click.Path())
@click.argument("release", type=click.Path())
@config_option
@quiet_option
def command(snapshot: str, release: str, config_path: str, quiet: bool) -> None:
    """Take RELEASE, which any tool made of SNAPSHOT, as told: the next one of the series goes on from there.

    Says what was found, and whose groups cannot be kept.
    """
    console = Console(quiet=quiet)
    with console.progress():
        console.stage("starting")
        from reveil.series import Series

        console.announce_compilation()
        console.stage("recognising")
        series = Series.load(config_path)
        found = series.adopt(snapshot, release)
    for line in found.sentences():
        console.say(line)
    for note in series.notes:
        console.say(f"note: {note}")
