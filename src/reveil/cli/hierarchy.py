"""``reveil hierarchy``: broader terms for the values of a column, without an editor."""

from __future__ import annotations

from pathlib import Path

import click

from reveil.cli.console import Console, quiet_option
from reveil.tables.formats import in_words, readable


@click.command("hierarchy", epilog=f"Tables are {in_words(readable())} files.")
@click.argument("data", type=click.Path())
@click.argument("column")
@click.option("-o", "--out", required=True, type=click.Path(), help="The hierarchy to write; ARX reads it too.")
@click.option(
    "-c", "--config", "config_path", type=click.Path(), help="The config: how the table is read, and its roles."
)
@click.option("--dates", metavar="LEVELS", help="Group dates by some of day,month,quarter,year.")
@click.option("--prefix", metavar="LENGTHS", help="Group codes by their first characters: 3,2,1.")
@click.option("--bins", metavar="WIDTHS", help="Group numbers in nested bins: 5,10,20. With --order: sizes of runs.")
@click.option(
    "--order",
    "order_path",
    metavar="FILE",
    type=click.Path(),
    help="Group the values of this order, least first, one on each line.",
)
@click.option(
    "--cluster",
    type=click.IntRange(min=2),
    metavar="N",
    help="Make N groups of values that look alike in the other quasi columns.",
)
@quiet_option
def command(
    data: str,
    column: str,
    out: str,
    config_path: str | None,
    dates: str | None,
    prefix: str | None,
    bins: str | None,
    order_path: str | None,
    cluster: int | None,
    quiet: bool,
) -> None:
    """Make a hierarchy of the values of COLUMN in the table DATA, and show it as a tree.

    Dates by period, codes by prefix (ICD, ZIP, NACE), numbers in bins at round boundaries, values of an order in runs
    of neighbours, categories by what is published with them: never by the sensitive column, so --cluster needs the
    roles of a config. Name the file in the config: { role = "quasi", hierarchy = "FILE" }.
    """
    console = Console(quiet=quiet)
    with console.progress():
        console.stage("reading")
        from reveil.releases.files import KeptFiles, file_target, write_file
        from reveil.tables.hierarchy_requests import HierarchyRequest
        from reveil.tables.making_hierarchies import hierarchy_text, tree_lines

        request = HierarchyRequest(data, column, config_path, dates, prefix, bins, order_path, cluster)
        console.announce_compilation()
        kept = KeptFiles(tuple(Path(one) for one in (data, config_path, order_path) if one is not None))
        target = file_target(out, kept)
        made = request.made(str(target))
        write_file(target, hierarchy_text(made.paths).encode(), kept)
    if made.show:
        for line in tree_lines(made.taxonomy):
            click.echo("".join(ch if ch.isprintable() else "\N{REPLACEMENT CHARACTER}" for ch in line))
    console.say(f"wrote {out}: {len(made.taxonomy.leaves):,} values, {made.taxonomy.depth} levels above them")
    if cluster is not None:
        console.say("manifests will tell it; where its values are no public list, add tell = false to the column")
