"""Charts: whatever numbers they are given, they are sound SVG that says what it shows."""

from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reveil.reporting import charts

NUMBERS = st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True), st.integers(-(10**12), 10**12))


def read(chart):
    svg = charts.svg(chart)
    root = ElementTree.fromstring(svg)  # noqa: S314  (made here)
    assert root.attrib["role"] == "img"
    title, desc = root.findall("title")[0], root.findall("desc")[0]
    assert root.attrib["aria-labelledby"].split() == [title.attrib["id"], desc.attrib["id"]]
    assert "nan" not in svg.replace("--nan", "").lower().split("</desc>")[1]
    return root, title.text, desc.text


def test_a_line_with_a_gap_a_bound_and_names_that_are_not_markup():
    chart = charts.lines(
        "a < b & c", [1, 2, 3, 4], {"x<y": [0.1, None, 0.3, 0.2]}, x_label="k", y_label="t", bound=0.25
    )
    root, title, desc = read(chart)
    assert title == "a < b & c"
    assert desc == "x<y: 0.1 at 1, 0.3 at 3, 0.2 at 4. The bound is 0.25."
    line = next(path.attrib["d"] for path in root.findall("path") if path.attrib.get("fill") == "none")
    assert [line.count(letter) for letter in "ML"] == [2, 1]  # a gap begins anew
    assert any((text.text or "") == "bound 0.25" for text in root.findall("text"))
    svg = charts.svg(chart)
    assert "currentColor" in svg
    assert "var(--chart-1" in svg


def test_bars_and_a_timeline_have_a_rectangle_for_each_number():
    root, _, desc = read(charts.bars("sizes", ["2", "3"], [5, None], y_label="groups"))
    assert len(root.findall("rect")) == 1
    assert desc == "groups: 5 at 2."
    root, _, _ = read(charts.bars("two", ["a", "b"], {"p": [1, 2], "q": [3, 4]}, y_label="rows"))
    assert len(root.findall("rect")) == 4
    up, down, beside = {"new": [3, 1]}, {"gone": [0, 2]}, {"changed": [None, 1]}
    root, _, _ = read(charts.timeline("t", ["1", "2"], up, down, beside, y_label="people"))
    assert len(root.findall("rect")) == 4


def test_a_long_name_stays_inside_the_picture():
    root, _, desc = read(charts.lines("t", [1], {"x" * 150: [1]}, x_label="x", y_label="y"))
    assert max(len(text.text or "") for text in root.findall("text")) == charts.LONG
    assert "x" * 150 in desc


def test_many_numbers_are_summed_up_in_words():
    _, _, desc = read(charts.lines("t", range(100), {"a": list(range(100))}, x_label="x", y_label="y"))
    assert desc == "a: from 0 at 0 to 99 at 99, between 0 and 99."


@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=30), st.booleans(), st.booleans(), NUMBERS)
@settings(max_examples=60, deadline=None)
def test_any_numbers_can_be_drawn(pairs, log_x, log_y, bound):
    values = [value for _, value in pairs]
    x = [0.0 if place is None else place for place, _ in pairs]
    read(charts.lines("t", x, {"a": values}, x_label="x", y_label="y", log_x=log_x, log_y=log_y, bound=bound))
    read(charts.bars("t", [str(n) for n in range(len(values))], values, y_label="y"))


@pytest.mark.parametrize("empty", [{}, {"a": []}])
def test_nothing_can_be_drawn(empty):
    read(charts.lines("t", [], empty, x_label="x", y_label="y"))


def test_a_file_of_its_own_says_what_it_is():
    chart = charts.bars("t", ["a"], [1], y_label="y")
    root = ElementTree.fromstring(charts.svg(chart, file=True))  # noqa: S314  (made here)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "xmlns" not in charts.svg(chart)
