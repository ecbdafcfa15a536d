"""Many sets of values at once: the signatures of groups, and what persons were told."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.core.arrays import CodeArray, IntArray, Ragged

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class Sets:
    """Set s has the members ``lists[s]``, ascending codes of values."""

    lists: Ragged[np.int32] = field(repr=False)

    @classmethod
    def of(cls, lists: Iterable[Iterable[int]]) -> Sets:
        """Build from lists of codes."""
        return cls(Ragged.of_rows([sorted(set(members)) for members in lists], np.int32))

    @classmethod
    def of_rows(cls, rows: npt.NDArray[np.integer]) -> Sets:
        """Build from an array with one set of equal size per row."""
        members = np.sort(rows, axis=1).astype(np.int32)
        return cls(Ragged.of_lengths(np.full(len(rows), rows.shape[1]), members.reshape(-1)))

    @classmethod
    def of_texts(cls, texts: pl.Series) -> Sets:
        """Build from texts like ``3,17,22``."""
        lists = texts.str.split(",").cast(pl.List(pl.Int32))
        members = lists.explode(empty_as_null=False).to_numpy().astype(np.int32)
        return cls(Ragged.of_lengths(lists.list.len().to_numpy(), members))

    def __len__(self) -> int:
        return len(self.lists)

    @property
    def offsets(self) -> IntArray:
        """Where each set begins in ``members``, and at last where they end."""
        return self.lists.offsets

    @property
    def members(self) -> CodeArray:
        """The members of all sets, one set behind the other."""
        return self.lists.items

    @property
    def sizes(self) -> IntArray:
        """How many members each set has."""
        return self.lists.lengths

    @cached_property
    def of_member(self) -> IntArray:
        """The set of each member."""
        return self.lists.owners()

    @cached_property
    def _keys(self) -> IntArray:
        return self.of_member * self._room + self.members

    @cached_property
    def _room(self) -> int:
        return int(self.members.max(initial=0)) + 1

    def places(self, sets: npt.NDArray[np.integer], values: npt.NDArray[np.integer]) -> IntArray:
        """Return where each value stands in ``members`` within its set, -1 where it is not in it."""
        if not len(self._keys):
            return np.full(len(sets), -1, np.int64)
        key = sets.astype(np.int64) * self._room + values
        place = np.minimum(np.searchsorted(self._keys, key), len(self._keys) - 1)
        return np.where((values < self._room) & (self._keys[place] == key), place, -1)

    def take(self, sets: npt.NDArray[np.integer]) -> Sets:
        """Return the given sets, in their order, repeated as given."""
        return Sets(self.lists.take(sets))

    def join(self, other: Sets) -> Sets:
        """Return the sets of both, one behind the other."""
        return Sets(Ragged.concatenate([self.lists, other.lists]))

    def distinct(self) -> tuple[Sets, IntArray]:
        """Return the different sets, and which of them each one is."""
        if not len(self):
            return self, np.zeros(0, np.int64)
        texts = self.texts()
        different = texts.unique(maintain_order=True)
        place = texts.replace_strict(different, np.arange(len(different)), return_dtype=pl.Int64).to_numpy()
        return Sets.of_texts(different), place

    def texts(self) -> pl.Series:
        """Write each set as text: ``3,17,22``."""
        lists = pl.DataFrame({"set": self.of_member, "member": self.members})
        joined = lists.group_by("set", maintain_order=True).agg(pl.col("member").cast(pl.String).str.join(","))
        return joined["member"] if len(joined) == len(self) else self._texts_with_empty(joined)

    def _texts_with_empty(self, joined: pl.DataFrame) -> pl.Series:
        every = pl.DataFrame({"set": np.arange(len(self), dtype=np.int64)})
        return every.join(joined, on="set", how="left", maintain_order="left")["member"].fill_null("")
