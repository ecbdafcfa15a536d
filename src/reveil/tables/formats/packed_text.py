"""Text tables under other endings: separated by tabs, and packed with gzip or zstd. They are read, not written."""

from __future__ import annotations

import zlib
from abc import abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import zstandard

from reveil.core.errors import FileError
from reveil.tables.formats.base import ReadOnly
from reveil.tables.formats.csv_file import CsvFile, names_in

if TYPE_CHECKING:
    from pathlib import Path

_HEADER = 1 << 16  # bytes that are looked at for names
_GZIP = 16 + zlib.MAX_WBITS


@dataclass(frozen=True)
class TsvFile(ReadOnly, CsvFile):
    """Text separated by tabs, unless a separator is declared."""

    @property
    def separator(self) -> str | None:
        """A tab, where nothing else is declared."""
        return self.dialect.separator or "\t"


class _Packed(ReadOnly, CsvFile):
    """Text in an archive of one file."""

    packing: ClassVar[str]

    def unpacked(self, data: bytes, path: Path) -> bytes:
        """Return the text, or say that the archive is none, or is cut off."""
        try:
            return self.unpack(data)
        except (zlib.error, zstandard.ZstdError, EOFError, MemoryError):
            raise FileError(
                f"this is not a whole {self.packing} file",
                file=path,
                hint="Pack it again; it may have been cut off while copying.",
            ) from None

    @abstractmethod
    def unpack(self, data: bytes, most: int = 0) -> bytes:
        """Return the text, or about the first ``most`` bytes of it."""

    def names(self, path: Path) -> list[str]:
        """Guess the names in the first line."""
        with suppress(OSError, zlib.error, zstandard.ZstdError, EOFError, MemoryError), path.open("rb") as stream:
            return names_in(self.unpack(stream.read(_HEADER), _HEADER))
        return []


@dataclass(frozen=True)
class GzipCsv(_Packed):
    """A CSV packed with gzip; an archive may have several members, as `cat a.gz b.gz` makes them."""

    packing: ClassVar[str] = "gzip"

    def unpack(self, data: bytes, most: int = 0) -> bytes:
        """Unpack member by member; each carries a checksum."""
        parts = []
        while True:
            stream = zlib.decompressobj(_GZIP)
            parts.append(stream.decompress(data, most))
            if most:
                return parts[0]
            if not stream.eof:
                raise EOFError
            data = stream.unused_data.lstrip(b"\0")
            if not data:
                return b"".join(parts)


@dataclass(frozen=True)
class ZstdCsv(_Packed):
    """A CSV packed with zstd."""

    packing: ClassVar[str] = "zstd"

    def unpack(self, data: bytes, most: int = 0) -> bytes:
        """Unpack frame by frame."""
        if not data:
            raise EOFError
        parts = []
        while data:
            stream = zstandard.ZstdDecompressor().decompressobj()
            parts.append(stream.decompress(data))
            if most:
                return parts[0][:most]
            if not stream.eof:
                raise EOFError
            data = stream.unused_data
        return b"".join(parts)


@dataclass(frozen=True)
class GzipTsv(TsvFile, GzipCsv):
    """Tabs, packed with gzip."""


@dataclass(frozen=True)
class ZstdTsv(TsvFile, ZstdCsv):
    """Tabs, packed with zstd."""
