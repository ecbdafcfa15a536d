"""``reveil demo``: a made-up hospital publishes a year of extracts twice, and an adversary holds the files."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import textwrap
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reveil.cli.console import Console, quiet_option

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from reveil.adversary import Audit
    from reveil.config import Config
    from reveil.release import Release

PATIENTS = 20_000
MONTHS = 12
SHOWN = 2
K, L, M = 10, 3, 4
SEED = "seed = 1  # so that the demo says the same everywhere; a real seed is a secret, and drawn where none is given"
NAIVE = f'kind = "static"\nk = {K}\nl = {L}\n'
SAFE = f'kind = "tau-safety"\nm = {M}\n'


@dataclass(frozen=True)
class Year:
    """A year of extracts, published in one way and attacked."""

    config: Config
    releases: list[Release]
    audit: Audit
    loss: float

    @property
    def counterfeits(self) -> int:
        """How many rows of all the releases are counterfeits."""
        return sum(release.manifest["counterfeits"]["total"] for release in self.releases)

    @property
    def rows(self) -> int:
        """How many rows were published."""
        return sum(release.manifest["rows"] for release in self.releases)


@click.command("demo")
@click.option("--out", default="demo", show_default=True, type=click.Path(), help="The folder to write to.")
@quiet_option
def command(out: str, quiet: bool) -> None:
    """Publish a made-up hospital's year twice, as every tool does and with Reveil, and attack both.

    Writes the raw extracts, the configs, the releases, what the attacks found and a page for the browser to a folder,
    so that every step can be tried again by hand.
    """
    console = Console(quiet=quiet)
    with console.progress():
        console.stage("starting")
        from reveil import hospital

        console.announce_compilation()
        folder = Path(out)
        configs = _configs(folder)
        console.stage("making up a hospital")
        raws = list(hospital.year(PATIENTS, months=MONTHS, seed=1))
        for month, raw in enumerate(raws, start=1):
            raw.write_csv(folder / "raw" / f"{month:02}.csv")
        with _same_everywhere(configs):
            naive, safe = (_year(path, raws, folder, console) for path in configs)
        lines = _story(raws, naive, safe)
        from reveil.cli.demo_page import write_page

        write_page(folder / "demo.html", lines, naive, safe)
    where = [
        f"In {folder}: demo.html, raw/, and naive/ and safe/ with a file and a manifest for each month and audit.json.",
        "Try it again:",
        f"  {_program()} audit {folder}/naive/*.csv -c {configs[0]} --truth {folder}/raw/*.csv",
        f"  {_program()} history -c {configs[1]} --check {folder / 'safe'}",
    ]
    click.echo("\n".join([*lines, "", *where]))


@contextmanager
def _same_everywhere(configs: Sequence[Path]) -> Iterator[None]:
    """Give the demo's vaults a key that everybody knows, so that it says the same everywhere. Never do that."""
    from reveil.vault.keys import KEY_FILE, VARIABLE
    from reveil.vault.private import write_private

    key, before = hashlib.sha256(b"the key of the demo").hexdigest(), os.environ.get(VARIABLE)
    os.environ[VARIABLE] = key
    try:
        yield
        for config in configs:
            write_private(config.with_suffix(".vault") / KEY_FILE, f"{key}\n".encode())
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def _configs(folder: Path) -> list[Path]:
    """Write the two configs; refuse a folder that holds something else, and clear away an earlier demo."""
    from reveil import hospital
    from reveil.errors import FileError

    made = []
    try:
        for name, guarantee in (("naive", NAIVE), ("safe", SAFE)):
            settings = hospital.config(guarantee, vault=f"{name}.vault").replace("[series]\n", f"[series]\n{SEED}\n", 1)
            path = folder / f"{name}.toml"
            if path.exists() and path.read_bytes() != settings.encode():
                raise FileError(
                    "this folder has a config that is not the demo's", file=path, hint="Choose another with --out."
                )
            made.append((path, settings, folder / f"{name}.vault"))
        for part in ("raw", "naive", "safe"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        for path, settings, vault in made:
            if path.exists() and vault.exists():
                shutil.rmtree(vault)  # made by an earlier demo, under the config that stands beside it
                for file in (folder / path.stem).iterdir():
                    file.unlink()
            path.write_text(settings, encoding="utf-8")
    except OSError:
        raise FileError("cannot write to this folder", file=folder, hint="Choose another with --out.") from None
    return [path for path, _, _ in made]


def _year(path: Path, raws: Sequence[pl.DataFrame], folder: Path, console: Console) -> Year:
    """Publish every month, and let the adversary compare the files."""
    from reveil.adversary import audit
    from reveil.cli.console import write_json
    from reveil.config import load_config
    from reveil.measures import measure
    from reveil.publishing import publish_file

    config = load_config(path)
    releases = []
    for month in range(1, len(raws) + 1):
        console.stage(f"publishing month {month}, {path.stem}")
        raw, out = folder / "raw" / f"{month:02}.csv", folder / path.stem / f"{month:02}.csv"
        releases.append(publish_file(config, raw, out).release)
    found = audit(
        releases,
        config.schema,
        truth=list(raws),
        known="events",
        stage=lambda what: console.stage(f"attacking {path.stem}: {what}"),
    )
    write_json(found.to_json(), str(folder / path.stem / "audit.json"))
    return Year(config, releases, found, measure(raws[-1], releases[-1], config.schema)["gcp"])


def _story(raws: Sequence[pl.DataFrame], naive: Year, safe: Year) -> list[str]:
    """Say what happened, on one screen."""
    quasi = ", ".join(naive.config.schema.quasi)
    broken, kept = naive.audit.summary, safe.audit.summary
    everybody, alone = broken["persons"], broken["baseline"]["last_release"]["certain"]
    highest = f"{kept['highest_proven']:g}, the bound {kept['bound']:g}"
    cells = f"a cell covers {safe.loss:.0%} of its column's range, not {naive.loss:.0%}"
    right = f"certain, and {broken['certain_and_right']:,} of them right"
    return [
        f"A hospital publishes an extract every month: {raws[0].height:,} patients at a time, {everybody:,} in a year,",
        f"who come, go, return and change. Others may know {quasi}",
        "of somebody, and when they were there; the diagnosis is nobody's business.",
        "",
        f"AS EVERY TOOL DOES IT: each month by itself, groups of at least {K} with at least {L} different diagnoses.",
        "",
        *_rows(naive.releases[-1].text.head(SHOWN)),
        "",
        f"The last file alone tells the diagnosis of {alone:,} patients. Whoever holds all twelve compares them and",
        f"reads off {broken['certain']:,} of {everybody:,}: {right}.",
        "",
        f"WITH REVEIL: tau-safety with m = {M}.",
        *textwrap.wrap(safe.releases[-1].manifest["claim"], 100),
        "",
        *_rows(safe.releases[-1].text.head(SHOWN)),
        "",
        f"The same attacks on all twelve: {kept['certain']:,} diagnoses read off; the highest belief is {highest}.",
        f"The price: {safe.counterfeits:,} counterfeits in {safe.rows:,} rows, and {cells}.",
        "Every file was checked from its bytes before it was confirmed.",
    ]


def _program() -> str:
    """Return how the reader can call this program from where they are."""
    return "reveil" if shutil.which("reveil") else os.path.relpath(sys.argv[0])


def _rows(frame: pl.DataFrame) -> list[str]:
    """Lay a few rows out in columns."""
    cells = [frame.columns, *([("" if v is None else str(v)) for v in row] for row in frame.rows())]
    widths = [min(max(len(row[i]) for row in cells), 24) for i in range(len(frame.columns))]
    return [
        "  " + "  ".join(_fit(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    ]


def _fit(cell: str, width: int) -> str:
    return cell.ljust(width) if len(cell) <= width else cell[: width - 1] + "…"
