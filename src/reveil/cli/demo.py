"""``reveil demo``: a made-up hospital publishes a table, and one screen says what happened."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reveil.cli.console import Console, quiet_option

if TYPE_CHECKING:
    import polars as pl

PATIENTS = 20_000
SHOWN = 3
SEED = "seed = 1  # so that the demo says the same everywhere; a real seed is a secret, and drawn where none is given"
QUESTION = "age in [30, 40] and sex = f"


@click.command("demo")
@click.option("--out", default="demo", show_default=True, type=click.Path(), help="The folder to write to.")
@quiet_option
def command(out: str, quiet: bool) -> None:
    """Publish a made-up hospital's table and see what comes out.

    Writes the raw extract, the config, the release and its manifest to a folder, so that every step can be tried
    again by hand.
    """
    console = Console(quiet=quiet)
    with console.progress():
        console.stage("starting")
        import polars as pl

        from reveil import hospital
        from reveil.config import load_config
        from reveil.errors import FileError
        from reveil.expressions import matches
        from reveil.measures import measure
        from reveil.publishing import publish_file, verify_file

        console.announce_compilation()
        folder = Path(out)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            raise FileError("cannot make this folder", file=folder, hint="Choose another with --out.") from None
        console.stage("making up a hospital")
        raw_path, config_path, release_path = (
            folder / name for name in ("january.csv", "reveil.toml", "published.csv")
        )
        settings = hospital.config().replace("[series]\n", f"[series]\n{SEED}\n", 1)
        if config_path.exists() and config_path.read_bytes() != settings.encode():
            raise FileError(
                "this folder has a config that is not the demo's", file=config_path, hint="Choose another with --out."
            )
        config_path.write_text(settings, encoding="utf-8")
        raw = hospital.month(PATIENTS, seed=1)
        raw.write_csv(raw_path)
        config = load_config(config_path)
        release = publish_file(config, raw_path, release_path, stage=console.stage).release
        verify_file(config, release_path, raw_path, stage=console.stage)
        count = release.count(QUESTION, config.schema)
        truth = int(matches(QUESTION, raw, config.schema).sum())
        console.stage("measuring")
        loss = measure(raw, release, config.schema)["gcp"]

    quasi = list(config.schema.quasi)
    unique = raw.group_by(quasi).len().filter(pl.col("len") == 1).height
    sizes = release.text.group_by(quasi).len()["len"]
    manifest = release.manifest
    lines = [
        f"A hospital's extract of January: {raw.height:,} patients. Others may know {', '.join(quasi)} of",
        f"somebody; the diagnosis is nobody's business. Names are left out, and still {unique:,} of {raw.height:,}",
        "patients are the only one with their combination: who knows it reads their diagnosis.",
        "",
        *_rows(raw.select(release.columns).head(SHOWN)),
        "",
        "Published with Reveil:",
        "",
        *_rows(release.text.head(SHOWN)),
        "",
        f"{manifest['rows']:,} rows in {manifest['groups']:,} groups of {sizes.min()!s} to {sizes.max()!s} patients.",
        manifest["claim"],
        "Checked from the written file by code that shares nothing with the publisher: every group is valid,",
        "every patient is inside their box, none is lost or altered.",
        "",
        f"It can still be asked. {QUESTION}: estimated {count.estimate:,.0f}, certainly between",
        f"{count.lower:,} and {count.upper:,}; the truth is {truth:,}. A cell covers {loss:.0%} of its column's range.",
        "",
        f"In {folder}: january.csv (raw), reveil.toml, published.csv, published.manifest.json. Try it again:",
        f"  {_program()} publish {raw_path} -c {config_path} -o {folder / 'again.csv'}",
    ]
    click.echo("\n".join(lines))


def _program() -> str:
    """Return how the reader can call this program from where they are."""
    return "reveil" if shutil.which("reveil") else os.path.relpath(sys.argv[0])


def _rows(frame: pl.DataFrame) -> list[str]:
    """Lay a few rows out in columns."""
    cells = [frame.columns, *([("" if v is None else str(v)) for v in row] for row in frame.rows())]
    widths = [min(max(len(row[i]) for row in cells), 26) for i in range(len(frame.columns))]
    return [
        "  " + "  ".join(_fit(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    ]


def _fit(cell: str, width: int) -> str:
    return cell.ljust(width) if len(cell) <= width else cell[: width - 1] + "…"
