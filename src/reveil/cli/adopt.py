"""``reveil adopt``: what was published before Reveil counts, too."""

from __future__ import annotations

import click

from reveil.cli.console import Console, config_option, names, quiet_option


@click.command("adopt")
@click.argument("snapshot", type=click.Path())
@click.argument("release", type=click.Path())
@config_option
@click.option("--columns", callback=names, metavar="A,B,C", help="The release was made of these columns only.")
@click.option("--where", metavar="EXPR", help="It was made of the records that satisfy this only, as in reveil query.")
@quiet_option
def command(
    snapshot: str, release: str, config_path: str, columns: list[str] | None, where: str | None, quiet: bool
) -> None:
    """Take RELEASE, which any tool made of SNAPSHOT, as told: the next one of the series goes on from there.

    Says what was found, whose groups cannot be kept, and what that costs. A release of a part of SNAPSHOT is adopted as
    that part.
    """
    console = Console(quiet=quiet)
    with console.progress():
        console.stage("starting")
        from reveil.series import Series

        console.announce_compilation()
        console.stage("recognising")
        series = Series.load(config_path)
        found = series.adopt(snapshot, release, columns, where)
    for line in found.sentences():
        console.say(line)
    for note in series.notes:
        console.say(f"note: {note}")
