"""Everything Reveil raises on purpose.

::

    ReveilError                     never raised itself
    ├── RefusedError                exit 1: the guarantee cannot be kept, or is broken
    │   ├── InfeasibleError         the table cannot satisfy the model at all
    │   ├── VerificationError       the written bytes are not what was promised
    │   ├── BusyError               another publisher is at work in the vault, or was first
    │   └── PendingError            a release was prepared and is neither confirmed nor abandoned
    └── InputError                  exit 2: something the user can mend
        ├── ConfigError             reveil.toml, Schema(...), model and method parameters
        ├── DataError               the content of a table
        ├── FileError               a path that cannot be read or written
        ├── VaultError              a vault or a key that cannot be used
        └── ExpressionError         a query that cannot be read, with the place

An error names the thing and the place (``file``, ``line``, ``column``) and carries a ``hint`` with the remedy.
Messages never contain a sensitive value. Quasi values, and names that come out of a file, appear only where the user
must see them to mend the input, through :func:`shown` and :func:`excerpt`: ten of them, of each what cannot be another
cell that a stray quote swallowed. The text of another library's exception is never passed on: such texts quote cells.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SHOWN_AT_MOST = 10
LONGEST_SHOWN = 40  # characters of a cell or a name
_LINE_END = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_SEPARATOR = re.compile(r"[,;\t|]")


class ReveilError(Exception):
    """Base of the tree: a sentence, a place and a remedy."""

    exit_code = 2

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        file: str | Path | None = None,
        line: int | None = None,
        column: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.file = None if file is None else str(file)
        self.line = line
        self.column = column

    def __str__(self) -> str:
        place = "" if self.file is None else printed(self.file) + ("" if self.line is None else f":{self.line}") + ": "
        return place + self.message + ("" if self.hint is None else f"\n  {self.hint}")


class RefusedError(ReveilError):
    """The guarantee cannot be kept, or is broken."""

    exit_code = 1


class InfeasibleError(RefusedError):
    """No grouping of this table satisfies the model."""


class VerificationError(RefusedError):
    """What was written is not what was promised; the release must not leave the building."""


class BusyError(RefusedError):
    """Another publisher is at work in this vault, or was first."""


class PendingError(RefusedError):
    """A release is pending: it counts as told, and nothing else is published before it is settled."""


class InputError(ReveilError):
    """Bad input, config, usage or file."""


class ConfigError(InputError):
    """A setting that cannot be: names the key and what would work."""


class DataError(InputError):
    """A table that cannot be published as it is: names column and, for files, line."""


class FileError(InputError):
    """A file that cannot be read or written."""


class VaultError(InputError):
    """A vault or a key that cannot be used: names the folder and the way out."""


class ExpressionError(InputError):
    """A query that cannot be read. ``position`` is where, counted from 0."""

    def __init__(self, message: str, *, text: str, position: int, hint: str | None = None) -> None:
        caret = f"\n  {text}\n  {' ' * position}^"
        super().__init__(message + caret, hint=hint)
        self.text = text
        self.position = position


def shown(values: Iterable[object]) -> str:
    """Up to ten values for a message about *quasi* columns or names, never for sensitive ones."""
    listed = list(values)
    text = ", ".join(map(excerpt, listed[:SHOWN_AT_MOST]))
    rest = len(listed) - SHOWN_AT_MOST
    return text + (f" and {rest:,} more" if rest > 0 else "")


def excerpt(value: object) -> str:
    r"""Return one *quasi* value, or a name out of a file, for a message: 40 characters of it, of its first line.

    Where there are more lines, a quote has swallowed them, and the rest of the first one may be other cells, too: then
    it ends at the first mark that could separate cells.

    >>> excerpt("4410")
    "'4410'"
    >>> excerpt("4410,flu\n4411,gout")
    "'4410…'"
    """
    text = str(value)
    kept = _LINE_END.split(text, maxsplit=1)[0]
    if len(kept) < len(text):
        kept = _SEPARATOR.split(kept, maxsplit=1)[0]
    if len(kept) < len(text) or len(kept) > LONGEST_SHOWN:
        kept = kept[: LONGEST_SHOWN - 1] + "…"
    return repr(printed(kept))


def printed(text: str) -> str:
    r"""Return a text as one line without anything that does something to a terminal; paths may have such marks.

    >>> printed("out\n.csv")
    'out�.csv'
    """
    return "".join(ch if ch.isprintable() else "\N{REPLACEMENT CHARACTER}" for ch in text)


def has_line_end(name: str) -> bool:
    """Return whether a name goes over several lines: then a quote may have made a name of records."""
    return _LINE_END.search(name) is not None


def has_swallowed(name: str) -> bool:
    """Return whether a name looks like records that a quote made one cell: several lines, and cells in them."""
    return has_line_end(name) and _SEPARATOR.search(name) is not None


def is_shown_whole(name: str) -> bool:
    """Return whether an excerpt of a name is the name."""
    return excerpt(name) == repr(name)
