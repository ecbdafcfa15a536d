"""The demo as a page for the browser: one file, no network, no raw value."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from reveil.cli.demo import Year

_STYLE = """
:root { color-scheme: light dark; --bad: #b3261e; --good: #1b6e3c; --line: #8886; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } pre { overflow-x: auto; padding: 1rem; border: 1px solid var(--line); font-size: .8rem; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .3rem .6rem; }
td + td, th + th { text-align: right; } tr { border-bottom: 1px solid var(--line); }
@media (prefers-color-scheme: dark) { :root { --bad: #f2b8b5; --good: #8fd6a8; } }
@media print { body { max-width: none; margin: 0; } }
"""
_WIDTH = 600


def write_page(path: Path, lines: Sequence[str], naive: Year, safe: Year) -> None:
    """Write the page."""
    path.write_text(_page(lines, naive, safe), encoding="utf-8")


def _page(lines: Sequence[str], naive: Year, safe: Year) -> str:
    text = "\n".join(escape(line) for line in lines)
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Reveil: a year of extracts, attacked</title>
<style>{_STYLE}</style>
<h1>A year of monthly extracts, and somebody who holds all of them</h1>
{_bars(naive, safe)}
{_table(naive, safe)}
<h2>The whole story</h2>
<pre>{text}</pre>
</html>
"""


def _bars(naive: Year, safe: Year) -> str:
    """Draw how many patients' diagnoses can be read off."""
    everybody = naive.audit.summary["persons"]
    rows = [("each month by itself", naive, "--bad"), ("with Reveil", safe, "--good")]
    parts = []
    for place, (label, year, colour) in enumerate(rows):
        certain = year.audit.summary["certain"]
        top = 40 * place
        width = max(round(_WIDTH * certain / everybody), 1)
        parts.append(
            f'<text y="{top + 12}" font-size="12" fill="currentColor">{label}: {certain:,} of {everybody:,}</text>'
            f'<rect y="{top + 16}" width="{width}" height="14" style="fill:var({colour})"/>'
        )
    title = "Diagnoses that can be read off with certainty from all twelve files"
    return (
        f"<p>{title}</p>"
        f'<svg role="img" aria-label="{title}" viewBox="0 0 {_WIDTH} 76" width="100%">{"".join(parts)}</svg>'
    )


def _table(naive: Year, safe: Year) -> str:
    """Lay both years out side by side."""
    lines = [
        ("diagnoses read off, certain", *(f"{y.audit.summary['certain']:,}" for y in (naive, safe))),
        ("of these right", *(f"{y.audit.summary['certain_and_right'] or 0:,}" for y in (naive, safe))),
        ("known with more than one half", *(f"{y.audit.summary['above']['0.5']:,}" for y in (naive, safe))),
        ("highest belief that is proven", *(f"{y.audit.summary['highest_proven']:.2f}" for y in (naive, safe))),
        ("bound of the series", "none", f"{safe.audit.summary['bound']:.2f}"),
        ("rows published in the year", *(f"{y.rows:,}" for y in (naive, safe))),
        ("counterfeits among them", *(f"{y.counterfeits:,}" for y in (naive, safe))),
        ("share of its column's range that a cell covers", *(f"{y.loss:.0%}" for y in (naive, safe))),
    ]
    cells = "".join(f"<tr><th scope='row'>{name}</th><td>{one}</td><td>{other}</td></tr>" for name, one, other in lines)
    return f"<table><tr><th></th><th>each month by itself</th><th>with Reveil</th></tr>{cells}</table>"
