"""The disk and Spark find the same."""

import pytest

import reveil as rv
from reveil.engines.disk import DiskEngine
from tests.adversary.in_shards.series import ATTACKS, both, differences, naive, safe, snapshots
from tests.engines.spark import clusters

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(clusters.reason() is not None, reason=str(clusters.reason())),
]


@pytest.fixture(scope="module")
def spark():
    """Start an engine for the tests of this module."""
    from reveil.engines.spark.session import open_session
    from reveil.engines.spark.shards import SparkEngine

    started, _ = open_session("local[2]")
    yield lambda: SparkEngine(60, None)
    started.stop()


def test_a_broken_table(tmp_path, spark):
    paths, truth = naive(tmp_path, snapshots(120, 2), rv.KAnonymity(k=4))
    here, there = both(paths, truth, "events", threshold=0.5, engine=spark())
    _, disk = both(paths, truth, "events", threshold=0.5, engine=DiskEngine(60, workers=1))
    assert there == disk
    assert differences(here, there) == []


def test_a_tau_safe_series(tmp_path, spark):
    paths, truth = safe(tmp_path, snapshots(120, 2), rv.TauSafety(m=2))
    here, there = both(paths, truth, attacks=(*ATTACKS, "tau"), engine=spark())
    _, disk = both(paths, truth, attacks=(*ATTACKS, "tau"), engine=DiskEngine(60, workers=1))
    assert there == disk
    assert differences(here, there) == []
    assert there["summary"]["held"]
