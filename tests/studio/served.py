"""A studio that serves a folder with a made-up hospital, in a thread of the tests or as a command of its own."""

import re
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import uvicorn

from reveil.studio.app import application
from reveil.studio.serving import listen
from reveil.studio.settings import studio_settings
from reveil.studio.studio import Studio
from reveil.testing import hospital

KEY = "3f" * 32
TAU = 'kind = "tau-safety"\nm = 3'
MONTHS = ("january.csv", "february.csv", "march.csv")


def fill(folder, persons=240, guarantee=TAU):
    """Write three extracts and a config."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, frame in zip(MONTHS, hospital.year(persons, months=3, seed=5), strict=True):
        frame.write_csv(folder / name)
    text = hospital.config(guarantee, vault="hospital.vault")
    (folder / "hospital.toml").write_text(text.replace("[series]", "# kept\n[series]\nseed = 7"))
    return folder


class Served:
    """A studio that runs: its address, its token, and clients for it."""

    def __init__(self, url, token, folder, studio=None):
        self.url, self.token, self.folder, self.studio = url, token, folder, studio

    @property
    def first(self):
        return f"{self.url}/?token={self.token}"

    def api(self, **more):
        """Return a client that shows the token, as programs do."""
        return httpx.Client(
            base_url=f"{self.url}/api/v1/", headers={"authorization": f"Bearer {self.token}"}, timeout=120, **more
        )

    @contextmanager
    def browser(self):
        """Give a client with a session, as browsers have; ``csrf`` is what its forms show."""
        with httpx.Client(base_url=self.url, timeout=120, follow_redirects=True) as client:
            page = client.get("/", params={"token": self.token})
            assert page.status_code == 200, page.text
            client.csrf = re.search(r'name="csrf" value="(\w+)"', page.text)[1]
            yield client

    def over(self, job, seconds=180):
        """Wait for a job."""
        with self.api() as client:
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline:
                told = client.get(f"jobs/{job}").json()
                if told["state"] in ("finished", "refused", "stopped"):
                    return told
                time.sleep(0.05)
        raise AssertionError("this job does not end")


@contextmanager
def serving(folder, **settings):
    """Serve a folder in a thread."""
    given = replace(studio_settings(folder, port=0), **settings)
    with listen(given) as listening:
        given = replace(given, port=listening.getsockname()[1])
        studio = Studio.of(given)
        server = uvicorn.Server(uvicorn.Config(application(studio), log_level="critical", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            yield Served(
                f"http://127.0.0.1:{given.port}", next(iter(given.tokens.values())), studio.folder.root, studio
            )
        finally:
            server.should_exit = True
            thread.join(30)


@contextmanager
def command(folder):
    """Serve a folder by the command, which a test may kill."""
    process = subprocess.Popen(
        [Path(sys.executable).with_name("reveil"), "studio", str(folder), "--no-open", "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        for line in process.stderr:
            if found := re.search(r"(http://\S+)/\?token=(\S+)", line):
                break
        served = Served(found[1], found[2], Path(folder))
        served.process = process
        for _ in range(400):
            try:
                httpx.get(served.first, timeout=5)
                break
            except httpx.TransportError:
                time.sleep(0.05)
        yield served
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
