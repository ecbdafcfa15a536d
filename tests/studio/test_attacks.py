"""What somebody tries who should not be here: no token, another page, another name, paths, script, floods."""

import concurrent.futures
import contextlib
import json
import re
import socket
import threading
from dataclasses import fields

import httpx
import pytest

from reveil.series.config import load_config
from reveil.series.publishing import publish_file
from reveil.studio.api.schemas import COLLECTIONS, outside
from reveil.studio.tasks import TASKS
from reveil.studio.tasks.base import CONFIG, NEW, TABLE, TEXT
from tests.studio.served import MONTHS, fill, serving

PAGES = [
    "/",
    "/new",
    "/series?config=hospital.toml",
    "/publish?config=hospital.toml",
    "/audit",
    "/hierarchies",
    "/jobs",
]
FORMS = [
    "/files",
    "/new/look",
    "/new/save",
    "/publish",
    "/history",
    "/explore",
    "/audit",
    "/forget",
    "/adopt",
    "/jobs/x/stop",
]
UPWARDS = [
    "../outside.csv",
    "/etc/passwd",
    "a/../../outside.csv",
    "..%2foutside.csv",
    "....//outside.csv",
    "hospital.vault/key",
    "link.csv",
    ".hidden.csv",
    "january.csv\0",
    "\\\\host\\share.csv",
    "",
]


# Who it is


@pytest.mark.parametrize("path", [*PAGES, "/api/v1/series", "/api/v1/openapi.json", "/files?path=x"])
def test_without_a_token_nothing_is_shown(hospital_studio, path):
    for given in ({}, {"authorization": "Bearer wrong"}, {"cookie": "reveil_studio_1=x"}):
        answer = httpx.get(hospital_studio.url + path, headers=given)
        assert answer.status_code == 401
        assert "hospital" not in answer.text.replace("hospital.toml", "")
    wrong = httpx.get(hospital_studio.url + "/", params={"token": hospital_studio.token[:-1] + "x"})
    assert wrong.status_code == 401
    assert "set-cookie" not in wrong.headers


def test_the_token_becomes_a_cookie_that_no_script_and_no_other_page_can_use(hospital_studio):
    answer = httpx.get(hospital_studio.first)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert hospital_studio.token not in answer.headers["set-cookie"]


@pytest.mark.parametrize("form", FORMS)
def test_a_change_needs_the_token_of_its_form(hospital_studio, form):
    with hospital_studio.browser() as client:
        for given in ({}, {"csrf": ""}, {"csrf": "0" * 64}):
            answer = client.post(form, data={**given, "config_path": "hospital.toml"})
            assert answer.status_code == 403, answer.text
        sent = client.post(form, files={"file": ("a.csv", b"a,b\n1,2\n")}, data={"csrf": "wrong"})
        assert sent.status_code == 403
    assert not (hospital_studio.folder / "a.csv").exists()


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:1"])
def test_another_page_cannot_change_anything(hospital_studio, origin):
    with hospital_studio.browser() as client:
        answer = client.post("/jobs/x/stop", data={"csrf": client.csrf}, headers={"origin": origin})
        assert answer.status_code == 403
    with hospital_studio.api() as client:
        assert client.get("series", headers={"origin": origin}).status_code == 403
        assert client.post("audits", json={}, headers={"sec-fetch-site": "cross-site"}).status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost:1", "127.0.0.1"])
def test_a_foreign_name_that_leads_here_is_not_answered(hospital_studio, host):
    answer = httpx.get(hospital_studio.first, headers={"host": host})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_every_answer_forbids_inline_script_and_foreign_content(hospital_studio):
    with hospital_studio.browser() as client:
        for path in [*PAGES, "/nothing", "/static/studio.css"]:
            policy = client.get(path).headers["content-security-policy"]
            assert "default-src 'self'" in policy
            assert "unsafe" not in policy
        assert not re.search(r"<script(?! src=\"/static/)", client.get("/").text)
        assert "style=" not in client.get("/").text


def test_there_are_no_documents_or_methods_beside_ours(hospital_studio):
    with hospital_studio.browser() as client:
        assert client.get("/docs").status_code == 404
        assert client.put("/publish").status_code == 405
        assert client.get("/static/../settings.py").status_code in (400, 404)
        assert client.get("/static/%2e%2e/settings.py").status_code == 404


# Where it leads


