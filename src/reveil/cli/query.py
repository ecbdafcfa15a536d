"""``reveil query``: what does a release answer?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reveil.cli.console import json_option, json_target, write_json

if TYPE_CHECKING:
    from reveil.releases.answers import Answer, Count, Figure, Value

HEADS = ("estimate", "lower", "upper", "low", "high")


@click.command("query")
@click.argument("release_path", metavar="RELEASE", type=click.Path())
@click.argument("question", metavar="EXPR")
@click.option(
    "-c", "--config", "config_path", type=click.Path(), help="The reveil.toml, for its hierarchies and orders."
)
@json_option
def command(release_path: str, question: str, config_path: str | None, json_path: str | None) -> None:
    """Ask RELEASE about the records that satisfy EXPR: an estimate, bounds that hold whatever the records are, and
    between low and high an interval of 95 %.

    \b
    For example:
      age in [30, 40] and zip = 4410* and sex in {f, x} and not region = north
      count admitted >= 2024-01-01 or region = 'North-West' or age is null
      mean(income) age >= 40
      quantile(income, 0.5) sex = f
      crosstab(sex, diagnosis) age >= 40

    A null satisfies no comparison; 'not' turns that round too. The estimate takes the values inside a published
    range or set as equally likely. The bounds also cover the records that were suppressed. Where EXPR names sensitive
    values of a second table, 'fitted' is another estimate, mostly nearer: rows and values are matched as all groups
    together suggest.
    """  # noqa: D205, D301  (click reads the backspace, and breaks the lines)
    from reveil.analysis.questions import ask
    from reveil.releases.answers import as_json
    from reveil.releases.release import Release
    from reveil.tables.schema import Schema

    kept = json_target(json_path, release_path, config_path)
    schema = None if config_path is None else Schema.load(config_path)
    found = ask(Release.read(release_path), question, schema)
    if json_path != "-":
        click.echo(table(found))
    if json_path is not None:
        write_json(as_json(found), json_path, kept)


def table(found: Answer) -> str:
    """Lay an answer out for a person."""
    from reveil.releases.answers import Count, Crosstab

    if not isinstance(found, Crosstab):
        told = [*zip(HEADS, _texts(found), strict=True)]
        if isinstance(found, Count) and found.fitted is not None:
            told.append(("fitted", _text(found.fitted)))
        return "\n".join(f"{name:<8} {text}" for name, text in told)
    lines: list[tuple[str, ...]] = [(*found.columns, *HEADS)]
    lines += [(*("(missing)" if v is None else v for v in cell.values), *_texts(cell.count)) for cell in found.cells]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            text.ljust(width) if at < 2 else text.rjust(width)
            for at, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _texts(found: Count | Figure) -> list[str]:
    return [_text(getattr(found, name)) for name in HEADS]


def _text(value: Value | None) -> str:
    if value is None:
        return "unknown"
    return f"{value:.10g}" if isinstance(value, float) else str(value)
