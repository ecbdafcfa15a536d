"""Cells as text and back."""

from datetime import date, datetime

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reveil.tables import notation
from reveil.tables.notation import (
    SUPPRESSED_VALUE,
    Form,
    from_text,
    label_cells,
    quoted,
    split_label,
    to_text,
    unquoted,
)

SCALARS = {
    "integer": (st.integers(-(2**63), 2**63 - 1), pl.Int64()),
    "unsigned": (st.integers(0, 2**64 - 1), pl.UInt64()),
    "float": (st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0), pl.Float64()),
    "date": (st.dates(date(1, 1, 1), date(9999, 12, 31)), pl.Date()),
    "moment": (st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)), pl.Datetime("us")),
    "time": (st.times(), pl.Time()),
    "decimal": (st.decimals(-1000, 1000, places=3), pl.Decimal(20, 3)),
}


@pytest.mark.parametrize("kind", SCALARS)
def test_intervals_round_trip(kind):
    values, dtype = SCALARS[kind]

    @settings(deadline=None)
    @given(st.lists(st.tuples(values, values, st.booleans()), max_size=8), st.booleans())
    def check(drawn, null_alone):
        cells = [{"lo": min(a, b), "hi": max(a, b), "null": n} for a, b, n in drawn]
        cells += [{"lo": None, "hi": None, "null": True}] if null_alone else []
        typed = pl.Series("x", cells, dtype=pl.Struct({"lo": dtype, "hi": dtype, "null": pl.Boolean}))
        text = to_text(typed, Form.INTERVAL)
        assert text.name == "x"
        assert from_text(text, Form.INTERVAL, dtype).equals(typed)

    check()


anything = (
    st.text(max_size=6) | st.sampled_from(["*", "null", "a | null", "{a, b}", "[1, 2]", '"', "=1", "a, b", " ", ""])
).filter(lambda text: text != SUPPRESSED_VALUE)  # the one text that means something else inside Reveil


@settings(deadline=None)
@given(
    st.lists(st.lists(anything, max_size=4, unique=True), max_size=5), st.lists(st.booleans(), min_size=5, max_size=5)
)
def test_sets_round_trip(drawn, nulls):
    lists = [
        [*sorted(members), *([None] if null or not members else [])]
        for members, null in zip(drawn, nulls, strict=False)
    ]
    # Published text is in NFC, as all text of a snapshot is.
    typed = pl.Series("x", lists, dtype=pl.List(pl.String))
    typed = pl.Series(
        "x",
        [[None if m is None else pl.Series([m]).str.normalize("NFC")[0] for m in c] for c in lists],
        dtype=pl.List(pl.String),
    )
    text = to_text(typed, Form.SET)
    assert from_text(text, Form.SET, pl.String()).to_list() == typed.to_list()


@settings(deadline=None)
@given(st.lists(anything | st.none(), max_size=8))
def test_text_values_round_trip(drawn):
    text = pl.Series("x", drawn, dtype=pl.String)
    written = quoted(text)
    assert unquoted(written).equals(text)
    assert not written.str.contains(r"^[=+\-@\t\r]").any(), "no cell is a formula to a spreadsheet"


@settings(deadline=None)
@given(st.lists(st.tuples(anything, st.booleans(), st.booleans()), max_size=8))
def test_labels_round_trip(drawn):
    labels = pl.Series([a for a, _, _ in drawn], dtype=pl.String)
    null, exact = (pl.Series([d[i] for d in drawn], dtype=pl.Boolean) for i in (1, 2))
    back, back_null = split_label(label_cells(labels, null, exact=exact))
    assert back.equals(labels)
    assert back_null.equals(null)


def test_the_notation_is_that_of_the_specification():
    struct = pl.Struct({"lo": pl.Int64, "hi": pl.Int64, "null": pl.Boolean})
    rows = [(21, 21, False), (21, 23, False), (21, 23, True), (None, None, True), (5, 5, True)]
    typed = pl.Series([dict(zip(("lo", "hi", "null"), row, strict=True)) for row in rows], dtype=struct)
    assert to_text(typed, Form.INTERVAL).to_list() == ["21", "[21, 23]", "[21, 23] | null", None, "5 | null"]
    sets = pl.Series([["nurse"], ["a", "b"], ["a, b", "c"], ["a", None], [None], ["*"]], dtype=pl.List(pl.String))
    assert to_text(sets, Form.SET).to_list() == ["nurse", "{a, b}", '{"a, b", c}', "a | null", None, '"*"']
    raw = pl.Series(["*", "[1, 2]", "{a}", 'say "x"', '"x"', "", "plain", None])
    expected = ['"*"', '"[1, 2]"', '"{a}"', 'say "x"', '"\\"x\\""', '""', "plain", None]
    assert to_text(raw, Form.VALUE).to_list() == expected


def test_unreadable_cells_raise_without_their_text():
    with pytest.raises(ValueError, match=r"^a cell cannot be read$"):
        from_text(pl.Series(["[secret, 3]"]), Form.INTERVAL, pl.Int64())


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from(["a", "b c", "x-1", "{", "a, b", '"q"', "ä", "", "=1", None]), min_size=1, max_size=4)
    )
)
def test_sets_without_quotes_are_written_as_the_careful_way_writes_them(drawn):
    cells = pl.Series("c", drawn, dtype=pl.List(pl.String))
    plain = [cell for cell in drawn if all(member in ("a", "b c", "x-1", None) for member in cell)]
    for some in (cells, pl.Series("c", plain, dtype=pl.List(pl.String))):
        text = to_text(some, Form.SET)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(notation, "_needs_care", lambda _: True)
            assert to_text(some, Form.SET).equals(text, null_equal=True)
        read = from_text(text, Form.SET, pl.String())
        assert to_text(read, Form.SET).equals(text, null_equal=True)
