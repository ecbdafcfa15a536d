"""The frame of every page: one HTML file that needs nothing else and may ask for nothing."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from reveil.reporting.marks import section

if TYPE_CHECKING:
    from collections.abc import Sequence


def document(
    *, title: str, kicker: str, heading: str, lead: str, parts: Sequence[tuple[str, str, str]], first: str, footer: str
) -> str:
    """Put a page together from its parts (anchor, title and HTML of each); ``first`` stands before them.

    ``title`` and ``heading`` are words; the others are HTML. The page forbids itself scripts and requests.
    """
    links = "".join(f'<li><a href="#{key}">{escape(name)}</a></li>' for key, name, _ in parts)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{escape(title)}</title>
<style>
{files("reveil.reporting").joinpath("style.css").read_text(encoding="utf-8")}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>
<p class="kicker">{kicker}</p>
<h1>{escape(heading)}</h1>
{lead}
</header>
<nav aria-label="Contents"><ul>{links}</ul></nav>
<main id="main" tabindex="-1">
{first}
{"".join(section(key, name, inside) for key, name, inside in parts)}
</main>
<footer>
{footer}
</footer>
</body>
</html>
"""
