"""What every format of files must satisfy."""

from __future__ import annotations

import datetime as dt
from contextlib import suppress
from typing import TYPE_CHECKING

import polars as pl

from reveil.core.errors import DataError, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from reveil.tables.formats.base import Format

HIDDEN = "vulvodynia"  # a cell that no message may show
TEXTS = [HIDDEN, None, "[21, 23]", "{a, b}", 'say "x", y;\tz', "two\nlines", "\u00e9 \U0001f600", "0071"]
NAMES = ["age", "z i p", 'a "b", c', "=1+1", "@x", '"quoted"', "\u00e9", "{lo}"]


def check_format(form: Format, path: Path) -> None:
    """Write tables of releases to a file, read them back, and damage it; ``path`` has the ending of the format.

    A format that is only read must refuse to write, and read or refuse any bytes.
    """
    if form.read_only:
        _check_read_only(form, path)
        return
    table = pl.DataFrame({name: TEXTS[turn:] + TEXTS[:turn] for turn, name in enumerate(NAMES)})
    _check_round_trip(form, path, table)
    _check_round_trip(form, path, table.clear())
    _check_round_trip(form, path, pl.DataFrame({"alone": TEXTS}))
    if not form.text_only:
        _check_round_trip(form, path, _typed())
    _check_names(form, path, table)
    _check_damage(form, path, table)


def _typed() -> pl.DataFrame:
    interval = pl.Struct({"lo": pl.Int64, "hi": pl.Int64, "null": pl.Boolean})
    return pl.DataFrame(
        {
            "whole": pl.Series([2**63 - 1, None, -(2**63)], dtype=pl.Int64),
            "unsigned": pl.Series([2**64 - 1, None, 0], dtype=pl.UInt64),
            "number": [1e300, None, -0.1],
            "date": [dt.date(1, 1, 1), None, dt.date(9999, 12, 31)],
            "moment": [dt.datetime(2024, 2, 29, 23, 59, 59, 999999), None, dt.datetime(1900, 1, 1)],
            "zoned": pl.Series([dt.datetime(2024, 3, 31, 1), None, dt.datetime(2024, 6, 1)]).dt.replace_time_zone(
                "UTC"
            ),
            "time": [dt.time(23, 59, 59), None, dt.time(0)],
            "flag": [True, None, False],
            "interval": pl.Series(
                [{"lo": 1, "hi": 2, "null": False}, {"lo": None, "hi": None, "null": True}, None], dtype=interval
            ),
            "set": pl.Series([["a", None], [], None], dtype=pl.List(pl.String)),
        }
    )


def _check_round_trip(form: Format, path: Path, table: pl.DataFrame) -> None:
    form.write(table, path)
    found = form.read(path)
    read = found.frame.rename(form.plain_name)
    assert read.equals(table, null_equal=True), "what was written reads back as it was"
    assert read.columns == table.columns, "names read back as they were"
    assert found.text_only >= form.text_only, "what is written as text is read as text"
    assert not form.says_more(path), "a release is its table and nothing else"
    assert [form.plain_name(name) for name in found.frame.columns] == table.columns
    first = path.read_bytes()
    form.write(pl.concat([table[:1], table[1:]], rechunk=False), path)
    assert path.read_bytes() == first, "the bytes depend on the cells alone"


class _RefusedNamesError(DataError):
    """What a check of names raised."""


def _check_names(form: Format, path: Path, table: pl.DataFrame) -> None:
    plain = table.select("age", "z i p")
    form.write(plain, path)
    assert form.names(path) == plain.columns, "names can be guessed, so that raw tables are not written over"
    told: list[list[str]] = []

    def note(names: Sequence[str], *, file: str | None = None, header_line: bool = False) -> None:  # noqa: ARG001
        assert file == str(path), "the check of names is told which file it is about"
        told.append(list(names))

    def refuse(names: Sequence[str], *, file: str | None = None, header_line: bool = False) -> None:  # noqa: ARG001
        raise _RefusedNamesError("refused")

    form.read(path, check_names=note)
    assert told == [plain.columns], "the names of all columns are checked, once"
    try:
        form.read(path, check_names=refuse)
    except _RefusedNamesError:
        pass
    else:
        raise AssertionError("a table whose names are refused is not read")
    if form.text_only:
        read = form.read(path, null_values=["0071"]).frame
        assert read["age"].null_count() == plain["age"].null_count() + 1, "marks for missing cells are null"


def _check_read_only(form: Format, path: Path) -> None:
    with suppress(OSError):
        form.write(pl.DataFrame({"a": ["1"]}), path)
        raise AssertionError("a format that is only read writes nothing")
    for start in (b"", b"PK\x03\x04", b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"ARROW1\0\0", b"a,b\n"):
        check_damaged(form, path, start + HIDDEN.encode() + bytes(range(256)))


def _check_damage(form: Format, path: Path, table: pl.DataFrame) -> None:
    form.write(table, path)
    check_damaged(form, path, path.read_bytes())


def check_damaged(form: Format, path: Path, good: bytes) -> None:
    """Cut a file and put other bytes into it: it is read or refused, and no cell is shown."""
    step = max(len(good) // 40, 1)
    damaged = [good[:size] for size in range(0, len(good), step)]
    damaged += [good[:at] + b"\xff\x00\n" + good[at + 3 :] for at in range(0, len(good), step)]
    for data in damaged:
        path.write_bytes(data)
        form.names(path)
        said = ""
        try:
            form.read(path)
        except InputError as error:
            said = str(error)
        assert HIDDEN not in said, "messages show no cell"
    path.unlink()
    assert form.names(path) == [], "where there is no file there are no names"
    with suppress(InputError):
        form.read(path)
        raise AssertionError("a file that is not there is refused")