@pytest.fixture
def baited(hospital_studio):
    outside = hospital_studio.folder.parent / "outside.csv"
    outside.write_text("pid,diagnosis\n1,secret-outside\n")
    link = hospital_studio.folder / "link.csv"
    if not link.is_symlink():
        link.symlink_to(outside)
    (hospital_studio.folder / ".hidden.csv").write_text("a\n1\n")
    (hospital_studio.folder / "hospital.vault").mkdir(exist_ok=True)
    (hospital_studio.folder / "hospital.vault" / "vault.duckdb").touch()
    (hospital_studio.folder / "hospital.vault" / "key").write_text("secret-key")
    yield hospital_studio
    for path in ("vault.duckdb", "key"):
        (hospital_studio.folder / "hospital.vault" / path).unlink()
    (hospital_studio.folder / "hospital.vault").rmdir()
    link.unlink()
    (hospital_studio.folder / ".hidden.csv").unlink()


def path_fields():
    for task in TASKS.values():
        for name, what in task.paths.items():
            yield pytest.param(task, name, what, id=f"{task.command}-{name}")


@pytest.mark.parametrize(("task", "name", "what"), list(path_fields()))
def test_no_path_leads_out_of_the_folder(baited, task, name, what):
    right = {TABLE: MONTHS[0], CONFIG: "hospital.toml", NEW: "made.csv", TEXT: MONTHS[0]}
    needed = {one.name: "x" for one in fields(task) if one.default.__class__.__name__ == "_MISSING_TYPE"}
    needed.pop("roles", None)
    given = {**needed, **{one: right[kind] for one, kind in task.paths.items() if one in needed}}
    several = {one.name for one in fields(task) if str(one.type).startswith("tuple")}
    collection = next((key for key, command in COLLECTIONS.items() if command == task.command), None)
    with baited.api() as client:
        for path in UPWARDS:
            if path == "" and what in (TEXT, NEW):
                continue
            body = {**given, name: path}
            body = {outside(key): [value] if key in several else value for key, value in body.items()}
            if collection is None:
                body.pop("config", None)
                if name == "config_path":
                    answer = client.get(f"series/{path.replace(chr(0), '%00')}") if path else None
                    assert answer is None or answer.status_code in (400, 404)
                    continue
                answer = client.post("series/hospital/releases", json=body)
            else:
                answer = client.post(collection, json=body)
            if what == NEW and path in ("link.csv", "....//outside.csv"):
                assert answer.status_code in (400, 202)
                continue
            assert answer.status_code == 400, (path, answer.text)
            problem = answer.json()
            assert answer.headers["content-type"] == "application/problem+json"
            assert problem["thing"]
            assert problem["remedy"]
            assert "secret" not in answer.text
            assert str(baited.folder) not in answer.text


@pytest.mark.parametrize("path", UPWARDS)
def test_no_page_leads_out_of_the_folder(baited, path):
    with baited.browser() as client:
        for page, key in (("/files", "path"), ("/series", "config"), ("/publish", "config"), ("/audit", "config")):
            answer = client.get(page, params={key: path})
            assert answer.status_code in (400, 404), (page, path)
            assert "secret" not in answer.text
        for page in ("/publish", "/explore", "/query"):
            assert (
                client.get(page, params={"config": "hospital.toml", "data": path, "release": path}).status_code == 200
            )
        for form, field in (("/new/look", "data"), ("/hierarchies/edit", "config"), ("/verify", "release_path")):
            answer = client.post(form, data={"csrf": client.csrf, "config_path": "hospital.toml", field: path or "x"})
            assert answer.status_code in (400, 404), (form, path, answer.text)


def test_raw_tables_configs_and_the_log_are_not_for_download(hospital_studio):
    with hospital_studio.browser() as client:
        for name in (*MONTHS, "hospital.toml", "reveil-studio.log"):
            assert client.get("/files", params={"path": name}).status_code in (400, 404)


# What is sent


def test_an_upload_without_end_is_ended(tmp_path):
    sent = threading.Event()

    def endless():
        yield b'--x\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n' + csrf.encode() + b"\r\n"
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="big.csv"\r\n\r\n'
        for _ in range(10_000):
            yield b"1,2,3\n" * 10_000
        sent.set()

    with serving(fill(tmp_path / "records", 60), upload_limit=300_000, workers=1) as served, served.browser() as client:
        csrf = client.csrf
        head = {"content-type": "multipart/form-data; boundary=x"}
        with contextlib.suppress(httpx.TransportError):  # the door is shut while the other side still talks
            assert client.post("/files", content=endless(), headers=head).status_code == 413
        assert not sent.is_set()
        with socket.create_connection(("127.0.0.1", served.studio.settings.port), 30) as line:
            told = "".join(
                f"{name}: {value}\r\n" for name, value in client.build_request("POST", "/files").headers.items()
            )
            told = told.replace("content-length: 0", f"content-length: {2 << 30}")
            line.sendall(f"POST /files HTTP/1.1\r\n{told}content-type: {head['content-type']}\r\n\r\n".encode())
            assert b" 413 " in line.recv(1000).split(b"\r\n")[0]
        assert not list(served.studio.private.glob("*/part-*"))
        assert not list(served.folder.glob("big*"))
        assert client.get("/").status_code == 200


