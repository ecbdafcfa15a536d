"""What happened to each person since the last release: insert, unchanged, update, return; and who is gone."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.arrays import BoolArray, CodeArray


class Event(IntEnum):
    """What happened to the person of a record."""

    INSERT = 0  # never seen before
    UNCHANGED = 1
    UPDATE = 2  # another value in some column
    RETURN = 3  # seen before, but not in the last release


@dataclass(frozen=True)
class Events:
    """One event for each record. ``differs`` says per column whose value is another than when they were last seen."""

    kinds: npt.NDArray[np.int8] = field(repr=False)
    differs: Mapping[str, BoolArray] = field(repr=False)
    deleted: int

    def count(self, event: Event) -> int:
        """Return to how many persons this happened."""
        return int((self.kinds == event).sum())

    def counts(self) -> dict[str, int]:
        """Return the counts as a history shows them."""
        return {
            "persons": len(self.kinds),
            "inserted": self.count(Event.INSERT),
            "deleted": self.deleted,
            "updated": self.count(Event.UPDATE),
            "returned": self.count(Event.RETURN),
        }

    @property
    def stale(self) -> BoolArray:
        """Whose stored record is not what it is now: new and returning persons, and updates."""
        return np.asarray(self.kinds != Event.UNCHANGED, np.bool_)


def events(
    known: BoolArray, present: BoolArray, last: Mapping[str, CodeArray], now: Mapping[str, CodeArray], deleted: int
) -> Events:
    """Compare each record with the last one of its person.

    ``last`` and ``now`` are codes that last; -1 in ``last`` is a value that was never kept (a new column, a person of
    whom only a tombstone is left), which cannot differ.
    """
    differs = {name: known & (last[name] >= 0) & (last[name] != codes) for name, codes in now.items() if name in last}
    updated = np.zeros(len(known), np.bool_)
    for changed in differs.values():
        updated |= changed
    kinds = np.where(updated, np.int8(Event.UPDATE), np.int8(Event.UNCHANGED))
    kinds = np.where(known & ~present, np.int8(Event.RETURN), kinds)
    return Events(np.where(known, kinds, np.int8(Event.INSERT)), differs, deleted)
