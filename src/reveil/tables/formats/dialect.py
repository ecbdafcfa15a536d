"""How the files of a table are written beside their cells: what separates cells, in which encoding, on which sheet.

Only the formats that have such a choice look at it: a separator means nothing to Parquet, and a table that is exported
in another format is the same table.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reveil.core.errors import ConfigError, FileError

if TYPE_CHECKING:
    from pathlib import Path

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
ENCODINGS = ("utf-8", "latin-1", "cp1252", "utf-16")
_SINGLE_BYTE = ("latin-1", "cp1252")
# Two bytes of UTF-8 for a letter with an accent, read one by one: a capital A with a tilde before a sign.
_TWICE = re.compile(rb"\xc3[\x80-\xbf]")
_CONTROL = re.compile(rb"[\x80-\x9f]")


@dataclass(frozen=True)
class Dialect:
    """What a config says of files; None is what the format has by itself: UTF-8, the separator that the header shows.

    ``sheet`` is the name of a sheet of a workbook, or its number, counted from 1.
    """

    separator: str | None = None
    encoding: str | None = None
    sheet: str | int | None = None

    def __post_init__(self) -> None:
        if self.separator is not None and self.separator not in SEPARATORS:
            raise ConfigError(
                "[input]: separator must be one of the signs , ; | or a tab",
                hint='Write separator = ";" or, for a tab, separator = "\\t".',
            )
        if self.encoding is not None and self.encoding not in ENCODINGS:
            raise ConfigError(
                f"[input]: encoding must be one of {', '.join(ENCODINGS)}", hint='Write encoding = "latin-1", say.'
            )
        if isinstance(self.sheet, bool) or (isinstance(self.sheet, int) and self.sheet < 1):
            raise ConfigError(
                "[input]: sheet must be the name of a sheet or its number, counted from 1", hint='sheet = "2024"'
            )


DEFAULT_DIALECT = Dialect()


def as_utf8(data: bytes, encoding: str, path: Path) -> bytes:
    """Return the bytes of a text in UTF-8; what is not in the declared encoding is refused with its line."""
    if encoding == "utf-8":
        return data
    if encoding in _SINGLE_BYTE:
        _check_single_bytes(data, encoding, path)
    elif not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        data = codecs.BOM_UTF16_LE + data  # what Windows writes
    try:
        return data.decode(encoding).encode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode(encoding, "replace")
        raise FileError(
            f"this file is not {encoding}",
            file=path,
            line=before.count("\n") + 1,
            hint="Is it cut off, or of another encoding? Mend encoding = ... under [input], or save it as UTF-8.",
        ) from None


def _check_single_bytes(data: bytes, encoding: str, path: Path) -> None:
    """Refuse text that is UTF-8, or UTF-8 in places: read byte by byte it would be other words."""
    found = _TWICE.search(data)
    if found is not None:
        rest = _TWICE.sub(b"", data)
        mixed = not rest.isascii()
        raise FileError(
            f"this file mixes UTF-8 with {encoding}" if mixed else f"this file is UTF-8, not {encoding}",
            file=path,
            line=data.count(b"\n", 0, found.start()) + 1,
            hint="Two exports may have been put together: convert each to UTF-8 first."
            if mixed
            else 'Write encoding = "utf-8" under [input], or take the line out.',
        )
    control = _CONTROL.search(data) if encoding == "latin-1" else None
    if control is not None:
        raise FileError(
            "this file has bytes that no Latin-1 text has",
            file=path,
            line=data.count(b"\n", 0, control.start()) + 1,
            hint='It looks like Windows-1252: write encoding = "cp1252" under [input].',
        )