@pytest.mark.parametrize("name", ["run.toml", "a.sh", "x.html", "../../up.csv", "reveil-studio.log", "a.csv.toml"])
def test_nothing_but_tables_is_taken_and_never_outside(hospital_studio, name):
    before = set(hospital_studio.folder.rglob("*"))
    with hospital_studio.browser() as client:
        answer = client.post("/files", data={"csrf": client.csrf}, files={"file": (name, b"a,b\n1,2\n3,4\n")})
    made = {path for path in set(hospital_studio.folder.rglob("*")) - before if path.name != "reveil-studio.log"}
    if name.endswith(".csv"):
        assert [path.name for path in made] == ["up.csv"]
        next(iter(made)).unlink()
    else:
        assert answer.status_code == 400
        assert not made
    assert not (hospital_studio.folder.parent / "up.csv").exists()


def test_a_table_that_is_there_is_not_replaced(hospital_studio):
    before = (hospital_studio.folder / MONTHS[0]).read_bytes()
    with hospital_studio.browser() as client:
        client.post("/files", data={"csrf": client.csrf}, files={"file": (MONTHS[0], b"a,b\n1,2\n3,4\n")})
    assert (hospital_studio.folder / MONTHS[0]).read_bytes() == before
    (hospital_studio.folder / "january-2.csv").unlink()


