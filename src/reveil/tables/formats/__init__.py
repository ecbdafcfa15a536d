"""The formats of tables in files: for each a file here and an entry point in the group ``reveil.formats``.

The name of the entry point is the ending of the files without its dot, in small letters. It is also how a manifest
names the format; a format with two endings has two entry points. Nothing else in Reveil knows which formats there are.
"""

from __future__ import annotations

from reveil.tables.formats.known import (
    DEFAULT,
    check_path,
    ending_of,
    endings,
    find_format,
    format_of,
    in_words,
    read_file,
    readable,
)

__all__ = [
    "DEFAULT",
    "check_path",
    "ending_of",
    "endings",
    "find_format",
    "format_of",
    "in_words",
    "read_file",
    "readable",
]
