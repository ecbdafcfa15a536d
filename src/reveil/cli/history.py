"""``reveil history``: what was published, and is the vault up to date?"""

from __future__ import annotations

import sys

import click

from reveil.cli.console import Console, config_option, json_option, write_json

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
    "digest": "digest",
}


@click.command("history")
@config_option
@json_option
@click.option("--abandon", type=int, metavar="N", help="Give the pending release N up; it stays told.")
@click.option("--check", "folder", type=click.Path(), metavar="DIR", help="Compare the files in DIR with the vault.")
def command(config_path: str, json_path: str | None, abandon: int | None, folder: str | None) -> None:
    """Show the releases of the series, from its vault.

    With --check, the manifests in DIR are compared with the vault: a vault that was restored from an old backup does
    not know all of them. Exit code 1 then.
    """
    from reveil.series import Series

    series = Series.load(config_path)
    console = Console()
    if abandon is not None:
        series.abandon(abandon)
        console.say(f"release {abandon} is abandoned, and counts as told: its file may have left the building")
    rows = series.history()
    if json_path is not None:
        write_json(rows, json_path)
    if json_path != "-":
        click.echo(_table(rows) if rows else f"nothing was published yet with the vault {series.vault}")
    if folder is not None:
        wrong = series.check(folder)
        for line in wrong:
            console.say(line)
        if wrong:
            sys.exit(1)
        console.say(f"all releases of this series in {folder} are those that the vault knows")


def _table(rows: list[dict[str, object]]) -> str:
    """Lay the releases out in columns."""
    cells = [list(_COLUMNS.values()), *([_cell(key, row.get(key)) for key in _COLUMNS] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(_COLUMNS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells
    )


def _cell(key: str, value: object) -> str:
    if value is None:
        return "-"
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return text.removeprefix("sha256:")[:12] if key == "digest" else text
