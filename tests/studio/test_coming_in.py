"""How somebody comes in: the address is said when it answers, a code works once, and a link of a mail leads in."""

import http.server
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

from reveil.studio import sessions
from reveil.studio.jobs import JobBoard
from reveil.studio.sessions import Sessions
from tests.studio.served import fill, serving


def test_a_code_works_once_and_soon(monkeypatch):
    door = Sessions({"owner": "0123456789abcdef"})
    code = door.once("owner")
    assert door.enter(code) == "owner"
    assert door.enter(code) is None
    assert door.who(door.once("owner")) is None  # it opens a session, and is no token
    assert [door.enter("0123456789abcdef"), door.enter("0123456789abcdef")] == ["owner", "owner"]
    monkeypatch.setattr(sessions, "_ONCE_LASTS", -1.0)
    assert door.enter(door.once("owner")) is None


def test_a_token_leads_nowhere_else(hospital_studio):
    for path in ("//evil.example/", "//evil.example/%2e%2e", "///evil.example"):
        url = f"{hospital_studio.url}{path}?token={hospital_studio.token}"
        place = httpx.get(url).headers["location"]
        assert re.match(r"/(?!/)", place), place


def test_a_link_of_another_site_is_led_on_by_a_page(hospital_studio):
    head = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    with httpx.Client() as client:
        answer = client.get(f"{hospital_studio.url}/jobs", params={"token": hospital_studio.token}, headers=head)
        assert answer.status_code == 200
        assert 'content="0;url=/jobs"' in answer.text
        assert hospital_studio.token not in answer.text
        assert client.get(f"{hospital_studio.url}/jobs").status_code == 200


@pytest.mark.browser
def test_a_link_in_a_mail_leads_in(browser, hospital_studio):
    """``localhost`` is another site than 127.0.0.1: a strict cookie is not sent after a redirect from there."""
    link = f'<a href="{hospital_studio.first}">the studio</a>'.encode()

    class Mail(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(link)

        def log_message(self, *_args):
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Mail) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"http://localhost:{server.server_address[1]}/")
        page.click("a")
        page.wait_for_selector("h1:has-text('Your series')")
        assert "token" not in page.url
        context.close()
        server.shutdown()


def test_workers_start_when_the_first_page_is_out(tmp_path, monkeypatch):
    """What they import takes all the cores of a small machine, for which the first page would wait."""
    began = []
    awake = JobBoard.wake
    monkeypatch.setattr(JobBoard, "wake", lambda board: (began.append(1), awake(board))[1])
    with serving(fill(tmp_path / "records", 60), workers=1) as served:
        assert not began
        assert served.studio.board._workers == {}
        httpx.get(f"{served.url}/")  # not let in, so that nothing is begun for it
        assert not began
        with served.browser():
            for _ in range(600):  # they begin after the page, which is here already
                if began:
                    break
                time.sleep(0.05)
        assert began


@pytest.mark.slow
def test_the_address_is_said_when_it_answers(tmp_path):
    """The browser is opened at the same moment, by a program that cannot be seen to hold the token."""
    opened = tmp_path / "opened"
    program = tmp_path / "browser"
    program.write_text(f'#!/bin/sh\necho "$1" > {opened}.part && mv {opened}.part {opened}\n')
    program.chmod(0o755)
    process = subprocess.Popen(
        [Path(sys.executable).with_name("reveil"), "studio", str(fill(tmp_path / "records", 60)), "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "BROWSER": f"{program} %s"},
    )
    try:
        said = next(found[0] for line in process.stderr if (found := re.search(r"http://\S+token=\S+", line)))
        assert httpx.get(said, follow_redirects=True, timeout=30).status_code == 200  # at once, and not later
        for _ in range(400):
            if opened.exists():
                break
            time.sleep(0.05)
        once = opened.read_text().strip()
        assert once.partition("?")[0] == said.partition("?")[0]
        assert once != said
        assert [httpx.get(once, timeout=30).status_code for _ in range(2)] == [303, 401]
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
