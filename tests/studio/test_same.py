"""The studio and the command line are one thing: the same commands, the same bytes, the same vault."""

import dataclasses
import os
import re
import signal
import time
from importlib import import_module

import httpx
import jsonschema
import pytest

from reveil.cli import COMMANDS
from reveil.core.errors import ReveilError
from reveil.series import Series, assembly_line
from reveil.series.config import load_config
from reveil.series.publishing import publish_file
from reveil.studio.api.openapi import document
from reveil.studio.api.schemas import COLLECTIONS
from reveil.studio.app import _routes
from reveil.studio.jobs import StudioJob
from reveil.studio.pages.jobs import form_of
from reveil.studio.settings import read_tokens
from reveil.studio.tasks import TASKS
from tests.cli.run import reveil
from tests.studio.served import KEY, MONTHS, command, fill, serving

NOT_HERE = {
    "demo": "it shows what Reveil is, in a terminal",
    "vault": "for administrators of a server",
    "studio": "it is this",
    "warm-up": "it compiles kernels, before anybody works",
}
# Options of the command line that need no field here, each with its reason.
ELSEWHERE = {
    "quiet": "a page says what it has to say",
    "json_path": "the REST interface gives JSON, and pages offer it as a file",
    "yes": "a form shows the proposals, and sending it takes them",
    "engine": "where work is done is not a question of the page",
}
RENAMED = {
    ("explore", "out"): "the page of an exploration is offered as a download",
    ("report", "out"): "the report is offered as a download",
    ("history", "folder"): "check compares the folder of the studio",
    ("measure", "queries"): "queries and queries_file",
}


@pytest.fixture
def keyed(monkeypatch):
    monkeypatch.setenv("REVEIL_KEY", KEY)


def test_what_the_command_line_can_the_studio_can():
    assert set(TASKS) == set(COMMANDS) - set(NOT_HERE)
    assert set(COLLECTIONS.values()) | {"publish"} == set(TASKS)


@pytest.mark.parametrize("name", sorted(TASKS))
def test_every_option_of_a_command_has_a_field(name):
    options = {one.name for one in import_module(f"reveil.cli.{name}").command.params}
    fields = {one.name for one in dataclasses.fields(TASKS[name])}
    fields |= {f"{one}_path" for one in fields} | {one.removesuffix("_path") for one in fields}
    assert {option for option in options - fields - set(ELSEWHERE) if (name, option) not in RENAMED} == set()


@pytest.mark.parametrize("name", sorted(TASKS))
def test_every_field_can_be_filled_in_on_a_page(name, hospital_studio):
    pages = {"init": None, "publish": "/publish", "history": "/series", "hierarchy": "/hierarchies"}
    page = pages.get(name, f"/{name}")
    if page is None:
        return  # its form is the result of looking at a table, which a walk in the browser fills in
    made = [hospital_studio.folder / "made.csv", hospital_studio.folder / "made.manifest.json"]
    made[0].write_text("age\n1\n")
    made[1].write_text('{"digest": "x", "series": "hospital", "release": 1}')
    with hospital_studio.browser() as client:
        text = client.get(page, params={"config": "hospital.toml"}).text
    for path in made:
        path.unlink()
    beside = {"history": {"budget", "abandon"}, "hierarchy": {"out"}}  # shown where they make sense
    left = {"choose", *beside.get(name, ())}
    for field in dataclasses.fields(TASKS[name]):
        if field.name not in left:
            assert f'name="{field.name}"' in text, field.name


def test_the_document_says_what_there_is(hospital_studio):
    told = document()
    assert told["openapi"].startswith("3.1")
    with hospital_studio.api() as client:
        assert client.get("openapi.json").json() == told
    for task in TASKS.values():
        schema = told["components"]["schemas"][task.__name__]
        jsonschema.Draft202012Validator.check_schema(schema)
    names = [one["operationId"] for path in told["paths"].values() for key, one in path.items() if key != "parameters"]
    assert len(names) == len(set(names))
    for path in told["paths"]:
        assert path.startswith("/")


