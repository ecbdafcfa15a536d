"""Looks for whatever a page of a built site would fetch from elsewhere: ``python docs/site/requests.py site``.

A link is followed by whoever clicks it; a script, a style, a picture or a font is fetched by all who only look.
Scripts are not read here: every page has a policy by which the browser lets them fetch nothing from elsewhere.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

FETCHED = {"src", "srcset", "data", "poster", "action"}
LINKS = {"a", "area"}
FOLLOWED_ONLY = {"canonical", "alternate", "prev", "next"}
ELSEWHERE = re.compile(r"^\s*(?:[a-z]+:)?//", re.IGNORECASE)
POLICY = "default-src 'self' file: data: blob: 'unsafe-inline'"
IN_STYLES = re.compile(r"(?:@import\s+|url\()\s*['\"]?((?:https?:)?//[^'\")\s]+)", re.IGNORECASE)


class Page(HTMLParser):
    """What one page fetches from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.policy = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note addresses of what is fetched; the style of an element is a style."""
        values = dict(attrs)
        self.policy |= tag == "meta" and values.get("content") == POLICY and "http-equiv" in values
        fetched = FETCHED | ({"href"} if tag not in LINKS and values.get("rel") not in FOLLOWED_ONLY else set())
        self.found += [
            f"<{tag}> {values[name]}" for name in fetched & values.keys() if ELSEWHERE.match(values[name] or "")
        ]
        self.found += IN_STYLES.findall(values.get("style") or "")

    def handle_data(self, data: str) -> None:
        """Styles inside a page."""
        if self.lasttag == "style":
            self.found += IN_STYLES.findall(data)


def requests(folder: Path) -> list[str]:
    """Return what the pages and styles in a folder fetch from elsewhere, each with its file."""
    found = []
    for path in sorted(folder.rglob("*.html")):
        page = Page()
        page.feed(path.read_text(encoding="utf-8"))
        found += [f"{path.relative_to(folder)}: {one}" for one in page.found]
        found += [] if page.policy else [f"{path.relative_to(folder)}: whatever its scripts like, without a policy"]
    for path in sorted(folder.rglob("*.css")):
        found += [f"{path.relative_to(folder)}: {one}" for one in IN_STYLES.findall(path.read_text(encoding="utf-8"))]
    return found


if __name__ == "__main__":
    elsewhere = requests(Path(sys.argv[1]))
    sys.exit("\n".join(["the site asks others for:", *elsewhere]) if elsewhere else 0)
