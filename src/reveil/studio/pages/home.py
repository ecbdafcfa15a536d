"""The first page: the series of the folder, its tables, and the place to drop a file."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from reveil.releases.files import batch_path
from reveil.releases.manifest_files import manifest_path
from reveil.studio.problems import Problem, StudioError, not_here
from reveil.studio.responses import download
from reveil.studio.tasks.beginning import InitTask
from reveil.tables.formats import in_words, readable

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.responses import Response

    from reveil.studio.visiting import Visit

_PATIENCE = 0.1  # seconds for each vault: the first page is there at once


def home(visit: Visit) -> Response:
    """Show the folder."""
    found = visit.studio.folder.series()
    states = [visit.studio.histories.get(one, patience=_PATIENCE) for one in found]
    tables = visit.studio.folder.tables()
    running = [job for job in visit.studio.board.listed() if not job.over]
    return visit.page(
        "home.html.j2",
        title="Series in this folder",
        here="home",
        states=states,
        tables=[one for one in tables if not one.is_release],
        releases=[one for one in tables if one.is_release],
        running=running,
        accepted=",".join(sorted(readable())),
        formats=in_words(readable()),
    )


def receive(visit: Visit) -> Response:
    """Put a table that was sent into the folder, and look at it."""
    if not visit.form.files:
        raise StudioError(Problem(400, "No file came with this form.", None, "Choose a table, then send it."))
    name, sent = visit.form.files[0]
    kept = visit.studio.folder.free_name(name)
    target = visit.studio.folder.root / kept
    shutil.move(sent, target)
    visit.studio.log.add(visit.session.who, "receive", file=kept, bytes=target.stat().st_size)
    return visit.begin_and_go(InitTask, {"data": kept, "look": True})


def fetch(visit: Visit) -> Response:
    """Send a release, its second table or its manifest; nothing else of the folder leaves by this way."""
    path = visit.studio.folder.existing(visit.query.get("path", ""))
    if not _is_public(path):
        raise not_here("Only releases and their manifests can be fetched.")
    return download(path, path.name)


def _is_public(path: Path) -> bool:
    if path.name.endswith(".manifest.json"):
        return True
    stem = path.name.replace(".sensitive", "")
    first = path.with_name(stem)
    return manifest_path(first).is_file() and (path == first or path == batch_path(first))
