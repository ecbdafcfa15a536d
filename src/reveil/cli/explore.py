"""``reveil explore``: what privacy costs here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reveil.cli.console import Console, config_option, json_option, json_target, quiet_option, write_json
from reveil.core.errors import InputError
from reveil.tables.formats import in_words

if TYPE_CHECKING:
    from reveil.reporting.exploring.points import Exploration


@click.command("explore", epilog=f"Tables are {in_words()} files.")
@click.argument("data", nargs=-1, metavar="DATA...", type=click.Path())
@config_option
@click.option("-o", "--out", type=click.Path(), help="Where to write the page: .html.")
@json_option
@click.option(
    "--try", "tries", multiple=True, metavar="KEY=A,B", help="Try these values of a setting; may be repeated."
)
@click.option("--sample", type=int, metavar="N", help="Try on the records of so many persons only.")
@click.option("--minutes", type=float, metavar="M", help="Begin no candidate after so many minutes.")
@click.option("--choose", type=int, metavar="N", help="Write point N into the config.")
@quiet_option
def command(
    data: tuple[str, ...],
    config_path: str,
    out: str | None,
    json_path: str | None,
    tries: tuple[str, ...],
    sample: int | None,
    minutes: float | None,
    choose: int | None,
    quiet: bool,
) -> None:
    """Publish the tables DATA on trial under several settings, attack and measure each, and show what they cost.

    Several tables are the snapshots of a series, in their order. Without --try, a few usual settings are tried. Nothing
    is published or remembered. --choose writes a point into the config, by its number in a run with the same options;
    without -o and --json nothing is tried again.
    """
    if out is None and json_path is None and choose is None:
        raise InputError("there is nothing to do", hint="Say where to write the page (-o explore.html), or --choose N.")
    console = Console(quiet=quiet)
    with console.progress():
        console.stage("starting")
        from reveil.reporting.exploring.candidates import asked, of_config
        from reveil.series.config import load_config
        from reveil.tables.settings import read_settings

        config = load_config(config_path)
        candidates = of_config(config, read_settings(config.path), asked(tries))
        if choose is not None and not 1 <= choose <= len(candidates):
            raise InputError(f"there is no point {choose}", hint=f"There are {len(candidates)} with these options.")
        if out is not None or json_path is not None:
            if not data:
                raise InputError("there is no table to try on", hint="Name one, or several as a series.")
            from reveil.reporting import page_target
            from reveil.reporting.exploring import explored
            from reveil.reporting.exploring.page import render

            console.announce_compilation()
            kept = json_target(json_path, *data, config=config)
            page = None if out is None else page_target(Path(out), kept)
            content = explored(
                [Path(name) for name in data],
                config.schema,
                candidates,
                len(candidates),
                sample=sample,
                minutes=minutes,
                seed=config.seed,
                stage=console.stage,
            )
            if page is not None:
                from reveil.releases.files import write_file

                write_file(page, render(content).encode(), kept)
            if json_path is not None:
                write_json(content, json_path, kept)
    if out is not None or json_path is not None:
        console.say(_summary(content, out))
    if choose is not None:
        from reveil.reporting.exploring.choosing import take_point

        console.say(take_point(Path(config_path), candidates[choose - 1], choose))


def _summary(content: Exploration, out: str | None) -> str:
    lines = [] if out is None else [f"wrote {out}"]
    for point in content["points"]:
        if point["frontier"]:
            mark = " (the present choice)" if point["n"] == content["current"] else ""
            lines.append(f"{point['n']}: {point['named']}{mark}: {point['words']}")
    lines += [f"{one['n']}: {one['named']} was not tried to the end: {one['why']}" for one in content["refused"]]
    return "\n".join(lines)
