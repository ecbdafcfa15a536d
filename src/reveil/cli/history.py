"""``reveil history``: what was published, and is the vault up to date?"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reveil.core.json_values import JSON

import sys

import click

from reveil.cli.console import Console, config_option, json_option, json_target, write_json

_COLUMNS = {
    "release": "release",
    "created": "created",
    "state": "state",
    "persons": "persons",
    "inserted": "new",
    "deleted": "gone",
    "updated": "changed",
    "returned": "back",
    "counterfeits": "counterfeits",
    "withheld": "withheld",
    "dirty": "dirty",
    "digest": "digest",
}

_BUDGET = {
    "value": "value",
    "persons": "persons",
    "used_up": "used up",
    "least_left": "least left",
    "average_left": "average left",
    "quarters": "left: up to 1/4, 1/2, 3/4, all",
    "links_left": "links left",
    "releases_left": "releases left",
}


@click.command("history")
@config_option
@json_option
@click.option("--abandon", type=int, metavar="N", help="Give the pending release N up; it stays told.")
@click.option("--budget", is_flag=True, help="Show what is left of whose budget, for which values, and for how long.")
@click.option("--check", "folder", type=click.Path(), metavar="DIR", help="Compare the files in DIR with the vault.")
def command(config_path: str, json_path: str | None, abandon: int | None, budget: bool, folder: str | None) -> None:
    """Show the releases of the series, from its vault.

    With --check, the manifests in DIR and below are compared with the vault: a vault that was restored from an old
    backup does not know all of them, and releases of another series of this name are named. Exit code 1 then, and if
    the anchor of the vault knows of something that the vault does not.

    With --budget (kind = "global"): for each value, how many persons were linked with it, how many of them can be no
    more, how much the others have left, and for how many releases that lasts at least at the pace so far. It names
    sensitive values, and is for the owner's eyes. --json then writes these rows.
    """
    from reveil.series import Series
    from reveil.series.config import load_config

    config = load_config(config_path)
    kept = json_target(json_path, config=config)
    series = Series.of(config)
    console = Console()
    if abandon is not None:
        series.abandon(abandon)
        console.say(f"release {abandon} is abandoned, and counts as told: its file may have left the building")
        for note in series.notes:
            console.say(f"note: {note}")
    if budget:
        left = series.budget()
        if json_path is not None:
            write_json(left, json_path, kept)
        if json_path != "-":
            click.echo(_table(left, _BUDGET) if left else "nobody was linked with anything yet")
        return
    rows = series.history()
    if json_path is not None:
        write_json(rows, json_path, kept)
    if json_path != "-":
        click.echo(_table(rows, _COLUMNS) if rows else f"nothing was published yet with the vault {series.vault}")
    lacking = series.standing()
    if lacking is not None:
        console.say(
            f"the anchor {series.anchor} knows of {lacking} that this vault does not know: restore the latest, or "
            "adopt what is missing; nothing is published before"
        )
    wrong = [] if folder is None else series.check(folder)
    for line in wrong:
        console.say(line)
    if wrong or lacking is not None:
        sys.exit(1)
    if folder is not None:
        console.say(f"all releases of this series in {folder} are those that the vault knows")


def _table(rows: list[dict[str, JSON]], columns: dict[str, str]) -> str:
    """Lay rows out in columns."""
    cells = [list(columns.values()), *([_cell(key, row.get(key)) for key in columns] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells
    )


def _cell(key: str, value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return " ".join(f"{part:,}" for part in value)
    text = f"{value:,}" if isinstance(value, int) else f"{value:.3f}" if isinstance(value, float) else str(value)
    return text.removeprefix("sha256:")[:12] if key == "digest" else text
