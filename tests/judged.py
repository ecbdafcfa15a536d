"""The judge beside a series that has no vault: every release is judged from its bytes and placements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reveil.verification import Promised
from reveil.verification.series import Replay
from reveil.verification.shown import Shown

if TYPE_CHECKING:
    from reveil.guarantees.assembly import Prepared
    from reveil.tables.snapshot import Snapshot
    from reveil.verification.record import Update


class Judged:
    """Judges the releases of one series; ``check`` says what is to be recorded, ``apply`` records it."""

    def __init__(self, guarantee) -> None:
        self.guarantee = guarantee
        self.replay = Replay(Promised.of_guarantee(guarantee))

    def shown(self, prepared: Prepared, numbers, number: int, snapshot: Snapshot | None = None) -> Shown:
        """Return a release as it is shown; ``numbers`` are those of the persons of the snapshot, record by record."""
        numbers = np.asarray(numbers, np.int64)
        dirty = prepared.draft.dirty
        strangers = np.zeros(0, np.int64) if dirty is None else np.asarray(dirty, np.int64)
        everybody = np.concatenate([numbers, strangers, [-1]])
        return Shown(
            prepared.release,
            number,
            everybody[prepared.placement],
            dirty=prepared.placement >= len(numbers),
            snapshot=snapshot,
            persons=numbers,
            witness=prepared.witness,
            population=getattr(self.guarantee, "population", None),
            schema=None if snapshot is None else snapshot.schema,
        )

    def check(self, shown: Shown) -> Update:
        """Judge a release beside those before it."""
        asked, record = self.replay.asked, self.replay.record
        for name in shown.sensitive:
            record.learn(name, shown.texts(name))
        return asked.judge.rule(shown, asked, record)

    def apply(self, update: Update) -> None:
        """Record a release."""
        self.replay.record.apply(update)