def test_every_form_of_the_pages_leads_somewhere(hospital_studio):
    there = {(route.path, method) for route in _routes(hospital_studio.studio) for method in route.methods}
    with hospital_studio.browser() as client:
        for page in ("/", "/new", "/audit", "/hierarchies", "/query", "/series?config=hospital.toml"):
            for action in re.findall(r'<form method="post" action="([^"?]+)"', client.get(page).text):
                assert (action, "POST") in there


def test_what_was_refused_leads_back_to_its_form(hospital_studio):
    pages = {route.path for route in _routes(hospital_studio.studio) if "GET" in route.methods}
    for task in TASKS.values():
        unset = dataclasses.MISSING
        needed = [one.name for one in dataclasses.fields(task) if (one.default, one.default_factory) == (unset, unset)]
        job = StudioJob("1", task(**dict.fromkeys(needed, "x.csv")), "owner", hospital_studio.folder)
        form = form_of(job)
        assert form is None or form.partition("?")[0] in pages
        assert (form is None) == (task.command == "history")


def publish_by_command(folder, month, number):
    done = reveil(
        "publish", folder / month, "-c", folder / "hospital.toml", "-o", folder / f"hospital-release-{number}.csv"
    )
    assert done.returncode == 0, done.stderr


def test_a_release_has_the_bytes_that_the_command_line_gives(tmp_path, keyed):
    here, there = fill(tmp_path / "here"), fill(tmp_path / "there")
    with serving(here, workers=1) as served, served.api() as client:
        for number, month in enumerate(MONTHS[:2], 1):
            if number == 1:
                answer = client.post("series/hospital/releases", json={"data": month})
            else:  # sent with the request, and gone afterwards
                answer = client.post("series/hospital/releases", files={"file": (month, (here / month).read_bytes())})
            assert answer.status_code == 202, answer.text
            told = served.over(answer.json()["id"])
            assert told["state"] == "finished", told
            assert told["files"] == [f"hospital-release-{number}.csv", f"hospital-release-{number}.manifest.json"]
            publish_by_command(there, month, number)
        rows = client.get("series/hospital/releases").json()
        assert [row["state"] for row in rows] == ["confirmed", "confirmed"]
        fetched = client.get(f"jobs/{told['id']}/files/hospital-release-2.csv").content
    for number in (1, 2):
        name = f"hospital-release-{number}.csv"
        assert (here / name).read_bytes() == (there / name).read_bytes()
    assert fetched == (there / "hospital-release-2.csv").read_bytes()
    assert not (here / "february-2.csv").exists()


@pytest.mark.slow
def test_two_who_publish_one_series_at_once(tmp_path, keyed):
    folder = fill(tmp_path / "records", 120)
    with serving(folder, workers=2) as served, served.api() as client:

        def ask(month, out):
            body = {"data": month, "out": out, "expected": 1}
            return client.post("series/hospital/releases", json=body).json()["id"]

        jobs = [ask(MONTHS[0], "one.csv"), ask(MONTHS[1], "two.csv"), ask(MONTHS[0], "one.csv")]
        told = [served.over(job) for job in jobs]
        assert [one["state"] for one in told] == ["finished", "refused", "finished"]
        assert told[1]["problem"]["status"] == 409
        assert "somebody else" in told[1]["problem"]["thing"]
        assert told[2]["result"]["how"] == "already"
        assert len(client.get("series/hospital/releases").json()) == 1
        # Somebody at the command line is refused while a job is at work, or is first; nothing breaks.
        publish_by_command(folder, MONTHS[1], 2)
        assert len(client.get("series/hospital/releases").json()) == 2
    assert not (folder / "two.csv").exists()


