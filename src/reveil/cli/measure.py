"""``reveil measure``: what does this release leave of the table it was made from?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reveil.cli.console import Console, config_option, json_option, json_target, quiet_option, where_option, write_json

if TYPE_CHECKING:
    from reveil.analysis.measures import Measures

MOST_QUERIES = 1_000_000  # random ones; a file may have as many lines as it likes


def _number_or_file(context: click.Context, option: click.Parameter, given: str) -> int | str:
    """Read ``--queries``: how many random ones, or the file that has them."""
    if not given.isdecimal():
        return given
    if len(given) > len(str(MOST_QUERIES)) or int(given) > MOST_QUERIES:
        raise click.BadParameter(f"at most {MOST_QUERIES:,} random queries are asked.", context, option)
    return int(given)


@click.command("measure")
@click.argument("raw_path", metavar="RAW", type=click.Path())
@click.argument("release_path", metavar="RELEASE", type=click.Path())
@config_option
@click.option(
    "--queries",
    default="0",
    callback=_number_or_file,
    metavar="N|FILE",
    help="Ask N random COUNT queries too, or those of a file: one expression a line.",
)
@click.option(
    "--dimensions", type=click.IntRange(min=1), metavar="D", help="Columns in each query; default: any number."
)
@click.option(
    "--selectivity", type=float, default=0.05, show_default=True, help="Share of the records in a query, about."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Which queries are drawn.")
@where_option
@json_option
@quiet_option
def command(
    raw_path: str,
    release_path: str,
    config_path: str,
    queries: int | str,
    dimensions: int | None,
    selectivity: float,
    seed: int,
    where: str | None,
    json_path: str | None,
    quiet: bool,
) -> None:
    """Measure what RELEASE leaves of RAW, the table it was made from.

    The numbers are computed from the raw table: they are for its owner, not for publication.
    """
    console = Console(quiet=quiet)
    with console.progress():
        console.stage("starting")
        from reveil.series.config import load_config
        from reveil.series.measuring import measure_file

        console.announce_compilation()
        config = load_config(config_path)
        kept = json_target(json_path, raw_path, release_path, config=config)
        found = measure_file(
            config,
            raw_path,
            release_path,
            queries=queries,
            dimensions=dimensions,
            selectivity=selectivity,
            seed=seed,
            where=where,
            stage=console.stage,
        )
    if json_path != "-":
        click.echo(table(found))
    for key, reason in found.not_measured.items():
        console.say(f"note: {key} is not measured in shards: {reason}")
    if json_path is not None:
        write_json(found.to_dict(), json_path, kept)


def table(found: Measures) -> str:
    """Lay out names, values and meanings in columns."""
    from reveil.analysis.measures.listing import measure_lines

    lines = measure_lines(found)
    names, values = max(len(line[0]) for line in lines), max(len(line[1]) for line in lines)
    return "\n".join(f"{name:<{names}}  {value:>{values}}  {note}".rstrip() for name, value, note in lines)
