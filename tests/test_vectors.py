"""Worked examples of the sources, as far as one release goes. Named after where they come from."""

import polars as pl
import pytest

import reveil as rv


@pytest.fixture
def table_3_1():
    """Table 1.1 of source 000, published as its table 3.1: two groups of three, told apart by zip code."""
    frame = pl.DataFrame(
        {
            "zip": [44120, 44190, 44100, 44470, 44420, 44420],
            "age": [62, 51, 48, 59, 77, 66],
            "gender": ["F", "M", "M", "F", "M", "M"],
            "disease": ["Flu", "Flu", "HIV", "Flu", "Gastritis", "HIV"],
        }
    )
    return rv.anonymize(frame, rv.Schema(quasi=["zip", "age", "gender"], sensitive="disease"), rv.KAnonymity(3), seed=1)


def test_table_3_1_is_3_anonymous_with_2_groups(table_3_1):
    assert (table_3_1.manifest["achieved"], table_3_1.manifest["groups"]) == ({"k": 3}, 2)


def test_figure_3_1_point_and_window_query(table_3_1):
    point = table_3_1.count("age = 62 and zip = 44120 and gender = F")
    assert (point.lower, point.upper) == (0, 3)  # ids 1, 2, 3 may be it
    assert 0 < point.estimate < 1
    window = table_3_1.count("zip in [44420, 44470] and age >= 50")
    assert (window.lower, window.estimate, window.upper) == (3, 3, 3)  # ids 4, 5, 6 are