@pytest.mark.slow
def test_a_pending_release_is_finished_by_a_click_or_given_up(tmp_path, keyed, monkeypatch):
    folder, calm = fill(tmp_path / "records", 120), fill(tmp_path / "calm", 120)
    publish_file(load_config(calm / "hospital.toml"), calm / MONTHS[0], calm / "first.csv")

    def killed(*_args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(assembly_line, "hand_over", killed)
        with pytest.raises(KeyboardInterrupt):
            publish_file(load_config(folder / "hospital.toml"), folder / MONTHS[0], folder / "first.csv")
    assert Series.load(folder / "hospital.toml").history()[-1]["state"] == "pending"
    with serving(folder, workers=1) as served, served.browser() as client:
        page = client.get("/series", params={"config": "hospital.toml"}).text
        assert "Release 1 is pending" in page
        given = {"config_path": "hospital.toml", "expected": "1", "out": "first.csv", "dry_run": "no"}
        wrong = client.post("/publish", data={"csrf": client.csrf, **given, "data": MONTHS[1]})
        told = served.over(wrong.url.path.split("/")[-1])
        assert told["problem"]["status"] == 409
        right = client.post("/publish", data={"csrf": client.csrf, **given, "data": MONTHS[0]})
        told = served.over(right.url.path.split("/")[-1])
        assert told["result"]["how"] == "resumed", told
        assert "is pending" not in client.get("/series", params={"config": "hospital.toml"}).text
    assert (folder / "first.csv").read_bytes() == (calm / "first.csv").read_bytes()


@pytest.mark.slow
def test_a_killed_server_leaves_what_a_killed_command_leaves(tmp_path, keyed):
    folder, calm = fill(tmp_path / "records", 400), fill(tmp_path / "calm", 400)
    publish_by_command(calm, MONTHS[0], 1)
    body = {"data": MONTHS[0], "out": "hospital-release-1.csv"}
    with command(folder) as served, served.api() as client:
        job = client.post("series/hospital/releases", json=body).json()["id"]
        while "verifying" not in [stage["name"] for stage in client.get(f"jobs/{job}").json()["stages"]]:
            time.sleep(0.01)
        os.kill(served.process.pid, signal.SIGKILL)
        served.process.wait()
    rows = waited_for(lambda: Series.load(folder / "hospital.toml").history())  # the worker dies with its server
    assert [row["state"] for row in rows] in ([], ["pending"], ["confirmed"])
    with command(folder) as served, served.api() as client:
        told = served.over(client.post("series/hospital/releases", json=body).json()["id"])
        assert told["state"] == "finished", told
        assert [row["state"] for row in client.get("series/hospital/releases").json()] == ["confirmed"]
    name = "hospital-release-1.csv"
    assert (folder / name).read_bytes() == (calm / name).read_bytes()


def waited_for(read):
    for _ in range(200):
        try:
            return read()
        except ReveilError:
            time.sleep(0.05)
    return read()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--host", "192.0.2.1"], "others could reach"),
        (["--host", "::"], "every address"),
        (["--tls-cert", "x"], "belong together"),
        (["--token-file", "none"], "cannot read"),
        (["nowhere"], "no folder"),
    ],
)
def test_what_would_not_be_safe_is_refused(tmp_path, options, words):
    done = reveil("studio", *([] if "nowhere" in options else [tmp_path]), *options, "--no-open")
    assert done.returncode == 2
    assert words in done.stderr


@pytest.mark.slow
def test_tokens_have_names_that_go_into_the_log(tmp_path):
    path = tmp_path / "tokens"
    path.write_text("# who\nanna:0123456789abcdef\nbert:fedcba9876543210\n")
    path.chmod(0o644)
    with pytest.raises(Exception, match="others may read"):
        read_tokens(path)
    path.chmod(0o600)
    tokens = read_tokens(path)
    with serving(fill(tmp_path / "records", 60), tokens=tokens, workers=1) as served:
        head = {"authorization": "Bearer fedcba9876543210"}
        answer = httpx.post(
            f"{served.url}/api/v1/queries", json={"release": MONTHS[0], "question": "age > 1"}, headers=head
        )
        assert answer.json()["who"] == "bert"
        assert '"who": "bert"' in (served.folder / "reveil-studio.log").read_text()
    path.write_text("anna:short\n")
    with pytest.raises(Exception, match="no name and token"):
        read_tokens(path)
