"""A real browser for tests of pages: Debian's Chromium, driven by Playwright.

``browser`` is one for the whole run, ``visit`` opens a page in it and watches: what the page complains of, and whom it
asks for anything. Both skip with a reason where there is no browser; ``.ci/run`` installs one. Tests that use them are
marked ``browser``.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
WIDE, NARROW = (1280, 900), (390, 844)
QUIET = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
SCREENS = [
    pytest.param(size, scheme, id=f"{size[0]}-{scheme}") for size in (WIDE, NARROW) for scheme in ("light", "dark")
]


@dataclass
class Visit:
    """An open page: ``complaints`` of its console and errors, and ``requests`` other than for the page itself."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def overflows(self) -> list[str]:
        """Return what is wider than the window and does not scroll by itself."""
        found: list[str] = self.page.evaluate(
            """() => {
                const wide = document.documentElement.clientWidth + 1;
                if (document.documentElement.scrollWidth <= wide) return [];
                const scrolls = own => own && (/auto|scroll|hidden/.test(getComputedStyle(own).overflowX)
                    || scrolls(own.parentElement));
                return [...document.body.querySelectorAll('*')]
                    .filter(own => own.getBoundingClientRect().right > wide && !scrolls(own.parentElement))
                    .map(own => own.tagName + '.' + own.className).slice(0, 10).concat('the page itself');
            }"""
        )
        return found

    def shown(self) -> list[tuple[str, str, str]]:
        """Return every number on the page: its path in the JSON, how it is written, and the text that is shown."""
        found: list[list[str]] = self.page.evaluate(
            "() => [...document.querySelectorAll('[data-key]')]"
            ".map(own => [own.dataset.key, own.dataset.as, own.textContent])"
        )
        return [(key, how, text) for key, how, text in found]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Return a browser, or skip."""
    if CHROMIUM is None:
        pytest.skip("there is no chromium here (apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Visit]]:
    """Return how a page is opened: by its address, the size of the window, and ``light`` or ``dark``."""
    contexts = []

    def opened(address: str, size: tuple[int, int] = WIDE, scheme: str = "light", **more: Any) -> Visit:
        width, height = size
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, **more)
        contexts.append(context)
        found = Visit(context.new_page())
        page = found.page
        page.on("console", lambda said: found.complaints.append(said.text) if said.type in ("error", "warning") else 0)
        page.on("pageerror", lambda error: found.complaints.append(str(error)))
        page.on("request", lambda asked: found.requests.append(asked.url) if asked.url != page.url else 0)
        page.goto(address)
        found.requests = [url for url in found.requests if url.partition("#")[0] != address.partition("#")[0]]
        return found

    yield opened
    for context in contexts:
        context.close()