@pytest.mark.parametrize("body", [b"", b"[1]", b"{", b'{"a":' * 50_000, b"\xff\xfe", b'{"data": 3}', b'{"what": "x"}'])
def test_bodies_that_are_none_are_problems(hospital_studio, body):
    with hospital_studio.api() as client:
        answer = client.post("hierarchies", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["title"]


SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(1)>'


def test_script_in_names_and_values_is_text(tmp_path):
    folder = tmp_path / "records"
    folder.mkdir()
    name = "<img src=x onerror=alert(1)>.csv"
    lines = [f'id,{SCRIPT},"age","{IMAGE.replace(chr(34), chr(34) * 2)}"']
    lines += [f'{n},{SCRIPT if n % 2 else "other"},{20 + n % 40},"{("<b>" if n % 3 else "plain")}"' for n in range(60)]
    (folder / name).write_text("\n".join(lines) + "\n")
    (folder / "series.toml").write_text(
        f'[series]\nname = {json.dumps(SCRIPT)}\nvault = "v.vault"\n[columns]\nid = "person"\n'
        f'{json.dumps(SCRIPT)} = "quasi"\nage = "quasi"\n{json.dumps(IMAGE)} = "sensitive"\n'
        '[guarantee]\nkind = "static"\nk = 3\n'
    )
    with serving(folder, workers=1) as served, served.browser() as client:

        def look(path, **query):
            answer = client.get(path, params=query)
            assert "<script>alert" not in answer.text
            assert "<img src=x" not in answer.text
            return answer

        for page in ("/", "/new", "/audit", "/hierarchies", "/jobs"):
            assert look(page).status_code == 200
        for page in ("/series", "/publish", "/explore", "/report", "/adopt"):
            assert look(page, config="series.toml").status_code == 200
        forms = {
            "/new/look": {"data": name},
            "/new/propose": {"data": name, "again": "no"},
            "/publish": {"config_path": "series.toml", "data": name, "out": "<b>out.csv", "dry_run": "no"},
            "/hierarchies": {"data": name, "column": SCRIPT, "prefix": "1"},
        }
        for form, given in forms.items():
            job = client.post(form, data={"csrf": client.csrf, **given}).url.path
            told = served.over(job.split("/")[-1])
            assert told["state"] == "finished", told
            assert look(job).status_code == 200
        edit = client.post("/hierarchies/edit", data={"csrf": client.csrf, "job": job.split("/")[-1]})
        assert "<script>alert" not in edit.text
        assert look("/query", release="<b>out.csv").status_code == 200
        assert "<b>out.csv" not in look("/").text
        assert look("/series", config="<script>alert(1)</script>").status_code == 400


@pytest.mark.slow
def test_fifty_jobs_at_once(tmp_path):
    with serving(fill(tmp_path / "records", 60), workers=2, most_waiting=30) as served, served.api() as client:

        def ask(n):
            return client.post("queries", json={"release": MONTHS[0], "question": f"age >= {n}"}).status_code

        with concurrent.futures.ThreadPoolExecutor(50) as pool:
            answers = list(pool.map(ask, range(50)))
        assert set(answers) <= {202, 429}
        assert answers.count(202) >= 30
        running = [job for job in client.get("jobs").json() if job["state"] == "running"]
        assert len(running) <= 2
        assert client.get("series").status_code == 200
        jobs = client.get("jobs").json()
        waiting = [job["id"] for job in jobs if job["state"] == "waiting"][:5]
        for job in waiting:
            client.delete(f"jobs/{job}")
        for job in jobs:
            assert served.over(job["id"])["state"] in ("finished", "refused", "stopped")


def test_the_log_says_who_did_what_and_no_value(hospital_studio):
    with hospital_studio.api() as client:
        body = {"config": "hospital.toml", "person": "p-secret-person"}
        job = client.post("erasures", json=body).json()["id"]
        hospital_studio.over(job)
        told = client.post("queries", json={"release": MONTHS[0], "question": "diagnosis = secret-value"}).json()["id"]
        hospital_studio.over(told)
    log = hospital_studio.folder / "reveil-studio.log"
    assert log.stat().st_mode & 0o077 == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {"at", "who", "what", "job"} <= set(lines[-1])
    assert any(line["what"] == "forget" and line["config_path"] == "hospital.toml" for line in lines)
    assert "secret" not in log.read_text()


def test_what_is_private_is_for_nobody_else_and_gone_afterwards(tmp_path):
    with serving(fill(tmp_path / "records", 60), workers=1) as served:
        private = served.studio.private
        assert private.stat().st_mode & 0o077 == 0
    assert not private.exists()


def test_pages_that_are_not_the_owners_show_no_value(hospital_studio):
    values = set()
    for line in (hospital_studio.folder / MONTHS[0]).read_text().splitlines()[1:]:
        values.add(line.split(",")[-1])
    values.discard("")
    with hospital_studio.browser() as client:
        body = {"data": MONTHS[0], "out": "shown.csv", "dry_run": True}
        with hospital_studio.api() as program:
            job = program.post("series/hospital/releases", json=body).json()["id"]
        hospital_studio.over(job)
        for path in [*PAGES, f"/jobs/{job}"]:
            text = client.get(path).text
            assert "For the owner." not in text
            assert not [value for value in values if re.search(rf"\b{re.escape(value)}\b", text)], path
        look = client.post("/new/look", data={"csrf": client.csrf, "data": MONTHS[0]})
        hospital_studio.over(look.url.path.split("/")[-1])
        assert "For the owner." in client.get(look.url.path).text


def test_a_raw_table_with_the_name_of_a_release_stays_raw(tmp_path):
    """``january.parquet`` was made of ``january.csv``: the manifest beside both is about one of them."""
    folder = fill(tmp_path / "records", 60)
    publish_file(load_config(folder / "hospital.toml"), folder / MONTHS[0], folder / "january.parquet")
    with serving(folder, workers=1) as served, served.browser() as client:
        told = {one.path: one.is_release for one in served.studio.folder.tables()}
        assert told == {**dict.fromkeys(MONTHS, False), "january.parquet": True}
        assert client.get("/files", params={"path": MONTHS[0]}).status_code == 404
        fetched = client.get("/files", params={"path": "january.parquet"})
        assert fetched.content == (folder / "january.parquet").read_bytes()
        assert client.get("/files", params={"path": "january.manifest.json"}).status_code == 200
        (folder / "january.parquet").write_bytes((folder / MONTHS[1]).read_bytes())  # not what was published
        assert client.get("/files", params={"path": "january.parquet"}).status_code == 404
        (folder / "notes.manifest.json").write_text('{"patients": ["secret"]}')
        assert client.get("/files", params={"path": "notes.manifest.json"}).status_code == 404


def test_a_form_of_many_small_parts_is_ended(hospital_studio):
    head = {"content-type": "multipart/form-data; boundary=x"}
    part = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n'
    long = b"--x\r\nX-%b: y\r\n" % (b"a" * 2_000_000)
    with hospital_studio.browser() as client:
        for body in (part * 6_000 + b"--x--\r\n", long):
            with contextlib.suppress(httpx.TransportError):
                assert client.post("/files", content=body, headers=head).status_code in (400, 413)
        assert client.get("/").status_code == 200


def test_two_who_send_the_same_name_at_once(hospital_studio, tmp_path):
    def send(n):
        sent = tmp_path / f"sent-{n}"
        sent.write_text(f"n\n{n}\n")
        return hospital_studio.studio.folder.take(sent, "both.csv")

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        names = list(pool.map(send, range(8)))
    paths = [hospital_studio.folder / name for name in names]
    assert len(set(names)) == 8
    assert sorted(path.read_text() for path in paths) == sorted(f"n\n{n}\n" for n in range(8))
    for path in paths:
        path.unlink()
    assert not list(hospital_studio.folder.glob(".*.sent"))


def test_the_progress_of_a_job_that_is_not_there(hospital_studio):
    with hospital_studio.browser() as client:
        assert client.get("/jobs/nothing/events").status_code == 404
