"""Reports on a series: one page for people, and the same numbers as JSON beside it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reveil.errors import FileError
from reveil.files import draft_folder, put_in_place
from reveil.reporting.gathering import gather
from reveil.reporting.holdings import Given, hold
from reveil.reporting.page import render
from reveil.series.published import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reveil.config import Config
    from reveil.series import Series

__all__ = ["json_beside", "render", "report"]

ENDINGS = (".html", ".htm")


def report(
    about: Config | Series | str | os.PathLike[str],
    releases: Sequence[Given] | None = None,
    truth: Sequence[Any] | None = None,
    out: str | os.PathLike[str] | None = None,
    *,
    where: Sequence[str] = (),
    stage: Callable[[str], None] = silent,
) -> dict[str, Any]:
    """Report on a series: return the numbers and, with ``out``, write the page and the JSON beside it.

    ``about`` is a config, its path, or a series. What was published comes from the vault; ``releases`` names files (or
    releases) where there is none, or where the files have moved. ``truth`` are the snapshots, one for each release in
    order: with them risk, query error, trends and churn are measured. ``where`` are the expressions with which parts of
    a table were published: the vault recognises them and does not keep them. Files that cannot be found are named under
    ``missing``. The report is for the owner's eyes; it has no value of anybody in it.
    """
    target = None if out is None else _target(Path(out), _inputs(about, releases, truth))
    content = gather(hold(about, releases, truth, where), stage=stage)
    if target is not None:
        stage("writing")
        with draft_folder(target) as folder:
            page, numbers = folder / target.name, folder / json_beside(target).name
            page.write_text(render(content), encoding="utf-8")
            numbers.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
            put_in_place([numbers, page], target.parent, [])
    return content


def json_beside(page: Path) -> Path:
    """Return where the numbers of a page are written."""
    return page.with_suffix(".json")


def _target(page: Path, inputs: list[Path]) -> Path:
    """Return where the page is to be written, checked before any work is done."""
    if page.suffix.lower() not in ENDINGS:
        raise FileError("a report is written as .html", file=page, hint="Choose this ending with -o.")
    parts = (page, json_beside(page))
    if not page.parent.is_dir() or any(path.is_dir() for path in parts) or not os.access(page.parent, os.W_OK):
        raise FileError(
            "cannot write here", file=page, hint="The folder must exist and be writable, and the name be no folder."
        )
    for path in parts:
        if path.exists() and any(given.exists() and path.samefile(given) for given in inputs):
            raise FileError("this would replace a file that is read", file=path, hint="Choose another name with -o.")
    return page


def _inputs(*given: Any) -> list[Path]:
    """Return the files among what is read."""
    listed = [one for each in given for one in (each if isinstance(each, list | tuple) else [each])]
    named = [path for one in listed for path in getattr(one, "files", ()) if isinstance(path, Path)]
    return named + [Path(one) for one in listed if isinstance(one, str | os.PathLike)]
