"""``reveil report``: how did the series go, what does it promise, and what is left of the tables?"""

from __future__ import annotations

import click

from reveil.cli.audit import ListsCommand
from reveil.cli.console import Console, config_option, quiet_option


@click.command("report", cls=ListsCommand)
@config_option
@click.option("-o", "--out", required=True, type=click.Path(), help="Where to write the page: .html.")
@click.option("--releases", multiple=True, type=click.Path(), metavar="F...", help="The releases, in order.")
@click.option("--truth", multiple=True, type=click.Path(), metavar="SNAPSHOT...", help="The snapshots, in order.")
@click.option("--where", multiple=True, metavar="EXPR", help="The expression of a release of some records; repeatable.")
@quiet_option
def command(
    config_path: str, out: str, releases: tuple[str, ...], truth: tuple[str, ...], where: tuple[str, ...], quiet: bool
) -> None:
    """Write a page about the releases of a series, and the same numbers as JSON beside it.

    What was published is known from the vault; --releases names files that are not where they were written, or the
    releases of a config without a vault. With --truth, the snapshots in the order of the releases, the releases are
    attacked and measured as well; those of a part of the table need their expressions again (--where), which the vault
    recognises and does not keep. Releases whose files are not found are named. The page needs no network and has no
    value of anybody; its numbers are for the owner's eyes. Exit code 1: an attack broke the bound of the series.
    """
    console = Console(quiet=quiet)
    with console.progress():
        console.stage("starting")
        from pathlib import Path

        from reveil.reporting import json_beside, report

        console.announce_compilation()
        content = report(
            config_path, list(releases) or None, list(truth) or None, out, where=where, stage=console.stage
        )
    for missing in content["missing"]:
        console.say(f"missing: release {missing['release']} ({missing['file'] or 'no file'}): {missing['why']}")
    for note in content["notes"]:
        console.say(f"note: {note}")
    many = content["series"]["releases"]
    console.say(f"wrote {out} and {json_beside(Path(out))}: {many} release{'' if many == 1 else 's'}")
    risk = content["risk"]
    if risk is not None:
        console.say(risk["sentence"])
        if not risk["held"]:
            console.say("BROKEN: the attacks found more than this series promises")
            raise click.exceptions.Exit(1)
