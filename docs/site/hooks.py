"""What the site shows beside ``docs``: two pages from the top of the repository, and the notebooks, carried out."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
SHOWN = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}


def on_config(config: Any) -> Any:
    """Put pages that the list of contents does not name at its end: a new page is seen before it has its place."""
    named = set(re.findall(r"'([^']+\.md)'", str(config.nav)))
    others = sorted(path.name for path in Path(config.docs_dir).glob("*.md") if path.name not in named)
    if others:
        config.nav.append({"More": others})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the two pages, with links as they are from there, and what the notebooks show."""
    for name, shown in SHOWN.items():
        text = re.sub(r"\]\(docs/", "](", (ROOT / name).read_text())
        files.append(File.generated(config, shown, content=text))
    gallery = runpy.run_path(str(ROOT / "docs" / "site" / "notebooks.py"), run_name="notebooks")["gallery"]()
    for name, text in gallery.items():
        files.append(File.generated(config, f"notebooks/{name}", content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Let links to the two pages lead to them."""
    for name, shown in SHOWN.items():
        markdown = markdown.replace(f"](../{name}", f"]({shown}")
    return markdown
