"""Groups by assignment where the share of a value is at its limit, above it, or no whole number."""

import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import InfeasibleError

SCHEMA = rv.Schema(quasi=["a", "b"], sensitive="s")


def table(rows, often):
    """Make a table in which one value has ``often`` of the rows and seven share the others."""
    values = ["often"] * often + [f"v{i % 7}" for i in range(rows - often)]
    return pl.DataFrame({"a": [i * 37 % 90 for i in range(rows)], "b": [i * 11 % 5 for i in range(rows)], "s": values})


@pytest.mark.parametrize("limit", [1.5, 2.5, 3.3])
@pytest.mark.parametrize("rows", [10, 57, 400])
def test_a_bound_between_two_whole_numbers_is_kept(rows, limit):
    release = rv.anonymize(table(rows, int(rows / limit)), SCHEMA, rv.FrequencyDiversity(limit), seed=1)
    assert release.manifest["achieved"]["l"] >= limit


def test_a_table_with_too_many_of_a_value_is_one_cell_to_anatomy():
    method = rv.Anatomy(recode="boxes")
    release = rv.anonymize(table(12, 8), SCHEMA, rv.KAnonymity(3), method=method, suppress=0.7, seed=1)
    assert release.manifest["suppressed"] > 0
    with pytest.raises(InfeasibleError, match="at most 6 may be suppressed"):
        rv.anonymize(table(7, 7), SCHEMA, rv.KAnonymity(3), method=method, suppress=0.99, seed=1)


@pytest.mark.parametrize("effort", ["quick", "normal"])
def test_a_limit_on_suppression_never_widens_cells(effort):
    frame = table(121, 40).with_columns(pl.when(pl.int_range(121) == 7).then(5000).otherwise("a").alias("a"))
    method = rv.Mondrian(effort=effort)
    without, with_limit = (
        rv.anonymize(frame, SCHEMA, rv.KAnonymity(5), method=method, suppress=share, seed=1) for share in (0, 0.1)
    )
    assert with_limit.manifest["suppressed"] > 0
    assert rv.measure(frame, with_limit, SCHEMA)["gcp"] < rv.measure(frame, without, SCHEMA)["gcp"]
