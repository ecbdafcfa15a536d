"""Reports on a series: one page for people, and the same numbers as JSON beside it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reveil.core.errors import FileError
from reveil.releases.files import KeptFiles, file_target
from reveil.releases.placing import draft_folder, put_in_place
from reveil.reporting.gathering import gather
from reveil.reporting.holdings import Given, hold
from reveil.reporting.levels import AttackRequest
from reveil.reporting.owner_page import render_owner
from reveil.reporting.page import render
from reveil.series.config import Config, load_config
from reveil.series.published import silent
from reveil.tables.schema import Role
from reveil.vault.address import folders_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from reveil.core.json_values import JSON
    from reveil.series import Series

__all__ = ["json_beside", "owner_beside", "page_target", "render", "report"]

ENDINGS = (".html", ".htm")


def report(
    about: Config | Series | str | os.PathLike[str],
    releases: Sequence[Given] | None = None,
    truth: Sequence[object] | None = None,
    out: str | os.PathLike[str] | None = None,
    *,
    where: Sequence[str] = (),
    values_known: int = 1,
    sample: int | None = None,
    population_size: int | None = None,
    stage: Callable[[str], None] = silent,
) -> dict[str, Any]:
    """Report on a series: return the numbers and, with ``out``, write the page and the JSON beside it.

    ``about`` is a config, its path, or a series. What was published comes from the vault; ``releases`` names files (or
    releases) where there is none, or where the files have moved. ``truth`` are the snapshots, one for each release in
    order: with them risk, query error, trends and churn are measured. ``where`` are the expressions with which parts of
    a table were published: the vault recognises them and does not keep them. ``values_known`` is how many other
    sensitive values of a person are known to whom the chapter on known values is about. ``sample``: count everybody,
    and attack so many persons. ``population_size``: of how many people the tables are a sample. Files that cannot be
    found are named under ``missing``. The report is for the owner's eyes; it has no value of anybody in it. With
    snapshots a second page is written beside it, ``NAME.owner.html``, which has: how every column was distributed
    before and is after, and which records are the riskiest.
    """
    about = load_config(Path(about)) if isinstance(about, str | os.PathLike) else about
    kept = _kept(about, releases, truth)
    target = None if out is None else page_target(Path(out), kept)
    if target is not None:
        for path in (json_beside(target), *([owner_beside(target)] if truth else [])):
            file_target(path, kept)
    asked = AttackRequest(sample, population_size, values_known)
    content, owner = gather(hold(about, releases, truth, where), asked, stage=stage)
    if target is not None:
        stage("writing")
        with draft_folder(target) as folder:
            written = _written(folder / target.name, render(content), content)
            if owner is not None:
                written = _written(folder / owner_beside(target).name, render_owner(owner), owner) + written
            put_in_place(written, target.parent, [])
    return content


def _written(page: Path, text: str, content: Mapping[str, JSON]) -> list[Path]:
    """Write a page and its numbers beside it."""
    page.write_text(text, encoding="utf-8")
    numbers = json_beside(page)
    numbers.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return [numbers, page]


def owner_beside(page: Path) -> Path:
    """Return where the page for the owner alone is written."""
    return page.with_suffix(f".owner{page.suffix}")


def json_beside(page: Path) -> Path:
    """Return where the numbers of a page are written."""
    return page.with_suffix(".json")


def page_target(page: Path, kept: KeptFiles) -> Path:
    """Return where the page is to be written, checked before any work is done."""
    if page.suffix.lower() not in ENDINGS:
        raise FileError("a page is written as .html", file=page, hint="Choose this ending with -o.")
    return file_target(page, kept)


def _kept(about: Config | Series, *given: Sequence[object] | None) -> KeptFiles:
    """Return what is read, and the vault."""
    read = [Path(one) for each in given for one in each or () if isinstance(one, str | os.PathLike)]
    secret_paths = (about.vault_path, about.anchor_path) if isinstance(about, Config) else (about.vault, about.anchor)
    hidden = about.schema.names(Role.PERSON, Role.IDENTIFIER)
    return KeptFiles((*about.files, secret_paths[1], *read), folders_of(secret_paths[0]), hidden)
