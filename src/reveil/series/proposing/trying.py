"""A quick run of a proposed config on some of the records: how wide cells become, and what is made up or held back.

Nothing is published and nothing remembered. More records make tighter groups, so that a sample shows the wide side.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reveil.analysis.measures import measure
from reveil.core.errors import RefusedError
from reveil.series.config import load_config
from reveil.series.series import Series
from reveil.tables.formats import read_file
from reveil.tables.snapshot.table import ColumnReader

if TYPE_CHECKING:
    from reveil.tables.profiling import Profile

TRIED = 4_000  # records; enough to see, and a second or two


@dataclass(frozen=True)
class Trial:
    """What a run on ``records`` of the records gave, of which ``whole`` says whether they were all.

    ``width`` is the mean width of cells, from 0 (exact) to 1 (anything); ``counterfeits`` and ``withheld`` are shares.
    ``refused``: why nothing could be published.
    """

    records: int
    whole: bool
    width: float | None = None
    groups: int = 0
    counterfeits: float = 0.0
    withheld: float = 0.0
    refused: str | None = None

    @property
    def in_words(self) -> str:
        """What was found, in a sentence."""
        of = f"all {self.records:,} records" if self.whole else f"{self.records:,} of the records"
        if self.refused is not None:
            return f"A quick run on {of} was refused: {self.refused}."
        width = "" if self.width is None else f"cells are {self.width:.0%} of their column wide on average, "
        more = "" if self.whole else " The whole table should do better."
        held = f", {self.withheld:.1%} held back" if self.withheld else ""
        made = f"{self.counterfeits:.1%} made-up rows{held}"
        return f"A quick run on {of}: {width}in {self.groups:,} groups, {made}.{more}"


def attempt(text: str, found: Profile) -> Trial:
    """Publish a sample as a config says, without telling anybody, and measure it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reveil.toml"
        path.write_text(text, encoding="utf-8")
        config = load_config(path)
        schema = config.schema
        table = read_file(found.path, null_values=schema.null_values, dialect=schema.input.dialect)
        frame, visits = table.frame, schema.input.visits
        people = frame[schema.person] if schema.person is not None else None
        if people is not None:
            kept = people.unique(maintain_order=True).drop_nulls()
            whole = len(kept) <= TRIED
            chosen = people.is_in((kept if whole else kept.sample(TRIED, seed=0)).implode()).fill_null(value=False)
            frame = frame.filter(chosen if visits is not None else chosen & people.is_first_distinct())
        else:
            whole = frame.height <= TRIED
            frame = frame if whole else frame.sample(TRIED, seed=0)
        if table.text_only:  # nothing raw is written, so the types are settled here as they are for a file
            reader = ColumnReader(schema, table.place, from_text=True)
            orders = () if visits is None else visits.orders
            frame = frame.with_columns(reader.column(cells, ordering=cells.name in orders) for cells in frame)
        records = frame.height if people is None else frame[str(schema.person)].n_unique()
        try:
            release = Series.of(config).publish(frame, dry_run=True)
        except RefusedError as error:
            return Trial(records, whole, refused=error.message)
        measures = measure(frame, release, config.schema)
    shares = measures.shares
    return Trial(
        records,
        whole,
        None if measures["gcp"] is None else float(measures["gcp"]),
        release.manifest.groups,
        shares["counterfeits"],
        shares["withheld"],
    )
