"""What the site fetches from elsewhere is seen; ``make site`` looks at the built pages."""

import json
import re
import runpy
import subprocess
import sys

import pytest

from tests.docs.pages import DOCS, ROOT

NOTEBOOKS = {f"notebooks/{path.stem}.md": path for path in DOCS.glob("notebooks/*.py")}
MADE = {"contributing.md", "changelog.md", *NOTEBOOKS}  # by docs/site/hooks.py
CHECK = runpy.run_path(str(DOCS / "site" / "requests.py"), run_name="requests")
HEAD = f'<meta http-equiv="Content-Security-Policy" content="{CHECK["POLICY"]}">'
SAID = {
    "hospital-year": {
        "With one file in hand 0 diagnoses are certain.",
        "With all 6 files 802 of 1,373 are, and 802 of them right.",
        "With all 6 files 0 diagnoses are certain; the highest belief is 0.25.",
    },
    "national-case-table": {"Of 1,463 people, 165 are linked with a diagnosis by more than 1/2."},
    "census-extracts": {
        " ministry, with those above: 2,998 of 3,000 diagnoses are certain",
        " ministry, with those above:     0 certain, the highest belief is 0.25",
    },
    "audit-of-another-tool": {"Certain: 100 with the recoded files, 0 with the series."},
    "analysis-of-published-tables": {"The bounds hold in all 6 questions, the intervals in 6."},
}


def found(folder, body, head=HEAD):
    (folder / "page.html").write_text(f"<html><head>{head}</head><body>{body}</body></html>")
    return CHECK["requests"](folder)


@pytest.mark.parametrize(
    "body",
    [
        '<script src="https://example.org/a.js"></script>',
        '<link rel="stylesheet" href="//example.org/a.css">',
        '<img src="http://example.org/a.png">',
        "<style>@import 'https://example.org/a.css';</style>",
        '<p style="background: url(https://example.org/a.png)"></p>',
    ],
)
def test_whatever_is_fetched_is_seen(tmp_path, body):
    assert len(found(tmp_path, body)) == 1


def test_links_and_own_files_are_no_requests(tmp_path):
    body = '<a href="https://example.org">there</a><img src="a.png"><link rel="canonical" href="https://example.org">'
    assert found(tmp_path, body) == []


def test_a_page_without_the_policy_and_a_style_are_seen(tmp_path):
    assert len(found(tmp_path, "", head="")) == 1
    (tmp_path / "a.css").write_text('@font-face { src: url("https://example.org/a.woff2") }')
    assert len(found(tmp_path, "")) == 1


def test_the_contents_name_pages_that_exist():
    nav = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    shown = re.findall(r": (\S+\.md)$", nav, re.MULTILINE)
    assert len(shown) == len(set(shown)) > len(MADE)
    assert all((DOCS / name).exists() for name in shown if name not in MADE)
    assert set(shown) >= MADE
    assert len(NOTEBOOKS) == 5


@pytest.mark.slow
def test_the_notebooks_run_and_say_what_they_are_there_for(tmp_path):
    # In a process of its own: the kernel's libraries warn of each other, and warnings are errors here.
    done = subprocess.run(
        [sys.executable, DOCS / "site" / "notebooks.py", tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert {path.name for path in tmp_path.glob("*.md")} == {name.removeprefix("notebooks/") for name in NOTEBOOKS}
    for name in NOTEBOOKS:
        said = (tmp_path / name.removeprefix("notebooks/")).read_text()
        assert SAID[name.removeprefix("notebooks/").removesuffix(".md")] <= set(said.splitlines()), name
        pictures = re.findall(r"!\[([^\]]+)\]\(([^)]+\.svg)\)", said)
        assert pictures, name
        assert all((tmp_path / picture).read_text().startswith("<svg") for _, picture in pictures)
        book = json.loads((tmp_path / f"{name.removeprefix('notebooks/').removesuffix('.md')}.ipynb").read_text())
        assert book["nbformat"] == 4
        assert str(tmp_path) not in said
        assert "Traceback" not in said
