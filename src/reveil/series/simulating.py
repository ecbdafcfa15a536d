"""A series that is published again with other values: what somebody can do who knows the program and its settings."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from reveil.core.errors import ReveilError
from reveil.series.series import Series
from reveil.tables.snapshot import canonical_text, read_snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.base import Guarantee
    from reveil.releases.release import Release
    from reveil.series.config import Config
    from reveil.tables.schema import Schema


@dataclass(frozen=True)
class SimulatedSeries:
    """Publishes the snapshots with other values of their sensitive column, into a vault that is thrown away.

    Settings are those of a config; a series that began under older defaults may have published otherwise.
    """

    schema: Schema
    guarantee: Guarantee
    method: Grouper | None
    frames: tuple[pl.DataFrame, ...] = field(repr=False)

    @classmethod
    def of(cls, config: Config, snapshots: Sequence[object]) -> SimulatedSeries:
        """Read the snapshots of a series."""
        frames = tuple(read_snapshot(source, config.schema).frame for source in snapshots)
        return cls(config.schema, config.guarantee, config.method, frames)

    def __call__(self, history: Sequence[dict[str, str | None]], seed: int) -> list[Release] | None:
        """Publish; None where the publisher refuses, or where a value does not fit the column."""
        column, person = self.schema.sensitive[0], self.schema.person
        try:
            with tempfile.TemporaryDirectory() as folder:
                vault = Path(folder) / "simulated.vault"
                series = Series.open(vault, self.schema, self.guarantee, self.method, seed=seed)
                return [
                    series.publish(self._changed(frame, column, person, values), again=True)
                    for frame, values in zip(self.frames, history, strict=True)
                ]
        except (ReveilError, pl.exceptions.PolarsError):
            return None

    def _changed(
        self, frame: pl.DataFrame, column: str, person: str | None, values: dict[str, str | None]
    ) -> pl.DataFrame:
        """Give everybody the value that the history has for them; people are called by rows where no column does."""
        names = (
            canonical_text(frame[person])
            if person is not None
            else pl.Series(range(1, frame.height + 1)).cast(pl.String)
        )
        texts = pl.Series(column, [values.get(name) for name in names.to_list()], dtype=pl.String)
        known = pl.concat([frame[column] for frame in self.frames]).unique()
        typed = pl.DataFrame({"text": canonical_text(known), "typed": known})
        found = pl.DataFrame({"text": texts}).join(
            typed, on="text", how="left", maintain_order="left", nulls_equal=True
        )
        strange = found["typed"].is_null() & texts.is_not_null()
        cells = found["typed"]
        if strange.any():  # a value that a counterfeit has, and no snapshot
            cells = pl.select(pl.when(strange).then(texts.cast(known.dtype)).otherwise(cells)).to_series()
        return frame.with_columns(cells.alias(column))
