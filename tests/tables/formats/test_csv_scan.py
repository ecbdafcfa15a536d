"""The compiled scan, its plain twin and Python's csv module agree."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reveil.core.kernels.csv_scan import scan
from tests.core.kernels.plain import csv_scan as plain

COMMA = ord(",")


def compiled(data: bytes) -> tuple[plain.Scan, list[int]]:
    lines = np.full(len(data) + 1, -1, np.int64)
    found = scan(np.frombuffer(data, np.uint8), COMMA, lines)
    return found, lines[: found[4]].tolist()


soup = st.lists(st.sampled_from([b"a", b'"', b'""', b",", b"\n", b"\r\n", b"\r", b"\0", b";"]), max_size=20).map(
    b"".join
)
headers = st.sampled_from([b"", b"a\n", b"a,b\n", b'"a\nb",c\r\n'])


@given(headers, soup)
@settings(max_examples=400, deadline=None)
def test_twins_agree_on_any_bytes(header, body):
    assert compiled(header + body) == plain.scan(header + body, COMMA)


@given(headers.filter(bool), soup)
@settings(max_examples=400, deadline=None)
def test_what_passes_is_what_the_csv_module_reads(header, body):
    found, _ = compiled(header + body)
    if found[0] != plain.FINE:
        return
    rows = list(csv.reader(io.StringIO((header + body).decode(), newline=""), strict=True))
    columns, records = found[3], found[4]
    if columns > 1:
        rows = [row for row in rows if row]
        assert all(len(row) == columns for row in rows)
    else:
        while rows and not rows[-1]:
            rows.pop()
    assert len(rows) == records + 1


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a,b\n1,2\n", (plain.FINE, 0, 0, 2, 1, 0)),
        (b"a,b\n1,2", (plain.FINE, 0, 0, 2, 1, 0)),
        (b"a,b\n1,2\n\n\r\n", (plain.FINE, 0, 0, 2, 1, 0)),
        (b'a,b\n1,"x\ny"\n1\n', (plain.RAGGED, 4, 1, 2, 1, 1)),
        (b"a,b\n1,2,3\n", (plain.RAGGED, 2, 3, 2, 0, 0)),
        (b"a,b\n1,2\n\n3,4\n", (plain.BLANK, 3, 0, 2, 1, 0)),
        (b"a\n1\n\n\n3\n\n", (plain.FINE, 0, 0, 1, 4, 0)),
        (b'a,b\n1,"2\n3,4\n', (plain.UNCLOSED, 2, 0, 2, 0, 2)),
        (b'a,b\n1,x"y\n', (plain.STRAY_QUOTE, 2, 0, 2, 0, 0)),
        (b'a,b\n1,"x"y\n', (plain.STRAY_QUOTE, 2, 0, 2, 0, 0)),
        (b"a,b\r1,2\r", (plain.BARE_CR, 1, 0, 0, 0, 0)),
        (b"a,b\n1,\0\n", (plain.NUL, 2, 0, 2, 0, 0)),
        (b"\na,b\n", (plain.NO_HEADER, 1, 0, 0, 0, 0)),
    ],
)
def test_faults_are_placed(data, expected):
    assert compiled(data)[0] == expected == plain.scan(data, COMMA)[0]


def test_lines_of_records_count_line_ends_inside_quotes():
    assert compiled(b'"a\nb",c\n1,2\n"\n\n",3\n4,5\n')[1] == [3, 4, 7]
    assert compiled(b"a\n1\n\n\n2\n")[1] == [2, 3, 4, 5]
