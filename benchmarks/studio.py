"""How long the pages of the studio take, with a table of 1,000,000 rows and two releases of it in the folder.

``python -m benchmarks.studio [--rows N]``. The goals are the specification's: the first page under 300 ms, no page over
a second. What is measured is an answer of the server over the loopback; medians of seven, after one to begin with,
whose time is printed, too. Times depend on the machine, and a busy one is slower.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import threading
import time
import urllib.request
from dataclasses import replace
from http.cookiejar import CookieJar
from pathlib import Path

import uvicorn

from reveil.series.config import load_config
from reveil.series.publishing import publish_file
from reveil.studio.app import application
from reveil.studio.serving import listen
from reveil.studio.settings import studio_settings
from reveil.studio.studio import Studio
from reveil.testing import hospital

FIRST, ANY = 0.3, 1.0  # seconds
TIMES = 7
GUARANTEE = 'kind = "tau-safety"\nm = 4\neffort = "quick"'
PAGES = (
    "/",
    "/new",
    "/series?config=hospital.toml",
    "/publish?config=hospital.toml",
    "/explore?config=hospital.toml",
    "/audit?config=hospital.toml",
    "/hierarchies",
    "/query",
    "/report?config=hospital.toml",
    "/verify?config=hospital.toml",
    "/jobs",
    "/api/v1/series",
)


def run(rows: int = 1_000_000) -> bool:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "hospital.toml").write_text(hospital.config(GUARANTEE, vault="hospital.vault"))
        for month, frame in enumerate(hospital.year(rows, months=2, seed=1), 1):
            frame.write_parquet(folder / f"month-{month}.parquet")
            del frame
            out = folder / f"release-{month}.parquet"
            publish_file(load_config(folder / "hospital.toml"), folder / f"month-{month}.parquet", out)
        return _measure(folder)


def _measure(folder: Path) -> bool:
    settings = studio_settings(folder, port=0)
    with listen(settings) as listening:
        settings = replace(settings, port=listening.getsockname()[1], workers=1)
        studio = Studio.of(settings)
        server = uvicorn.Server(uvicorn.Config(application(studio), log_level="critical", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        while not server.started:
            time.sleep(0.01)
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        token = next(iter(settings.tokens.values()))
        began = time.perf_counter()
        browser.open(f"{settings.address}?token={token}").read()
        first = time.perf_counter() - began
        print(f"{'the first page, with the token, right after the start':60} {first * 1000:8.0f} ms  (goal 300)")
        good = first < FIRST
        for page in PAGES:
            seconds = []
            for _ in range(TIMES + 1):
                began = time.perf_counter()
                browser.open(settings.address.rstrip("/") + page).read()
                seconds.append(time.perf_counter() - began)
            usual = statistics.median(seconds[1:])
            print(f"{page:60} {usual * 1000:8.0f} ms  (once before: {seconds[0] * 1000:.0f}; goal 1,000)")
            good = good and max(usual, seconds[0]) < ANY
        server.should_exit = True
        thread.join(30)
    return good


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    sys.exit(0 if run(parser.parse_args().rows) else 1)
