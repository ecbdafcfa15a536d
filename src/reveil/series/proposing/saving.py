"""Puts a proposed config in place: what nothing could be published with is refused, and so is half a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reveil.core.errors import DataError
from reveil.releases.files import KeptFiles, write_file
from reveil.releases.placing import draft_folder
from reveil.series.config import load_config
from reveil.tables.schema import Role

if TYPE_CHECKING:
    from pathlib import Path

    from reveil.tables.profiling import Profile


def check_publishable(found: Profile) -> None:
    """Refuse a table of which nothing could be published, before anything is written."""
    if not found.names(Role.QUASI):
        raise DataError(
            "no column of this table looks like something that others may know of a person",
            file=found.path,
            hint="People are hidden among others by such columns (age, place, dates); at least one is needed.",
        )


def save_config(target: Path, data: Path, text: str) -> None:
    """Put the config in place at once, after it was read back: no half of it, and none that does not load."""
    with draft_folder(target) as folder:
        draft = folder / target.name
        write_file(draft, text.encode(), KeptFiles())
        load_config(draft)
    write_file(target, text.encode(), KeptFiles((data,)), config=True)
