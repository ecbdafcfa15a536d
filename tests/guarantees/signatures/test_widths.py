"""What a group costs: by published cells, or, where it has none of its own, by the records between its members."""

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.core.kernels import assigning
from reveil.guarantees.signatures.forms import ReleaseForm
from reveil.guarantees.signatures.searching import search_of
from reveil.guarantees.signatures.widths import linked_widths, published_widths, value_distances
from reveil.models.encoding import encode
from reveil.tables.snapshot import read_snapshot
from reveil.testing import hospital

SCHEMA = rv.Schema(person="pid", quasi=("age", "town"), sensitive="value", weights={"town": 2.0})


def _codes(rows):
    frame = pl.DataFrame(rows, schema=["age", "town"], orient="row").with_row_index("pid")
    return encode(read_snapshot(frame.with_columns(value=pl.lit("v")), SCHEMA))


def _cost(codes, shape, members):
    cells = np.array(members, np.int32)
    return float(assigning.widths(cells, np.array([0, len(cells)]), shape)) / len(cells)


def test_linked_groups_cost_the_records_between_their_members():
    codes = _codes([(20, "a"), (21, "a"), (21, "a"), (90, "b")])
    shape = linked_widths(codes, np.arange(codes.n))
    # Between 20 and 90 lie the two of 21 and half of each end: 3 of 4; the same with a and b, which count twice.
    assert _cost(codes, shape, [0, 3]) == pytest.approx(0.75 + 2 * (4 - 0.5 - 1.5) / 4)
    assert _cost(codes, shape, [1, 2]) == 0
    # By published cells, the two of 20 and 21 are near, however many lie between.
    assert _cost(codes, published_widths(codes, np.arange(codes.n)), [0, 1]) == pytest.approx(1 / 70)
    assert _cost(codes, shape, [0, 1]) == pytest.approx(1.5 / 4)


def test_a_missing_value_lies_behind_all_others():
    codes = _codes([(20, "a"), (30, "a"), (None, "a"), (None, "a")])
    shape = linked_widths(codes, np.arange(codes.n))
    assert _cost(codes, shape, [2, 3]) == 0
    assert _cost(codes, shape, [1, 2]) < _cost(codes, shape, [0, 2])


def test_linked_distances_of_values_are_those_of_their_records():
    codes = _codes([(20, "a"), (20, "a"), (50, "a"), (51, "a")])
    found = value_distances(codes, np.array([0, 0, 1, 2], np.int32), np.arange(4), linked=True)
    assert np.allclose(found, found.T)
    assert found[0, 1] == pytest.approx(1.5 / 4)
    assert found[1, 2] == pytest.approx(1 / 4)
    assert (np.diag(found) == 0).all()


@pytest.mark.parametrize("form", list(ReleaseForm))
def test_groups_of_two_tables_are_searched_by_their_links(form, tmp_path, monkeypatch):
    seen = []

    def spy(effort, codes, *, linked=False):
        seen.append(linked)
        return search_of(effort, codes, linked=linked)

    monkeypatch.setattr("reveil.guarantees.signatures.tau_safety.search_of", spy)
    series = rv.Series.open(tmp_path / "vault", hospital.schema(), rv.TauSafety(m=3, form=form), seed=1)
    series.publish(hospital.month(200, seed=5))
    assert seen == [form is not ReleaseForm.BOXES]
