"""The first page: the series of the folder, its tables, and the place to drop a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from reveil.releases.files import digest_at, format_at, tables_of
from reveil.releases.manifest_files import MANIFEST, manifest_at, manifest_path, read_manifest
from reveil.studio.problems import Problem, StudioError, not_here
from reveil.studio.responses import download
from reveil.studio.tasks.beginning import InitTask
from reveil.tables.formats import in_words, readable

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.responses import Response

    from reveil.studio.visiting import Visit

_SECOND = re.compile(r"\.sensitive(\.[^.]+)?\.[^.]+$")
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
    size = sent.stat().st_size
    kept = visit.studio.folder.take(sent, name)
    visit.studio.log.add(visit.session.who, "receive", file=kept, bytes=size)
    return visit.begin_and_go(InitTask, {"data": kept, "look": True})


def fetch(visit: Visit) -> Response:
    """Send a release, its second table or its manifest; nothing else of the folder leaves by this way."""
    path = visit.studio.folder.existing(visit.query.get("path", ""))
    if not _is_public(path):
        raise not_here("Only releases and their manifests can be fetched.")
    return download(path, path.name)


def _is_public(path: Path) -> bool:
    if path.name.endswith(MANIFEST):
        return manifest_at(path) is not None
    first = path.with_name(_SECOND.sub(path.suffix, path.name))
    if not manifest_path(first).is_file():
        return False
    manifest = read_manifest(first)
    if path not in tables_of(first, manifest) or not first.is_file():
        return False
    known = manifest.digests or {}
    # By its bytes: a raw table may have the name of a release, and a release may have been written over.
    return digest_at(first, manifest) == known.get(format_at(first), manifest.digest)
