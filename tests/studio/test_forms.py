"""From a form to a task: files in the order of the numbers beside them, and messages in the words of the pages."""

import ast
import re
from pathlib import Path

import pytest

import reveil
from reveil.studio.forms import form_values
from reveil.studio.tasks import TASKS
from reveil.studio.uploads import SentForm
from reveil.studio.wording import LABELS, on_a_page
from tests.studio.served import MONTHS, fill, serving

SOURCE = Path(reveil.__file__).parent
# Options in messages that no page can lead to: those of the commands that are not here, and of starting the studio.
ELSEWHERE = {
    *("host", "port", "token-file", "tls-cert", "tls-key"),
    *(
        "engine",
        "archives",
        "version",
    ),  # where tables are worked on is said in the config; what is said to other programs
    *("backup", "roles", "once", "fixed", "check", "abandon", "budget", "series", "known"),
}


@pytest.mark.parametrize("field", [("audit", "release_paths"), ("report", "truth"), ("verify", "truths")])
def test_files_come_in_the_order_of_the_numbers_beside_them(field):
    command, name = field
    form = SentForm({name: ["c", "b", "a", "d"], f"{name}.place.a": ["1"], f"{name}.place.b": ["2"]})
    form.fields |= {f"{name}.place.c": ["3"]}
    assert form_values(TASKS[command], form)[name] == ("a", "b", "c", "d")


@pytest.mark.slow
def test_the_tables_of_a_series_are_chosen_for_its_report_in_the_order_of_its_releases(tmp_path):
    folder = fill(tmp_path / "records", 60)
    with serving(folder, workers=1) as served, served.browser() as client:
        for number, month in enumerate(MONTHS[:2], 1):
            body = {"csrf": client.csrf, "config_path": "hospital.toml", "data": month, "out": f"r{number}.csv"}
            served.over(client.post("/publish", data={**body, "dry_run": "no"}).url.path.split("/")[-1])
        page = client.get("/report", params={"config": "hospital.toml"}).text
        fields = dict(re.findall(r'name="truth.place.(\w+.csv)" min="1" value="(\d)"', page))
        assert {name: fields[name] for name in MONTHS[:2]} == {MONTHS[0]: "1", MONTHS[1]: "2"}
        assert set(re.findall(r'name="truth" value="(\w+.csv)" checked', page)) == set(MONTHS[:2])
        sent = {"truth": [MONTHS[1], MONTHS[0]]} | {f"truth.place.{name}": place for name, place in fields.items()}
        job = client.post("/report", data={"csrf": client.csrf, "config_path": "hospital.toml", **sent})
        told = served.over(job.url.path.split("/")[-1])
        assert told["state"] == "finished", told


def test_options_have_the_names_of_their_fields():
    pages = "".join(path.read_text() for path in (SOURCE / "studio" / "templates").rglob("*.j2"))
    assert [label for label in LABELS.values() if label not in pages] == []
    assert "reveil" not in on_a_page("Look at `reveil history`, or `reveil history --abandon 3` (it stays told).")
    said = "--where EXPR and --new-series, with -o"
    assert on_a_page(said) == "“Only those who satisfy” and “This is another series”,"


def test_every_option_that_a_message_names_has_a_name_here():
    """What is raised below the commands may end on a page."""
    named = set()
    for path in SOURCE.rglob("*.py"):
        if path.is_relative_to(SOURCE / "cli"):
            continue
        tree = ast.parse(path.read_text())
        documented = {id(ast.get_docstring(one, clean=False)) for one in ast.walk(tree) if isinstance(one, ast.Module)}
        texts = [one.value for one in ast.walk(tree) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        for text in texts:
            if "\n" not in text and id(text) not in documented:
                named |= set(re.findall(r"(?<![\w-])--([a-z][a-z-]+)", text))
    assert named - set(LABELS) - ELSEWHERE == set()
