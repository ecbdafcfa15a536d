"""One Spark session for all tests of this process: to start one takes longer than most tests."""

import pytest

from tests.engines.spark import clusters


@pytest.fixture(scope="session", autouse=True)
def _spark_is_here():
    if (reason := clusters.reason()) is not None:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def session():
    """Return a session as Reveil starts it, for engines to use and to leave as it is."""
    from reveil.engines.spark.session import open_session

    started, ours = open_session("local[2]")
    assert ours
    yield started
    started.stop()
