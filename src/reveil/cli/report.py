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
@click.option(
    "--values-known",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="J",
    help="With several sensitive columns: how many values of a person are known.",
)
@click.option("--sample", type=click.IntRange(min=1), metavar="N", help="Count everybody, and attack N persons.")
@click.option(
    "--population-size",
    type=click.IntRange(min=1),
    metavar="N",
    help="Of how many people the tables are a sample: estimates journalist and marketer risk.",
)
@quiet_option
def command(
    config_path: str,
    out: str,
    releases: tuple[str, ...],
    truth: tuple[str, ...],
    where: tuple[str, ...],
    values_known: int,
    sample: int | None,
    population_size: int | None,
    quiet: bool,
) -> None:
    """Write a page about the releases of a series, and the same numbers as JSON beside it.

    What was published is known from the vault; --releases names files that are not where they were written, or the
    releases of a config without a vault. With --truth, the snapshots in the order of the releases, the releases are
    attacked and measured as well; those of a part of the table need their expressions again (--where), which the vault
    recognises and does not keep. Releases whose files are not found are named. The page needs no network and has no
    value of anybody; its numbers are for the owner's eyes. With --truth a second page, NAME.owner.html, has how every
    column was distributed before and is after, and the riskiest records: for the owner alone. Exit code 1: an attack
    broke the bound of the series.
    """
    console = Console(quiet=quiet)
    with console.progress():
        console.stage("starting")
        from pathlib import Path

        from reveil.reporting import json_beside, owner_beside, report

        console.announce_compilation()
        content = report(
            config_path,
            list(releases) or None,
            list(truth) or None,
            out,
            where=where,
            values_known=values_known,
            sample=sample,
            population_size=population_size,
            stage=console.stage,
        )
    for missing in content["missing"]:
        console.say(f"missing: release {missing['release']} ({missing['file'] or 'no file'}): {missing['why']}")
    for note in content["notes"]:
        console.say(f"note: {note}")
    many = content["series"]["releases"]
    console.say(f"wrote {out} and {json_beside(Path(out))}: {many} release{'' if many == 1 else 's'}")
    if truth:
        console.say(f"wrote {owner_beside(Path(out))}: distributions and the riskiest records, for the owner alone")
    risk = content["risk"]
    if risk is not None:
        console.say(risk["sentence"])
        if not risk["held"]:
            console.say("BROKEN: the attacks found more than this series promises")
            raise click.exceptions.Exit(1)
