"""Forms and files that are sent: read piece by piece, never more than is allowed, files into a private folder.

A form shows its token before its files: a file that comes without one is not written at all.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect

from reveil.studio.problems import Problem, StudioError
from reveil.studio.security import CSRF_HEADER, check_form

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.requests import Request

FORM_LIMIT = 1 << 20  # bytes of everything that is no file
_MOST_FIELDS = 2_000
_HEAD = 200  # bytes that a part counts for at least
_SPARE = 64 << 20  # bytes of the disk that stay free


@dataclass
class SentForm:
    """What a form holds: every field with its values, and the files that came with it."""

    fields: dict[str, list[str]] = field(default_factory=dict)
    files: list[tuple[str, Path]] = field(default_factory=list)  # the name that was given, and where it lies

    def get(self, name: str) -> str | None:
        """Return the value of a field; None where it is empty or not there."""
        found = self.fields.get(name, [""])[-1].strip()
        return found or None

    def several(self, name: str) -> list[str]:
        """Return all the values of a field."""
        return [value for value in self.fields.get(name, []) if value]

    def number(self, name: str) -> int | None:
        """Return a whole number."""
        found = self.get(name)
        if found is None:
            return None
        try:
            return int(found)
        except ValueError:
            raise StudioError(Problem(400, f"{name} must be a whole number.", None, "Write it in digits.")) from None

    def real(self, name: str) -> float | None:
        """Return a number."""
        found = self.get(name)
        try:
            return None if found is None else float(found)
        except ValueError:
            raise StudioError(Problem(400, f"{name} must be a number.", None, "Write it in digits.")) from None


async def read_form(request: Request, private: Path, limit: int) -> SentForm:
    """Read a form that changes something: its token is checked before any file of it is written."""
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    header = request.headers.get(CSRF_HEADER)
    length = request.headers.get("content-length", "")
    if length.isdecimal() and (len(length) > 18 or int(length) > limit + FORM_LIMIT):
        raise too_large(limit)
    if kind == b"multipart/form-data":
        receiver = _Receiver(request, private, limit, shown=header)
        return await receiver.read(options.get(b"boundary", b""))
    form = SentForm()
    body = await read_body(request, FORM_LIMIT)
    if kind == b"application/x-www-form-urlencoded":
        from urllib.parse import parse_qsl

        try:
            pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
        except ValueError:
            raise _unreadable() from None
        for name, value in pairs:
            form.fields.setdefault(name, []).append(value)
    check_form(request.scope, header or form.get("csrf"))
    return form


async def read_body(request: Request, limit: int) -> bytes:
    """Read a body that is no file."""
    parts, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise too_large(limit)
        parts.append(chunk)
    return b"".join(parts)


class _Receiver:
    """Takes a form of several parts as it comes."""

    def __init__(self, request: Request, private: Path, limit: int, *, shown: str | None) -> None:
        self.request, self.private, self.limit = request, private, limit
        self.form = SentForm()
        self.checked = False
        if shown is not None or request.scope["state"]["by_token"]:
            check_form(request.scope, shown)
            self.checked = True
        self._head: list[bytes] = [b"", b""]
        self._options: dict[bytes, bytes] = {}
        self._value = bytearray()
        self._plain = self._written = 0
        self._file: BinaryIO | None = None

    async def read(self, boundary: bytes) -> SentForm:
        """Read until the end, or until it is too much."""
        if not boundary or len(boundary) > 200:
            raise _unreadable()
        parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin,
                "on_header_field": lambda data, start, end: self._header(0, data[start:end]),
                "on_header_value": lambda data, start, end: self._header(1, data[start:end]),
                "on_header_end": self._header_end,
                "on_headers_finished": self._opened,
                "on_part_data": self._data,
                "on_part_end": self._end,
            },
        )
        try:
            async for chunk in self.request.stream():
                if chunk:
                    parser.write(chunk)
            parser.finalize()
        except (FormParserError, ClientDisconnect):
            raise _unreadable() from None
        finally:
            if self._file is not None:
                self._file.close()
        if not self.checked:
            check_form(self.request.scope, self.form.get("csrf"))
        return self.form

    def _begin(self) -> None:
        self._count(_HEAD)  # an empty part is not for nothing
        self._options, self._value = {}, bytearray()

    def _header(self, place: int, data: bytes) -> None:
        self._count(len(data))
        self._head[place] += data

    def _count(self, size: int) -> None:
        self._plain += size
        if self._plain > FORM_LIMIT:
            raise too_large(FORM_LIMIT)

    def _header_end(self) -> None:
        if self._head[0].lower() == b"content-disposition":
            self._options = parse_options_header(self._head[1])[1]
        self._head = [b"", b""]

    def _opened(self) -> None:
        """Begin a part; a file only after the form has shown its token."""
        name = self._options.get(b"filename")
        if name is None or not name.strip():
            return
        if not self.checked:
            check_form(self.request.scope, self.form.get("csrf"))
            self.checked = True
        if len(self.form.files) >= 20:
            raise StudioError(Problem(413, "These are too many files.", None, "Send them a few at a time."))
        path = self.private / f"part-{len(self.form.files)}"
        self._file = path.open("xb")
        path.chmod(0o600)
        self.form.files.append((name.decode("utf-8", "replace"), path))

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._file is not None:
            self._written += end - start
            if self._written > self.limit:
                raise too_large(self.limit)
            if shutil.disk_usage(self.private).free < _SPARE:
                raise StudioError(Problem(413, "The disk is nearly full.", None, "Make room, and send it again."))
            self._file.write(data[start:end])
            return
        self._count(end - start)
        self._value += data[start:end]

    def _end(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        elif (name := self._options.get(b"name")) is not None and b"filename" not in self._options:
            value = bytes(self._value).decode("utf-8", "replace")
            self.form.fields.setdefault(name.decode("utf-8", "replace"), []).append(value)


def too_large(limit: int) -> StudioError:
    """Return the refusal of more than is allowed."""
    size = f"{limit / (1 << 20):,.0f} MB" if limit >= 1 << 20 else f"{limit:,} bytes"
    return StudioError(
        Problem(413, f"At most {size} are taken at once.", None, "Put a larger table into the folder by hand.")
    )


def _unreadable() -> StudioError:
    return StudioError(Problem(400, "This form cannot be read.", None, "Open the page again and repeat it."))
