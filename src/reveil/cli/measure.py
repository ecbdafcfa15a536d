"""``reveil measure``: what does this release leave of the table it was made from?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from reveil.cli.console import Console, config_option, json_option, json_target, quiet_option, where_option, write_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveil.analysis.measures import Measures

BETTER = {"larger": "larger is better", "smaller": "smaller is better", "neither": ""}
NOTES = {"query_error skipped": "queries that no raw record satisfies, left out of mean and median"}


@click.command("measure")
@click.argument("raw_path", metavar="RAW", type=click.Path())
@click.argument("release_path", metavar="RELEASE", type=click.Path())
@config_option
@click.option("--queries", type=click.IntRange(min=0), default=0, metavar="N", help="Ask N random COUNT queries too.")
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
    queries: int,
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
        from reveil.analysis.measures import measure
        from reveil.releases.release import Release
        from reveil.series import Series
        from reveil.series.config import load_config
        from reveil.series.reading import selected
        from reveil.tables.snapshot import read_snapshot

        console.announce_compilation()
        config = load_config(config_path)
        kept = json_target(json_path, raw_path, release_path, config=config)
        console.stage("reading")
        release = Release.read(release_path)
        raw: object = raw_path
        schema = config.schema
        if config.in_series and config.vault_path.exists():  # the vault knows which columns were asked for
            part = Series.of(config).part_of(raw_path, release.manifest, where)
            raw, schema = part.frame, part.schema
        elif where is not None:
            part = selected(read_snapshot(raw_path, schema), where)
            raw, schema = part.frame, part.schema
        console.stage("measuring")
        found = measure(raw, release, schema, queries, seed, dimensionality=dimensions, selectivity=selectivity)
    if json_path != "-":
        click.echo(table(found))
    if json_path is not None:
        write_json(found.to_dict(), json_path, kept)


def table(found: Measures) -> str:
    """Lay out names, values and meanings in columns."""
    from reveil.analysis.measures import meanings

    lines = []
    for key, meaning in meanings().items():
        note = meaning.text + (f" ({BETTER[meaning.better]})" if BETTER[meaning.better] else "")
        if found.shares.get(key):
            note += f": {found.shares[key]:.2%}"
        lines += [(name, _number(value), NOTES.get(name, note)) for name, value in _flat(key, found[key])]
    names, values = max(len(line[0]) for line in lines), max(len(line[1]) for line in lines)
    return "\n".join(f"{name:<{names}}  {value:>{values}}  {note}".rstrip() for name, value, note in lines)


def _flat(key: str, value: object) -> Iterator[tuple[str, Any]]:
    """List the numbers of a measure, those of a mapping under its name; what is not a number is for the JSON."""
    if not isinstance(value, dict):
        yield key, value
        return
    for name, inner in value.items():
        if not isinstance(inner, dict):
            yield f"{key} {name}", inner


def _number(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4f}"
