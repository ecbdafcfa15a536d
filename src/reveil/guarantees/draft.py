"""What a guarantee is asked, and what it decides: who is published in which group, beside which counterfeits.

Nothing here is in an order that anybody sees, and nothing is written: that is the assembly's
(:mod:`reveil.guarantees.assembly`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from reveil.grouping.recoders.base import Recoded
from reveil.grouping.recoders.boxes import boxed
from reveil.models.encoding import encode

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt
    import polars as pl

    from reveil.core.arrays import CodeArray, IntArray
    from reveil.core.json_values import JSON
    from reveil.grouping.groupers.base import Grouper
    from reveil.grouping.recoders.base import Recoder
    from reveil.guarantees.base import Memory
    from reveil.models.base import Model
    from reveil.models.encoding import Codes, SensitiveAttribute
    from reveil.models.statistics import Partition
    from reveil.releases.promise import Promise
    from reveil.tables.snapshot import Snapshot
    from reveil.vault.protocol import Entries


@dataclass(frozen=True)
class Request:
    """A snapshot to publish: with which method, and beside what was told before; None where nothing is remembered."""

    snapshot: Snapshot
    method: Grouper | None = None
    memory: Memory | None = None
    given: Codes | None = field(default=None, repr=False)  # those of the snapshot, where the caller has them

    @cached_property
    def codes(self) -> Codes:
        """The snapshot in integers."""
        return encode(self.snapshot) if self.given is None else self.given


class Recodable(Protocol):
    """What the boxes of a release hold."""

    def recode(self) -> Recoded:
        """Return the cells of every class of boxes, and the class of each place (-1: of none)."""


@dataclass(frozen=True)
class Grouped:
    """One box for each group of a partition, as a recoder writes it; the places are the records of ``codes``.

    ``codes`` may have more records than are published: whoever is in a box without a row of their own.
    """

    codes: Codes = field(repr=False)
    partition: Partition = field(repr=False)
    recoder: Recoder

    def recode(self) -> Recoded:
        """Return the cells of every class of boxes, and the class of each record."""
        return self.recoder.recode(self.codes, self.partition)


@dataclass(frozen=True)
class Covering:
    """One box for each row, around all the records it covers; a record may be in many. The places are the rows.

    ``members[i, n]`` is the i-th record that the row n covers.
    """

    codes: Codes = field(repr=False)
    members: npt.NDArray[np.int32] = field(repr=False)

    def recode(self) -> Recoded:
        """Return the cells of every class of boxes, and the class of each row."""
        offsets = np.arange(0, self.members.size + 1, len(self.members), dtype=np.int64)
        cells, classes, many = boxed(self.codes, self.codes.columns(self.members.T.ravel()), offsets)
        return Recoded(cells, classes, many)


@dataclass(frozen=True)
class GivenColumn:
    """A column that is published as it is: each row has the value ``source[index]``.

    ``attribute`` has the source in codes, where somebody has counted it already.
    """

    source: pl.Series = field(repr=False)
    index: CodeArray | IntArray = field(repr=False)
    attribute: SensitiveAttribute | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Rows:
    """The rows of a release, in any order.

    ``record`` is whose row it is, -1 for a counterfeit. ``box`` is a place that has the box of the row; -1: it borrows
    that of a record of its group, whichever dice choose. ``group`` is None where the rows with equal cells are a group.
    """

    record: CodeArray = field(repr=False)
    box: CodeArray = field(repr=False)
    group: CodeArray | None = field(repr=False)
    values: Mapping[str, GivenColumn] = field(repr=False)

    def __len__(self) -> int:
        return len(self.record)


@dataclass(frozen=True)
class DraftColumn:
    """The groups of one sensitive column that has a table of its own, or of several columns that are one value.

    Value i of the table belongs to ``group[i]``, is that of the record ``record[i]`` (-1: a counterfeit), and stands in
    the line ``value[i]`` of ``source``, which has a column for each part. ``fewest`` counterfeits would be needed
    at least.
    """

    name: str
    parts: tuple[str, ...]
    record: CodeArray = field(repr=False)
    group: CodeArray = field(repr=False)
    source: pl.DataFrame = field(repr=False)
    value: CodeArray = field(repr=False)
    fewest: int = 0

    @property
    def counterfeits(self) -> int:
        """How many values are nobody's."""
        return int((self.record < 0).sum())


@dataclass(frozen=True)
class Left:
    """How many records are left out, added or shown as they were: what a manifest counts beside the rows.

    ``suppressed`` is None where it is kept secret, ``stale`` where nobody is shown as they were.
    """

    suppressed: int | None = 0
    withheld: int = 0
    dirty: int = 0
    stale: int | None = None


@dataclass(frozen=True)
class Witness:
    """What shows that a release fits worlds.

    In world i the person of record r has what the record ``sources[i, r]`` has in the table, and the row n is that of
    the record ``rows[i, n]``.
    """

    sources: npt.NDArray[np.integer] = field(repr=False)
    rows: npt.NDArray[np.integer] = field(repr=False)


@dataclass(frozen=True)
class Remembered:
    """What the vault has to remember of a release.

    ``told`` are signatures, as pairs of a record and the codes of the set (``3,17,22``); ``replaces``: they take the
    place of all that was remembered of these persons. Where several columns have signatures, ``column`` names the one
    of each pair. ``entries`` go into ledgers. ``layout`` is what the method wants
    to find again at the next release: regions and cut points, no record. ``facts`` are for the owner's eyes only, as
    are ``notes``, which are said when the release is out.
    """

    told: pl.DataFrame | None = field(default=None, repr=False)
    replaces: bool = False
    entries: tuple[Entries, ...] = field(default=(), repr=False)
    layout: Mapping[str, JSON] | None = field(default=None, repr=False)
    facts: Mapping[str, JSON] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Draft:
    """All that a guarantee decides about a release.

    ``snapshot`` is what is published, which may be more than was asked for, or other (``altered``): the records asked
    for come first, then those of ``dirty`` persons, who are not in the table; ``codes`` are those of it. ``apart``:
    sensitive values go to a second table. ``model`` is what every group satisfies; ``distances``: the distance of the
    groups from the table is told, whether or not the model asks. ``reached`` is told beside what is counted.
    ``columns``: sensitive columns with groups and a table of their own; the rows are the records then, without them.
    """

    rows: Rows
    boxes: Recodable
    model: Model
    promise: Promise
    snapshot: Snapshot = field(repr=False)
    codes: Codes = field(repr=False)
    apart: bool = False
    distances: bool = False
    reached: Mapping[str, JSON] = field(default_factory=dict)
    left: Left = field(default_factory=Left)
    remembered: Remembered = field(default_factory=Remembered)
    altered: bool = False
    dirty: CodeArray | None = field(default=None, repr=False)
    witness: Witness | None = field(default=None, repr=False)
    columns: tuple[DraftColumn, ...] = ()
