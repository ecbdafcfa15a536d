"""The stories of the demo: one hospital, published in several ways, each attacked with all its files in hand.

Stories share nothing but the raw extracts, so each can be told in a process of its own.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveil.releases.release import Release
    from reveil.series.config import Config

PATIENTS = 20_000
MONTHS = 12
SHOWN = 2
QUERIES = 200
K, L, M = 10, 3, 4
SEED = "seed = 1  # so that the demo says the same everywhere; a real seed is a secret, and drawn where none is given"
EVERY_MONTH = tuple((f"{month:02}", month, None) for month in range(1, MONTHS + 1))
EVERY_SEASON = tuple((f"{month:02}", month, None) for month in (1, 3, 6, 9, 12))  # one more than a budget of four
EVERY_QUARTER = tuple((f"q{month // 3}", month, None) for month in range(3, MONTHS + 1, 3))
RECIPIENTS = tuple(
    (name, 1, columns)
    for name, columns in (
        ("insurer", ("age", "sex", "diagnosis")),
        ("region", ("town", "ward", "diagnosis")),
        ("economist", ("income", "admitted", "diagnosis")),
        ("ministry", ("age", "ward", "admitted", "diagnosis")),
    )
)


@dataclass(frozen=True)
class Story:
    """One way to publish: a guarantee, what is released (file, month, columns), and what the attacker knows."""

    name: str
    title: str
    guarantee: str
    releases: tuple[tuple[str, int, tuple[str, ...] | None], ...]
    known: str
    naive: bool = False

    def config(self) -> str:
        """Return the text of the story's reveil.toml."""
        from reveil.testing import hospital

        text = hospital.config(self.guarantee, vault=f"{self.name}.vault")
        return text.replace("[series]\n", f"[series]\n{SEED}\n", 1)


STATIC = f'kind = "static"\nk = {K}\nl = {L}\n'
STORIES = (
    Story("naive", f"each month by itself, k = {K}, l = {L}", STATIC, EVERY_MONTH, "events", naive=True),
    Story("tau-safety", f"tau-safety, m = {M}", f'kind = "tau-safety"\nm = {M}\n', EVERY_MONTH, "events"),
    Story(
        "quick",
        "the same with effort = quick, as before",
        f'kind = "tau-safety"\nm = {M}\neffort = "quick"\n',
        EVERY_QUARTER,
        "events",
    ),
    Story("m-invariance", f"m-invariance, m = {M}", f'kind = "m-invariance"\nm = {M}\n', EVERY_QUARTER, "events"),
    Story(
        "refinement",
        f"refinement, k = {K}, l = {L}",
        f'kind = "refinement"\nk = {K}\nl = {L}\n',
        EVERY_QUARTER,
        "presence",
    ),
    Story(
        "global",
        "global guarantee, l = 2",
        'kind = "global"\nl = 2\nstrategy = "constant-ratio"\nreleases = 4\n',
        EVERY_SEASON,
        "presence",
    ),
    Story("apart", f"each file by itself, k = {K}, l = {L}", STATIC, RECIPIENTS, "presence", naive=True),
    Story("worlds", f"possible worlds, l = {M}", f'kind = "worlds"\nl = {M}\n', RECIPIENTS, "presence"),
)


@dataclass(frozen=True)
class Outcome:
    """What came of a story: what the attacks found, what it cost, and a few published rows."""

    name: str
    summary: dict[str, Any]
    claim: str
    assumes: list[str]
    rows: int
    counterfeits: int
    withheld: int
    dirty: int
    loss: float
    error: float | None  # of counts with a diagnosis, on average
    header: list[str]
    sample: list[list[str]]
    held: list[tuple[int, int]]  # with how many files in hand, how many diagnoses can be read off

    @property
    def certain(self) -> int:
        """How many diagnoses can be read off."""
        return int(self.summary["certain"])

    @property
    def people(self) -> int:
        """How many people are in the files."""
        return int(self.summary["persons"])


