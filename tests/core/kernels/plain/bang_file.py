"""Plain twin of :mod:`reveil.core.kernels.bang_file`: a live file as a mapping of regions to keys by id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.core.kernels.plain import bang, bang_build

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class PlainFile:
    """Blocks of records under insertion and deletion; keys and regions are texts of 0 and 1."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.blocks: dict[str, dict[int, str]] = {"": {}}

    def insert(self, records: Mapping[int, str]) -> None:
        """Put records into their blocks; then split what is too large."""
        regions = list(self.blocks)
        for number, key in records.items():
            self.blocks[regions[bang.find(regions, key)]][number] = key
        self._split()

    def delete(self, numbers: Iterable[int]) -> None:
        """Take records out; then dissolve what is too small, from the innermost outwards."""
        gone = set(numbers)
        for own in self.blocks.values():
            for number in gone & own.keys():
                del own[number]
        for region in sorted(self.blocks, reverse=True):
            if region and len(self.blocks[region]) < self.capacity:
                self._dissolve(region)
        if len(self.blocks[""]) < self.capacity and len(self.blocks) > 1:
            regions = sorted(self.blocks)
            outer = [region for region, p in zip(regions, bang.parents(regions), strict=True) if p == 0]
            self._dissolve(min(outer, key=lambda region: len(self.blocks[region])))
        self._split()

    def _dissolve(self, region: str) -> None:
        own = self.blocks.pop(region)
        regions = list(self.blocks)
        self.blocks[regions[bang.find(regions, region)]].update(own)

    def _split(self) -> None:
        for region, own in list(self.blocks.items()):
            parts = bang_build.divide(region, sorted(own.values()), self.capacity)
            for number, key in list(own.items()):
                del own[number]
                home = max((part for part in parts if key.startswith(part)), key=len)
                self.blocks.setdefault(home, {})[number] = key
