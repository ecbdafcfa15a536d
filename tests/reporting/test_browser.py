"""The page in a real browser: it opens from a file, complains of nothing and asks nobody for anything."""

import shutil
import subprocess

import pytest

from reveil.config import load_config
from reveil.publishing import publish_file
from reveil.reporting import report
from tests.series.cases import config, written

CHROMIUM = shutil.which("chromium")
QUIET = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
QUIET += ["--disable-component-update", "--disable-sync", "--disable-quic", "--enable-logging=stderr", "--v=0"]


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")
def test_a_browser_opens_the_page_and_complains_of_nothing(tmp_path, monkeypatch):
    monkeypatch.delenv("REVEIL_KEY", raising=False)
    path = config(tmp_path)
    raws = [written(tmp_path, "raw1.csv", 0, 40), written(tmp_path, "raw2.csv", 4, 52)]
    for number, raw in enumerate(raws, start=1):
        publish_file(load_config(path), raw, tmp_path / f"r{number}.csv")
    report(path, truth=raws, out=tmp_path / "report.html")
    done = subprocess.run(
        [
            CHROMIUM,
            *QUIET,
            f"--user-data-dir={tmp_path / 'profile'}",
            "--dump-dom",
            (tmp_path / "report.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    page = done.stdout
    assert "</html>" in page
    assert page.count("<section") >= 8
    assert page.count('role="img"') >= 8
    assert "CONSOLE" not in done.stderr  # the page's own complaints; the rest of the log is the browser's
    assert "Refused to" not in done.stderr