def tell(name: str, out: str) -> Outcome:
    """Publish a story's releases, attack them with all in hand, and measure the last one."""
    from reveil.adversary import audit
    from reveil.adversary.over_time import audit_over_time
    from reveil.analysis.measures import measure
    from reveil.cli.console import json_target, write_json
    from reveil.series.config import load_config

    story, folder = next(told_story for told_story in STORIES if told_story.name == name), Path(out)
    config = load_config(folder / f"{name}.toml")
    with _same_everywhere(folder / f"{name}.vault"):
        releases = [_published(config, folder, name, *given) for given in story.releases]
    truth = [folder / "raw" / f"{month:02}.csv" for _, month, _ in story.releases]
    if story.naive and len(releases) > len(RECIPIENTS):
        on = audit_over_time(releases, config.schema, truth, story.known, steps=4)
        found, held = on.audit, [(step.releases, step.audit.summary["certain"]) for step in on.steps["diagnosis"]]
    else:
        found = audit(releases, config.schema, truth=truth, known=story.known)
        held = [(len(releases), found.summary["certain"])]
    write_json(found.to_json(), str(folder / name / "audit.json"), json_target(None))
    last = releases[-1]
    text = last.text.head(SHOWN)
    manifests = [release.manifest for release in releases]
    lost = measure(truth[-1], last, config.schema, queries=QUERIES)
    return Outcome(
        name,
        found.summary,
        last.manifest.promise.claim,
        list(last.manifest.promise.assumes),
        rows=sum(manifest.rows for manifest in manifests),
        counterfeits=sum(manifest.counterfeits.total for manifest in manifests),
        withheld=last.manifest.withheld,
        dirty=sum(manifest.dirty for manifest in manifests),
        loss=lost["gcp"],
        error=(lost["query_error_sensitive"] or {}).get("mean"),
        header=text.columns,
        sample=[["" if cell is None else str(cell) for cell in row] for row in text.rows()],
        held=held,
    )


def _published(
    config: Config, folder: Path, name: str, file: str, month: int, columns: tuple[str, ...] | None
) -> Release:
    from reveil.series.publishing import publish_file

    raw, out = folder / "raw" / f"{month:02}.csv", folder / name / f"{file}.csv"
    # Several series about the same people lie side by side here, which only a demonstration does.
    return publish_file(config, raw, out, columns=columns, new_series=not config.vault_path.exists()).release


@contextmanager
def _same_everywhere(vault: Path) -> Iterator[None]:
    """Give a vault of the demo a key that everybody knows, so that it says the same everywhere. Never do that."""
    from reveil.vault.keys import KEY_FILE, VARIABLE
    from reveil.vault.private import write_private

    key, before = hashlib.sha256(b"the key of the demo").hexdigest(), os.environ.get(VARIABLE)
    os.environ[VARIABLE] = key
    try:
        yield
        write_private(vault / KEY_FILE, f"{key}\n".encode())
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def prepare(folder: Path) -> None:
    """Write the configs; refuse a folder that holds something else, and clear away an earlier demo."""
    from reveil.core.errors import FileError
    from reveil.releases.files import KeptFiles, write_file

    settings = {folder / f"{story.name}.toml": story.config() for story in STORIES}
    try:
        for path, text in settings.items():
            if path.exists() and path.read_bytes() != text.encode():
                raise FileError(
                    "this folder has a config that is not the demo's", file=path, hint="Choose another with --out."
                )
        (folder / "raw").mkdir(parents=True, exist_ok=True)
        for path, text in settings.items():
            vault, releases = path.with_suffix(".vault"), folder / path.stem
            if path.exists() and vault.exists():
                shutil.rmtree(vault)  # made by an earlier demo, under the config that stands beside it
                shutil.rmtree(releases, ignore_errors=True)
                path.with_suffix(".anchor").unlink(missing_ok=True)
            releases.mkdir(exist_ok=True)
            write_file(path, text.encode(), KeptFiles(), config=True)
    except OSError:
        raise FileError("cannot write to this folder", file=folder, hint="Choose another with --out.") from None
