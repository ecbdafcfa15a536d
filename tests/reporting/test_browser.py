"""The page in a real browser: it opens from a file, complains of nothing and asks nobody for anything."""

import shutil
import subprocess

import pytest

CHROMIUM = shutil.which("chromium")
QUIET = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
QUIET += ["--disable-component-update", "--disable-sync", "--disable-quic", "--enable-logging=stderr", "--v=0"]


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")
def test_a_browser_opens_the_page_and_complains_of_nothing(ward, tmp_path):
    done = subprocess.run(
        [
            CHROMIUM,
            *QUIET,
            f"--user-data-dir={tmp_path / 'profile'}",
            "--dump-dom",
            ward[0].with_name("report.html").as_uri(),
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
