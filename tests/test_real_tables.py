"""Real tables, where they lie beside the repository."""

from pathlib import Path

import polars as pl
import pytest

import reveil as rv
from reveil.tables.snapshot import read_snapshot
from reveil.verification import verify

DATA = Path(__file__).parent.parent.parent / "shared" / "data"
pytestmark = pytest.mark.shared


def table(name):
    path = DATA / f"{name}.parquet"
    if not path.exists():
        pytest.skip("the real tables are not beside the repository")
    return pl.read_parquet(path)


def test_adult_with_the_hierarchies_of_arx(tmp_path):
    frame = table("adult_arx")
    quasi = [name for name in frame.columns if name != "occupation"]
    hierarchies = {name: DATA / "adult_hierarchies" / f"adult_hierarchy_{name}.csv" for name in quasi}
    schema = rv.Schema(quasi=quasi, sensitive="occupation", hierarchies=hierarchies)
    model = rv.KAnonymity(10) & rv.DistinctDiversity(5)
    release = rv.anonymize(frame, schema, model, seed=1)
    verify(rv.Release.read(release.write(tmp_path / "adult.csv")), read_snapshot(frame, schema), model)
    # ARX with local recoding: 263 classes at k = 10, l = 5, certainty penalty 0.166 at k = 10 alone.
    assert release.manifest["groups"] > 1000
    assert rv.measure(frame, release, schema)["gcp"] < 0.12


@pytest.mark.parametrize(
    ("name", "quasi", "sensitive"),
    [
        ("adult_uci_full", ["age", "workclass", "education", "sex", "hours-per-week"], "occupation"),
        pytest.param("fars_1998_2010", None, None, marks=pytest.mark.slow),
    ],
)
def test_tables_with_nulls_and_many_columns(tmp_path, name, quasi, sensitive):
    frame = table(name)
    quasi = quasi or frame.columns[:6]
    sensitive = sensitive or frame.columns[-1]
    frame = frame.select(*quasi, sensitive)
    schema = rv.Schema(quasi=quasi, sensitive=sensitive)
    release = rv.anonymize(frame, schema, rv.KAnonymity(5), seed=1)
    again = rv.Release.read(release.write(tmp_path / "r.parquet"))
    verify(again, read_snapshot(frame, schema), rv.KAnonymity(5))
    assert release.text.group_by(quasi).len()["len"].min() >= 5
