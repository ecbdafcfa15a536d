"""The live BANG file: blocks of records that come and go, kept by the rule of :mod:`reveil.grouping.bang.building`.

*Theorem (capacity).* After every operation: if the file has at least M records, every block has at least M; a block
has more than 2M only if no region parts its records into two parts of at least M. *Proof.* A split leaves at least M on
both sides. Insertion makes no block smaller and splits the blocks it made too large. Deletion dissolves, from the
innermost outwards, every region whose block has fewer than M into the enclosing one; then every block has M but perhaps
that of the whole space, which takes over one that has. What was dissolved into is split again if it is too large. A
block that only lost records cannot be parted where it could not before: a region with fewer than M of its records still
has fewer, and one that leaves fewer than M still leaves fewer. The two axioms hold because regions are prefixes and the
empty one is never dissolved. *Assumes* nothing of the keys or of the order in which records come.

The file looks at keys alone, which are made of quasi values (*blind*). It keeps no model: what is published of its
blocks must be judged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from reveil.core.arrays import CodeArray, IntArray, offsets_of
from reveil.core.json_values import list_in, text_in, whole_in
from reveil.core.kernels import bang, bang_file
from reveil.grouping.bang.building import build, divide
from reveil.grouping.bang.keys import KeyArray, sort_keys
from reveil.grouping.bang.regions import Regions

if TYPE_CHECKING:
    from typing import TypeVar

    Item = TypeVar("Item", bound=np.generic)
    from collections.abc import Mapping

    from reveil.core.json_values import JSON


class BlockChange(NamedTuple):
    """Blocks that were split or dissolved together, by number.

    ``split``: block ``a[i]`` gave records to the new block ``b[i]``, in the order in which this happened. Else block
    ``a[i]`` was dissolved into block ``b[i]``, and its number is never used again.
    """

    split: bool
    a: CodeArray
    b: CodeArray


class BangFile:
    """Blocks that hold ``capacity`` to twice as many records, under insertion and deletion.

    Records are known by ids: whole numbers from 0, each in the file at most once. Memory grows with the largest id, so
    ids should be row numbers. Blocks have numbers that last as long as the block does; ``numbers`` are those of the
    regions in their order. An operation looks only at the blocks it concerns; entering a new region into the sorted
    directory moves those behind it.
    """

    def __init__(self, bits: tuple[int, ...], capacity: int, regions: Regions | None = None) -> None:
        if capacity < 1:
            raise ValueError("a block holds at least one record")
        first_regions = Regions.whole(bits) if regions is None else regions
        self.bits, self.capacity = bits, capacity
        self._m = len(first_regions)
        room = _more(self._m)
        self._words, self._levels = _longer(first_regions.words, room), _longer(first_regions.levels, room)
        self._numbers = np.arange(room, dtype=np.int32)
        self._next = self._m  # the first number that was never used
        self._start, self._count, self._room = (np.zeros(room, np.int64) for _ in range(3))
        self._store, self._held = np.empty((0, first_regions.words.shape[1]), np.uint64), np.empty(0, np.int32)
        self._tail = 0
        self._block_of = np.full(0, -1, np.int32)
        self._regions: Regions | None = first_regions
        self._log: list[BlockChange] = []

    @classmethod
    def build(cls, keys: KeyArray, bits: tuple[int, ...], capacity: int, ids: IntArray | None = None) -> BangFile:
        """Build the file of a whole table at once; without ids the records are numbered as they come."""
        order, ordered = sort_keys(keys)
        blocks = build(ordered, bits, capacity)
        file = cls(bits, capacity, blocks.regions)
        named = order if ids is None else file._checked(ids, len(keys))[order]
        file._start[: file._m], file._count[: file._m] = blocks.offsets[:-1], blocks.counts
        # The blocks are copied from where the sorted records are straight into a store with room.
        file._store, file._held, file._tail = ordered[blocks.records], named[blocks.records], len(keys)
        file._make_room(0)
        file._know(named)
        file._block_of[named] = blocks.of_record
        return file

    @property
    def n(self) -> int:
        """How many records there are."""
        return int(self._count[self._numbers[: self._m]].sum())

    @property
    def regions(self) -> Regions:
        """The regions of the blocks."""
        if self._regions is None:
            self._regions = Regions(self._words[: self._m].copy(), self._levels[: self._m].copy(), self.bits)
        return self._regions

    @property
    def numbers(self) -> CodeArray:
        """The number of the block of each region."""
        return self._numbers[: self._m].copy()

    @property
    def counts(self) -> IntArray:
        """How many records the block of each region has."""
        return self._count[self._numbers[: self._m]]

    def take_log(self) -> list[BlockChange]:
        """Return what was split and dissolved since this was last asked, in order, and forget it."""
        log, self._log = self._log, []
        return log

    def search(self, keys: KeyArray) -> CodeArray:
        """Return the place, among the regions, of the block of each key."""
        return self.regions.find(keys)

    def records(self) -> tuple[CodeArray, IntArray]:
        """Return the ids of all records, block by block in the order of the regions, and where each block begins."""
        _, ids = self._gathered(self._numbers[: self._m], ordered=True)
        return ids, offsets_of(self.counts)

    def insert(self, keys: KeyArray, ids: npt.NDArray[np.integer]) -> None:
        """Put records into the blocks they fall into, and split those that become too large."""
        named = self._checked(ids, len(keys))
        self._know(named)
        if (self._block_of[named] >= 0).any():
            raise ValueError("a record is in the file already")
        order, ordered = sort_keys(keys)
        places = np.empty(len(keys), np.int32)
        bang.find(self._words, self._levels, self._m, ordered, places)
        blocks = self._numbers[places]
        self._put(ordered, named[order], blocks)
        self._split(self._distinct(blocks))

    def delete(self, ids: npt.NDArray[np.integer]) -> None:
        """Take records out; dissolve blocks that become too small, and split again what becomes too large by it."""
        named = self._checked(ids, len(ids))
        if len(named) and (named.max() >= len(self._block_of) or (self._block_of[named] < 0).any()):
            raise ValueError("a record is not in the file")
        losing = self._distinct(self._block_of[named])
        self._block_of[named] = -1
        bang_file.drop(self._blocks, losing)
        if (self._count[losing] < self.capacity).any():
            self._dissolve()

    def state(self) -> dict[str, JSON]:
        """Return the directory without the records, as plain values that JSON can hold."""
        return {
            "bits": list(self.bits),
            "capacity": self.capacity,
            "regions": [[f"{number:x}", level] for number, level in self.regions.numbers()],
            "counts": self.counts.tolist(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, JSON], keys: KeyArray, ids: IntArray | None = None) -> BangFile:
        """Put records into the regions of a stored directory.

        Blocks have the numbers of the regions in their order. Regions that hold too few of these records are dissolved,
        those with too many are split, and the log says which. With the records that the directory was stored with, the
        file is as it was, but for the numbers of its blocks.
        """
        regions, _ = stored_directory(state)
        file = cls(regions.bits, whole_in(state["capacity"]), regions)
        file.insert(keys, np.arange(len(keys)) if ids is None else ids)
        file._dissolve()
        return file

    def _checked(self, ids: npt.NDArray[np.integer], n: int) -> CodeArray:
        if len(ids) != n or (n and (ids.min() < 0 or ids.max() >= 2**31 - 1)):
            raise ValueError("each record needs an id, a whole number from 0")
        named = ids.astype(np.int32)
        ascending = n < 2 or bool((named[1:] > named[:-1]).all())  # row numbers mostly come so
        if not ascending and len(np.unique(named)) < n:
            raise ValueError("an id occurs twice")
        return named

    def _know(self, ids: CodeArray) -> None:
        """Make room for ids."""
        if len(ids) and ids.max() >= len(self._block_of):
            self._block_of = _longer(self._block_of, _more(int(ids.max()) + 1), -1)

    def _distinct(self, blocks: CodeArray) -> CodeArray:
        """Return each of some blocks once, ascending."""
        flags = np.zeros(self._next, np.bool_)
        flags[blocks] = True
        return np.flatnonzero(flags).astype(np.int32)

    @property
    def _blocks(self) -> bang_file.BlockStore:
        """The blocks as the kernels take them."""
        return bang_file.BlockStore(self._store, self._held, self._start, self._count, self._room, self._block_of)

    def _put(self, keys: KeyArray, ids: CodeArray, blocks: CodeArray) -> None:
        done = 0
        while True:
            done, self._tail = bang_file.put(self._blocks, self._tail, keys, ids, blocks, done)
            if done == len(keys):
                return
            self._make_room(2 * int(self._room[blocks[done]]) + 1)

    def _make_room(self, rows: int) -> None:
        """Move all blocks into a new store, without the gaps and with at least so many rows to spare."""
        live = self._numbers[: self._m]
        roomy = int(np.maximum(self._count[live], 2 * self.capacity).sum())
        spare = rows + roomy // 4 + 1024
        store, held = np.empty((roomy + spare, self._store.shape[1]), np.uint64), np.empty(roomy + spare, np.int32)
        self._tail = bang_file.move(self._blocks, live, 2 * self.capacity, store, held)
        self._store, self._held = store, held

    def _gathered(self, blocks: CodeArray, *, ordered: bool) -> tuple[KeyArray, CodeArray]:
        """Return the keys and ids of the records of some blocks, one block after the other."""
        total = int(self._count[blocks].sum())
        keys, ids = np.empty((total, self._words.shape[1]), np.uint64), np.empty(total, np.int32)
        bang_file.gather(self._blocks, blocks, ordered, keys, ids)
        return keys, ids

    def _split(self, blocks: CodeArray) -> None:
        """Split those of some blocks that are too large, where that can be done."""
        large = blocks[self._count[blocks] > 2 * self.capacity]
        if not len(large):
            return
        keys, ids = self._gathered(large, ordered=True)
        offsets = offsets_of(self._count[large])
        divided = divide(keys, np.arange(len(keys), dtype=np.int32), offsets[:-1], offsets[1:], self.capacity)
        fresh = len(divided.levels)
        if not fresh:
            return
        numbers = np.concatenate([large, np.arange(self._next, self._next + fresh, dtype=np.int32)])
        self._number(fresh)
        sizes = (divided.ends - divided.starts)[len(large) :]
        wanted = int(np.maximum(sizes, 2 * self.capacity).sum())
        if self._tail + wanted > len(self._store):
            self._make_room(wanted)
        written = bang_file.SplitRecords(numbers, keys, ids, divided.records, divided.starts, divided.ends)
        self._tail = bang_file.write_back(self._blocks, self._tail, 2 * self.capacity, written, len(large))
        self._enter(divided.prefixes(keys), divided.levels, numbers[len(large) :])
        self._log.append(BlockChange(True, numbers[divided.origin], numbers[len(large) :]))

    def _number(self, fresh: int) -> None:
        """Take new block numbers into use."""
        self._next += fresh
        if self._next > len(self._start):
            room = _more(self._next)
            self._start, self._count = _longer(self._start, room), _longer(self._count, room)
            self._room = _longer(self._room, room)

    def _enter(self, words: KeyArray, levels: CodeArray, numbers: CodeArray) -> None:
        """Enter new regions into the directory."""
        by_level = np.argsort(levels, kind="stable").astype(np.int32)
        order, ordered = sort_keys(words[by_level])
        order = by_level[order]
        if self._m + len(levels) > len(self._levels):
            room = _more(self._m + len(levels))
            self._words, self._levels = _longer(self._words, room), _longer(self._levels, room)
            self._numbers = _longer(self._numbers, room)
        self._m = bang_file.enter(
            self._words, self._levels, self._numbers, self._m, ordered, levels[order], numbers[order]
        )
        self._regions = None

    def _dissolve(self) -> None:
        """Dissolve the blocks that are too small."""
        parents = np.empty(self._m, np.int32)
        bang.parents(self._words[: self._m], self._levels[: self._m], parents)
        live = self._numbers[: self._m].copy()
        into = np.empty(self._m, np.int32)
        bang_file.dissolve(parents, self._count[live], self.capacity, into)
        gone = into != np.arange(self._m)
        if not gone.any():
            return
        losing, taking = live[gone], live[into[gone]]
        keys, ids = self._gathered(losing, ordered=False)
        moving = np.repeat(taking, self._count[losing])
        self._count[losing] = 0
        kept = np.flatnonzero(~gone)
        self._words[: len(kept)], self._levels[: len(kept)] = self._words[kept], self._levels[kept]
        self._numbers[: len(kept)] = live[kept]
        self._m, self._regions = len(kept), None
        self._put(keys, ids, moving)
        self._log.append(BlockChange(False, losing, taking))
        self._split(np.unique(taking))


def stored_directory(state: Mapping[str, JSON]) -> tuple[Regions, IntArray]:
    """Return the regions of a stored directory, and how many records each block had."""
    pairs = map(list_in, list_in(state["regions"]))
    names = [(int(text_in(number), 16), whole_in(level)) for number, level in pairs]
    bits = tuple(map(whole_in, list_in(state["bits"])))
    return Regions.named(names, bits), np.array(list_in(state["counts"]), np.int64)


def _more(size: int) -> int:
    """Return a size with room to grow, so that growing by little does not copy much each time."""
    return size + size // 4 + 16


def _longer(array: npt.NDArray[Item], size: int, fill: int = 0) -> npt.NDArray[Item]:
    """Return an array with more rows."""
    out = np.full((size, *array.shape[1:]), fill, array.dtype)
    out[: len(array)] = array
    return out
