"""What the site fetches from elsewhere is seen; ``make site`` looks at the built pages."""

import re
import runpy

import pytest

from tests.docs.pages import DOCS, ROOT

MADE = {"contributing.md", "changelog.md"}  # by docs/site/hooks.py
CHECK = runpy.run_path(str(DOCS / "site" / "requests.py"), run_name="requests")
HEAD = f'<meta http-equiv="Content-Security-Policy" content="{CHECK["POLICY"]}">'


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
