"""What a cell that any tool wrote may stand for, in codes of a snapshot.

=============================================  ==================================================================
``21``, ``nurse``, ``Europe``                  a value; a label of the column's hierarchy
``[21, 23]``, ``[21, 23[``, ``(21, 23]``       a range; a bracket turned away, or a round one, leaves its end out
``21-23``, ``-5--1``, ``2020 - 2021``          a range with both ends
``>=90``, ``>90``, ``<=5``, ``<5``, ``90+``    a range with one end
``2020-01``, ``2020``                          the days of a month or a year
``441**``, ``4410*``                           values that begin so
``{a, b}``, ``a,b``, ``a;b``, ``a|b``          one of several values
``['a']``, ``['a', 'b']``                      the same as Python writes it; each may be anything of the above
``[21, 23] | null``                            what stands before the bar, or missing
``*``                                          anything, missing included
=============================================  ==================================================================

A value of the column always stands for itself, whatever else it could be read as; JSON strings are texts. Ranges have a
meaning for numbers, dates, declared orders, and texts that are all numbers or all dates. A text that is no value of the
snapshot may be a label that only a hierarchy explains: without one it is *unread*, and stands for anything. (A number
among numbers and a quoted text are values, and admit nothing if the snapshot lacks them; so do members of a set in
braces, unless there is no other.) Each distinct cell is read once.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from reveil.core.errors import DataError, shown
from reveil.models.encoding import Attribute, Kind
from reveil.releases.foreign.scales import ColumnValues, days, number, scale_of
from reveil.releases.table import Cells
from reveil.tables.formats.place import Place
from reveil.tables.notation import OR_NULL
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from reveil.core.arrays import BoolArray, CodeArray, IntArray


Part = range | npt.NDArray[np.int32]

_STARS = re.compile(r"\*+")
_BEGINNING = re.compile(r"(.*?[^*])(\*+)", re.DOTALL)
_BRACKETS = re.compile(r"([\[\](])\s*([^,;]+?)\s*[,;]\s*([^,;]+?)\s*([\[\])])")
_COMPARISON = re.compile(r"(>=|<=|>|<|≥|≤)\s*(.+)")
_AND_MORE = re.compile(r"(.+?)\s*\+")
_DASH = re.compile(r"\s*[-–]\s*")
_MEMBER = re.compile(r'\s*("(?:[^"\\]|\\.)*"(?=\s*(?:,|$))|[^,]+)(?:,|$)')
_PYTHON_LIST = re.compile(r"""\[((?:'[^']*'|"[^"]*")(?:\s*,\s*(?:'[^']*'|"[^"]*"))*)\]""", re.DOTALL)
_TEXT = re.compile(r"""'([^']*)'|"([^"]*)\"""", re.DOTALL)
_ON_A_LINE = re.compile(r"[-+0-9.:T ]+")


@dataclass(frozen=True)
class ForeignCells(Cells):
    """Cells as another tool wrote them, and where they stand: the table, and the first row of each distinct cell."""

    place: Place = field(default=Place("the release"), repr=False)
    rows: IntArray | None = field(default=None, repr=False)


class Resolved(NamedTuple):
    """The codes of each cell: ``lo..hi``, of the ``listed`` cells only the members (cell times codes + 1 plus code)."""

    lo: CodeArray
    hi: CodeArray
    null: BoolArray
    members: IntArray | None
    listed: BoolArray | None
    unread: BoolArray


class CellMeaning(NamedTuple):
    """What one cell admits; ``unread``: anything, because nobody says what it means."""

    null: bool
    parts: Sequence[Part]
    unread: bool = False


def resolve(cells: Cells, attribute: Attribute) -> Resolved:
    """Read the distinct cells of a column, or raise with the first that cannot be understood."""
    reading, size = CellReader(attribute), attribute.null_code
    distinct = canonical_text(cells.distinct)
    lo, hi = np.ones(len(distinct), np.int32), np.zeros(len(distinct), np.int32)
    null, listed, unread = (np.zeros(len(distinct), np.bool_) for _ in range(3))
    members: list[IntArray] = []
    strange: list[int] = []
    for cell, text in enumerate(distinct):
        meaning = CellMeaning(null=True, parts=()) if text is None else reading.meaning(text)
        if meaning is None:
            strange.append(cell)
            continue
        null[cell], unread[cell] = meaning.null, meaning.unread
        codes = _joined(meaning.parts)
        if len(codes):
            lo[cell], hi[cell] = codes[0], codes[-1]
        if int(hi[cell]) - int(lo[cell]) + 1 != len(codes):
            listed[cell] = True
            members.append(cell * np.int64(size + 1) + np.asarray(codes, np.int64))
    if strange:
        raise _not_understood(cells, strange, attribute)
    if not members:
        return Resolved(lo, hi, null, None, None, unread)
    return Resolved(lo, hi, null, np.concatenate(members), listed, unread)


def _joined(parts: Sequence[Part]) -> Part:
    """Return the codes of all parts, ascending."""
    if len(parts) == 1 and isinstance(parts[0], range):
        return parts[0]
    arrays = [np.asarray(part, np.int32) for part in parts]
    return np.unique(np.concatenate(arrays)) if arrays else range(0)


def _not_understood(cells: Cells, strange: list[int], attribute: Attribute) -> DataError:
    hints = {
        Kind.INTERVAL: "Write 21, [21, 23], 21-23, >=90, {21, 22} or *, and dates as 2024-12-31.",
        Kind.ORDERED: "Write values of its order: a, [a, b], {a, b} or *.",
        Kind.TAXONOMY: "Use the hierarchy that this release was made with, or write values: a, {a, b}, a* or *.",
        Kind.SET: "Write a, {a, b}, a* or *; ranges have a meaning among numbers and dates only.",
    }
    texts = [str(cells.distinct[cell]) for cell in strange]
    place, row = Place("the release"), None
    if isinstance(cells, ForeignCells):
        place, row = cells.place, None if cells.rows is None else int(cells.rows[strange].min())
    return place.error(
        f"column {attribute.name!r} has cells that cannot be understood: {shown(texts)}",
        column=attribute.name,
        row=row,
        hint=hints[attribute.kind],
    )


class CellReader:
    """Reads the cells of one column."""

    def __init__(self, attribute: Attribute) -> None:
        self.attribute = attribute
        self.texts = canonical_text(attribute.domain)
        self.exact = {text: code for code, text in enumerate(self.texts)}
        self.free = attribute.kind is Kind.SET  # any text may be a value, known to the snapshot or not
        self.boolean = self.free and self.exact.keys() <= {"true", "false"}

    @cached_property
    def scale(self) -> ColumnValues | None:
        """The order in which ranges have a meaning."""
        return scale_of(self.attribute)

    def meaning(self, text: str) -> CellMeaning | None:
        """Return what a cell admits; None if it cannot be understood."""
        if text in self.exact:
            return CellMeaning(null=False, parts=[self._code(text)])
        text = text.strip()
        if not text:
            return CellMeaning(null=True, parts=())
        if _STARS.fullmatch(text):
            return CellMeaning(null=True, parts=[range(self.attribute.null_code)])
        if text.endswith(OR_NULL) and len(text) > len(OR_NULL):
            rest = self.meaning(text[: -len(OR_NULL)])
            return None if rest is None else CellMeaning(null=True, parts=rest.parts, unread=rest.unread)
        listed = _PYTHON_LIST.fullmatch(text)
        if listed is not None:
            return self._python_list(listed[1])
        parts = self._parts(text)
        if parts is not None and not len(parts) and not self._is_value(text):
            return CellMeaning(null=True, parts=[range(self.attribute.null_code)], unread=True)
        return None if parts is None else CellMeaning(null=False, parts=parts)

    def _is_value(self, text: str) -> bool:
        """Return whether a text is a value that the snapshot lacks: quoted, or a number among numbers."""
        return text.startswith('"') or (self.scale is not None and self.scale.read(text) is not None)

    def _python_list(self, inner: str) -> CellMeaning | None:
        """Read what Python writes for a list of texts: each member as a cell of its own."""
        texts = [found[1] if found[1] is not None else found[2] for found in _TEXT.finditer(inner)]
        members = [self._python_range(text) or self.meaning(text) for text in texts]
        read = [member for member in members if member is not None]
        if len(read) < len(members):
            return None
        unread = any(member.unread for member in read)
        null = any(member.null for member in read)
        return CellMeaning(null=null, parts=[part for member in read for part in member.parts], unread=unread)

    def _python_range(self, text: str) -> CellMeaning | None:
        """Read a range of numbers: whoever writes such lists has no hierarchy, whose label it may look like."""
        if self.attribute.kind is not Kind.TAXONOMY or text in self.exact:
            return None
        found = self._dashed(text)
        return None if found is None else CellMeaning(null=False, parts=found)

    def _parts(self, text: str) -> Sequence[Part] | None:
        one = self._value(text)
        if one is not None:
            return [one]
        if text.startswith('"'):
            return [] if self.free and _unquoted(text) is not None else None
        if text.startswith("{"):
            return self._members(text)
        spread = _BRACKETS.fullmatch(text)
        if spread is not None:
            return self._range(spread[2], spread[3], lo_open=spread[1] != "[", hi_open=spread[4] != "]")
        found = self._comparison(text) or self._dashed(text) or self._beginning(text) or self._list(text)
        if found is None and self.free and not self._half_written(text):
            return []
        return found

    def _value(self, text: str) -> Part | None:
        """Read one value, or one label."""
        bare = _unquoted(text) if text.startswith('"') else text
        if bare is None:
            return None
        if self.boolean:
            bare = bare.lower()
        if bare in self.exact:
            return self._code(bare)
        taxonomy = self.attribute.taxonomy
        if taxonomy is not None and bare in taxonomy.node_of_label:
            node = taxonomy.node_of_label[bare]
            return range(int(taxonomy.lo[node]), int(taxonomy.hi[node]) + 1)
        # A number may be written otherwise (21.0), but a text that is none of the known ones is another text.
        line = self.scale if self.attribute.kind in (Kind.INTERVAL, Kind.TAXONOMY) else None
        return None if line is None else line.between(bare, bare)

    def _code(self, text: str) -> range:
        code = self.exact[text]
        return range(code, code + 1)

    def _members(self, text: str) -> list[Part] | None:
        inner = text[1:-1]
        written = [found[1].strip() for found in _MEMBER.finditer(inner)]
        if not text.endswith("}") or not inner.strip() or _MEMBER.sub("", inner).strip():
            return None
        parts = [part for member in written if (part := self._value(member)) is not None]
        return parts if self.free or len(parts) == len(written) else None

    def _range(
        self, lo: str | None, hi: str | None, *, lo_open: bool = False, hi_open: bool = False
    ) -> list[Part] | None:
        found = None if self.scale is None else self.scale.between(lo, hi, lo_open=lo_open, hi_open=hi_open)
        return None if found is None else [found]

    def _comparison(self, text: str) -> list[Part] | None:
        found = _COMPARISON.fullmatch(text)
        if found is not None:
            is_open = found[1] in "<>"
            if found[1] in (">", ">=", "≥"):
                return self._range(found[2].strip(), None, lo_open=is_open)
            return self._range(None, found[2].strip(), hi_open=is_open)
        more = _AND_MORE.fullmatch(text)
        return None if more is None else self._range(more[1], None)

    def _dashed(self, text: str) -> list[Part] | None:
        """Try each dash as the one between the ends; the others are signs, or belong to dates."""
        if self.scale is None:
            return None
        for dash in _DASH.finditer(text):
            found = self._range(text[: dash.start()], text[dash.end() :])
            if found is not None:
                return found
        return None

    def _beginning(self, text: str) -> list[Part] | None:
        found = _BEGINNING.fullmatch(text)
        if found is None or (self.attribute.kind is Kind.INTERVAL and not _ON_A_LINE.fullmatch(found[1])):
            return None
        start, stars = found[1], len(found[2])
        if stars > 1 and self._length is not None and self._length != len(start) + stars:
            return [range(0)]
        texts, codes = self._sorted
        first, last = texts.search_sorted(start), texts.search_sorted(start + chr(0x10FFFF) * 2, side="right")
        return [np.sort(codes[first:last])]

    @cached_property
    def _sorted(self) -> tuple[pl.Series, CodeArray]:
        order = self.texts.arg_sort()
        return self.texts.gather(order), order.to_numpy().astype(np.int32)

    @cached_property
    def _length(self) -> int | None:
        lengths = self.texts.str.len_chars().unique()
        return int(lengths[0]) if len(lengths) == 1 else None

    def _list(self, text: str) -> list[Part] | None:
        """Read a list without braces, if every part is a value or a label."""
        for comma in ",;|":
            if comma in text:
                written = text.split(comma)
                parts = [part for member in written if (part := self._value(member.strip())) is not None]
                if len(parts) == len(written):
                    return parts
        return None

    def _half_written(self, text: str) -> bool:
        """Return whether a text is no value that the snapshot lacks, but a notation without a meaning here."""
        compared = _COMPARISON.fullmatch(text)
        operand = None if compared is None else compared[2].strip()
        return text[0] in "[]{" or (operand is not None and (number(operand) or days(operand)) is not None)


def _unquoted(text: str) -> str | None:
    """Return the text of a JSON string; None if it is none."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, str) else None
