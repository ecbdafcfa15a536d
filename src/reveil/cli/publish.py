"""``reveil publish``: a file in, a verified release out."""

from __future__ import annotations

from collections.abc import Mapping

import click

from reveil.cli import interrupts
from reveil.cli.console import Console, config_option, engine_option, names, quiet_option
from reveil.tables.formats import in_words, readable


@click.command("publish", epilog=f"Tables are {in_words(readable())} files, or folders of part-00000.parquet, ...")
@click.argument("data", type=click.Path())
@config_option
@click.option("-o", "--out", required=True, type=click.Path(), help=f"Where to write: {in_words()}, or a folder: OUT/.")
@click.option("--columns", callback=names, metavar="A,B,C", help="Publish these columns only.")
@click.option("--where", metavar="EXPR", help="Publish only the records that satisfy this, as in reveil query.")
@click.option("--dry-run", is_flag=True, help="Show what would be published, with measures; write nothing.")
@click.option("--again", is_flag=True, help="Publish anew, even if this table is the last release already.")
@click.option(
    "--new-series", is_flag=True, help="Begin anew, though releases of this name are there: it is another series."
)
@engine_option
@quiet_option
def command(
    data: str,
    config_path: str,
    out: str,
    columns: list[str] | None,
    where: str | None,
    dry_run: bool,
    again: bool,
    new_series: bool,
    engine: str | None,
    quiet: bool,
) -> None:
    """Publish the table DATA as the config says.

    The release is verified from the written bytes before it is put in place; a manifest is written beside it. A
    folder (OUT ends in a slash) takes the release in Parquet parts, with the manifest inside. With a
    vault, it is the next release of its series: a release that was interrupted is finished, and a table that is the
    last release already is written again as it was. Where there is no vault yet, but releases of this name, or an
    anchor that knows of some, nothing is published unless --new-series says that it is another series.
    """
    console = Console(quiet=quiet)
    with console.progress():
        console.stage("starting")
        from reveil.series.config import load_config
        from reveil.series.publishing import publish_file

        console.announce_compilation()
        config = load_config(config_path).with_engine(engine)
        published = publish_file(
            config,
            data,
            out,
            columns=columns,
            where=where,
            dry_run=dry_run,
            again=again,
            new_series=new_series,
            stage=console.stage,
            done=interrupts.over,
        )
        release, manifest = published.release, published.release.manifest
        if dry_run and columns is None and where is None and manifest.engine is None:
            from reveil.analysis.measures import measure
            from reveil.cli.measure import table

            console.stage("measuring")
            measures = table(measure(data, release, config.schema))
        else:
            measures = ""
    if published.note is not None:
        console.say(f"note: {published.note}")
    if published.how == "already":
        what = "nothing would be published" if dry_run else f"{out} is the same file again"
        console.say(f"already release {manifest['release']}: {what} (--again publishes it anew)")
        return
    levels = ", ".join(f"{key} = {_level(value)}" for key, value in manifest.achieved.items())
    reached = f"; reached {levels}" if levels else ""
    done = "would publish" if dry_run else "published" if published.how == "published" else "finished"
    left_out = {"suppressed": manifest.suppressed, "withheld": manifest.withheld}
    left_out |= {"dirty": manifest.dirty, "counterfeits": manifest.counterfeits.total}
    sample = manifest.suppressed is None  # the number left out is kept secret, and so it is here
    shown = {what: count for what, count in left_out.items() if count or (what == "suppressed" and not sample)}
    more = "".join(f", {count:,} {what}" for what, count in shown.items())
    whole = "none is altered" if sample else "none is lost or altered"
    which = f"release {manifest['release']} as " if config.in_series else ""
    console.say(
        f"{done} {which}{out}: {manifest['rows']:,} rows in {manifest['groups']:,} groups{more}{reached}\n"
        f"verified from the file: every group is valid, every record is inside its box, {whole}"
    )
    if dry_run:
        if measures:
            click.echo(measures)
        console.say("nothing was published (--dry-run)")


def _level(value: object) -> str:
    """Say what was reached, column by column where there are several."""
    if isinstance(value, Mapping):
        return ", ".join(f"{level} ({column})" for column, level in value.items())
    return str(value)
