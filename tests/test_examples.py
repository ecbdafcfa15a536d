"""The default suite tries a part of the examples of a property, and ``make test-slow`` all of them."""

import os
import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rarely import in_part

tried = []


@settings(max_examples=60, database=None)
@given(st.integers())
def test_a_property_is_tried_so_often(number):
    tried.append(number)


def test_it_was():
    """Runs after the property, on the same worker or not at all."""
    if tried:
        everything = os.environ.get("REVEIL_EXAMPLES") == "all"
        assert len(tried) == (60 if everything else 20)


def test_few_examples_are_not_fewer():
    assert [in_part(asked) for asked in (1, 4, 8, 15, 24, 100)] == [1, 4, 8, 8, 8, 33]


def test_the_slow_suite_takes_all():
    makefile = (Path(__file__).parents[1] / "Makefile").read_text()
    assert re.search(r'REVEIL_EXAMPLES=all \S+ -m pytest --services -m "\(slow or hypothesis or', makefile)
