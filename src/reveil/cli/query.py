"""``reveil query``: how many records of a release satisfy an expression?"""

from __future__ import annotations

import click

from reveil.cli.console import json_option, json_target, write_json


@click.command("query")
@click.argument("release_path", metavar="RELEASE", type=click.Path())
@click.argument("expression", metavar="EXPR")
@click.option(
    "-c", "--config", "config_path", type=click.Path(), help="The reveil.toml, for its hierarchies and orders."
)
@json_option
def command(release_path: str, expression: str, config_path: str | None, json_path: str | None) -> None:
    """Count the records of RELEASE that satisfy EXPR: an estimate, and bounds that hold whatever the records are.

    \b
    For example:
      age in [30, 40] and zip = 4410* and sex in {f, x} and not region = north
      admitted >= 2024-01-01 or region = 'North-West' or age is null

    A null satisfies no comparison; 'not' turns that round too. The estimate takes the values inside a published
    range or set as equally likely. The bounds also cover the records that were suppressed.
    """  # noqa: D301  (click reads the backspace)
    from reveil.analysis.queries import count
    from reveil.releases.release import Release
    from reveil.tables.schema import Schema

    kept = json_target(json_path, release_path, config_path)
    schema = None if config_path is None else Schema.load(config_path)
    found = count(Release.read(release_path), expression, schema)
    if json_path != "-":
        upper = "unknown" if found.upper is None else str(found.upper)
        click.echo(f"estimate {found.estimate:.10g}\nlower    {found.lower}\nupper    {upper}")
    if json_path is not None:
        write_json({"estimate": found.estimate, "lower": found.lower, "upper": found.upper}, json_path, kept)
