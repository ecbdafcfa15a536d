"""Walks through pages in the browser of ``tests/browser.py``.

``watched`` opens a page and notes what it complains of and whom it asks; ``check_page``
looks at it wide and narrow, light and dark, with axe-core.
"""

import os
from contextlib import contextmanager
from pathlib import Path

AXE = Path(__file__).parent / "axe" / "axe.min.js"
SIZES = {"wide": {"width": 1280, "height": 900}, "narrow": {"width": 390, "height": 844}}
SCHEMES = ("light", "dark")
SCREENS = os.environ.get("REVEIL_SCREENS")  # a folder: screens for the documentation are kept there (make screens)
SEEN = os.environ.get("REVEIL_SCREENSHOTS")  # a folder: everything that was seen is kept there, for those who look
CUT = """() => [...document.querySelectorAll('svg.chart')].filter(
    own => own.getBoundingClientRect().width > own.parentElement.clientWidth + 1).length"""


class Watched:
    """What a page said and asked for."""

    def __init__(self, page, at_home):
        self.page, self.complaints, self.foreign = page, [], []
        page.on(
            "console", lambda message: message.type in ("error", "warning") and self.complaints.append(message.text)
        )
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: at_home(request.url) or self.foreign.append(request.url))


@contextmanager
def watched(browser, home, **context):
    """Open a page at whose end nothing was complained of, and nobody outside ``home`` was asked."""
    opened = browser.new_context(viewport=SIZES["wide"], **context)
    page = opened.new_page()
    found = Watched(page, lambda url: url.startswith((home, "data:")))
    yield page
    opened.close()
    assert found.complaints == []
    assert found.foreign == []


def check_page(page, name):
    """Look at a page wide and narrow, light and dark: nothing sticks out, and axe-core finds nothing serious."""
    page.wait_for_load_state()  # a click may still be on its way to the page
    for scheme in SCHEMES:
        for size, viewport in SIZES.items():
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size(viewport)
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 1, f"{name} is {wide} pixels too wide when {size}"
            assert page.evaluate(CUT) == 0, f"{name} has a chart that is seen in part when {size}"
            assert serious(page) == [], f"{name}, {size}, {scheme}"
            keep_screen(page, name, size, scheme)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(SIZES["wide"])


def serious(page):
    """Return what axe-core finds that is serious, in a few words."""
    if not page.evaluate("typeof window.axe !== 'undefined'"):
        page.evaluate(AXE.read_text(encoding="utf-8"))  # as the tests' own words, which no policy of the page forbids
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:160]} {one['nodes'][0].get('failureSummary', '')[:200]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


def keep_screen(page, name, size, scheme):
    """Keep a screen: for the documentation wide and light, and narrow and dark; all of them for those who look."""
    kept = [Path(SEEN) / f"{name}-{size}-{scheme}.png"] if SEEN else []
    if SCREENS and (size, scheme) in (("wide", "light"), ("narrow", "dark")):
        kept.append(Path(SCREENS) / f"{name}-{size}.png")
    for path in kept:
        path.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=path, full_page=True, scale="css")


def with_keys(page, selector, key="Enter", most=250):
    """Go to something with the keyboard alone, and press a key on it."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement?.matches(selector) ?? false", selector):
            if key:
                page.keyboard.press(key)
            return
    raise AssertionError(f"the keyboard does not reach {selector}")
