"""What the vaults of the folder's series say, read once and kept until they change.

A vault can be opened by one process at a time, so that a page never opens one in which a job is at work: it then shows
what was known before, and says so.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from reveil.core.errors import ReveilError
from reveil.series import Series
from reveil.series.config import Config, load_config
from reveil.studio.problems import Problem, problem_of
from reveil.tables.schema import Role

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON
    from reveil.studio.folder import FoundSeries, StudioFolder
    from reveil.studio.jobs import JobBoard

Stamp = tuple[object, ...]
_PATIENCE = 0.4  # seconds that a page waits for a vault


@dataclass(frozen=True)
class SeriesState:
    """A series as a page shows it. ``busy``: a job is at work in its vault; ``problem``: it cannot be opened."""

    found: FoundSeries
    releases: tuple[Mapping[str, JSON], ...] = ()
    columns: Mapping[str, tuple[str, ...]] | None = None
    promise: str = ""
    plain: tuple[str, ...] = ()
    in_series: bool = True
    budgeted: bool = False
    busy: bool = False
    problem: Problem | None = None

    @property
    def next_release(self) -> int:
        """The number that the next release has; a pending one is finished first."""
        if not self.releases:
            return 1
        last = self.releases[-1]
        number = last["release"]
        return (number if isinstance(number, int) else 0) + (0 if last["state"] == "pending" else 1)

    @property
    def pending(self) -> Mapping[str, JSON] | None:
        """The release that was begun and is neither out nor given up."""
        return self.releases[-1] if self.releases and self.releases[-1]["state"] == "pending" else None


class Histories:
    """The series of a folder with what their vaults say."""

    def __init__(self, folder: StudioFolder, board: JobBoard) -> None:
        self.folder, self.board = folder, board
        self._known: dict[str, tuple[Stamp, SeriesState]] = {}
        self._lock = threading.Lock()

    def get(self, found: FoundSeries, *, patience: float = _PATIENCE) -> SeriesState:
        """Return the state of a series, from the vault where it has changed."""
        path = self.folder.root / found.path
        try:
            config = load_config(path)
        except ReveilError as error:
            return SeriesState(found, problem=problem_of(error, self.folder.root))
        stamp = _stamp(config)
        known = self._known.get(found.path)
        if known is not None and known[0] == stamp:
            return replace(known[1], found=found, busy=self.board.is_busy(found.path))
        with self.board.reading(found.path, patience) as free:
            if not free:
                before = known[1] if known is not None else _described(found, config)
                return replace(before, found=found, busy=True)
            try:
                state = replace(_described(found, config), releases=tuple(Series.of(config).history()))
            except ReveilError as error:
                return replace(_described(found, config), problem=problem_of(error, self.folder.root))
        with self._lock:
            self._known[found.path] = (_stamp(config), state)  # opening a vault may touch its files
        return state


def _described(found: FoundSeries, config: Config) -> SeriesState:
    from reveil.guarantees.base import Budgeted

    schema, guarantee = config.schema, config.guarantee
    promise = guarantee.promise(schema, config.method)
    return SeriesState(
        found,
        columns={role.value: schema.names(role) for role in Role},
        promise=promise.claim,
        plain=tuple(guarantee.explained.in_plain_words(promise.bound, guarantee.traits.settings)),
        in_series=config.in_series,
        budgeted=isinstance(guarantee, Budgeted),
    )


def _stamp(config: Config) -> Stamp:
    """Return what changes when the config or the vault does; what lies on a server is looked at every few seconds."""
    vault = config.vault_path
    if not isinstance(vault, Path):
        return (config.path.stat().st_mtime_ns, int(time.time()) // 3)
    files = sorted(vault.iterdir()) if vault.is_dir() else []
    return (config.path.stat().st_mtime_ns, *((one.name, one.stat().st_mtime_ns, one.stat().st_size) for one in files))
