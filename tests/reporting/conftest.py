"""A ward that was published three times, and the report on it: made once, and read by many tests."""

import pytest

from reveil.reporting import report
from reveil.series.config import load_config
from reveil.series.publishing import publish_file
from tests.series.cases import TAU, config, written

CHANGES = {"p20": "zoster", "p21": "flu"}


def published(folder, guarantee=TAU, **more):
    """Publish three snapshots: people come, go, change and return."""
    path = config(folder, guarantee, **more)
    raws = [
        written(folder, "raw1.csv", 0, 40),
        written(folder, "raw2.csv", 4, 52, **CHANGES),
        written(folder, "raw3.csv", 2, 60, **CHANGES),
    ]
    outs = [folder / f"r{n}.csv" for n in (1, 2, 3)]
    for raw, out in zip(raws, outs, strict=True):
        publish_file(load_config(path), raw, out)
    return path, raws, outs


@pytest.fixture(scope="session")
def ward(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ward")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("REVEIL_KEY", raising=False)
        path, raws, outs = published(folder)
        content = report(path, truth=raws, out=folder / "report.html")
    return path, raws, outs, content, (folder / "report.html").read_text()
