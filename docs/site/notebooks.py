"""The notebooks of the gallery: scripts with ``# %%`` cells, carried out by Jupyter's kernel and shown as pages.

``python docs/site/notebooks.py FOLDER`` writes each as a page, its pictures, and an ``.ipynb`` file with its outputs.
Every editor that knows cells opens the scripts as notebooks; what they show is made anew with each build of the site.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

SCRIPTS = Path(__file__).parents[1] / "notebooks"
SECONDS = 120  # for one cell
CELL = re.compile(r"^# %%(?P<kind> \[markdown\])?\n", re.MULTILINE)
KEY = "the key of the gallery, which everybody knows"  # so that a page says the same in every build; never do that


def names() -> list[str]:
    """Return the names of the notebooks, without what they end in."""
    return sorted(path.stem for path in SCRIPTS.glob("*.py"))


def notebook(text: str) -> Any:
    """Return a script as a notebook that has not been run."""
    _, *parts = CELL.split(text)
    cells = []
    for number, (kind, body) in enumerate(zip(parts[::2], parts[1::2], strict=True)):
        lines = body.strip("\n")
        if kind:
            cell = nbformat.v4.new_markdown_cell(re.sub(r"^# ?", "", lines, flags=re.MULTILINE))
        else:
            cell = nbformat.v4.new_code_cell(lines)
        cell["id"] = f"cell-{number}"
        cells.append(cell)
    return nbformat.v4.new_notebook(cells=cells, metadata={"language_info": {"name": "python"}})


def carried_out(name: str) -> Any:
    """Run a notebook in a folder of its own, and return it with its outputs."""
    book = notebook((SCRIPTS / f"{name}.py").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "REVEIL_KEY": KEY, "JUPYTER_PLATFORM_DIRS": "1"}
        client = NotebookClient(
            book,
            timeout=SECONDS,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
            record_timing=False,
            extra_arguments=[
                "--IPKernelApp.log_level=40"
            ],  # it would say that it speaks to this machine without encryption
        )
        client.execute(env=env)
    return book


def page(name: str, book: Any) -> dict[str, str]:
    """Return the files of a notebook that has been run: its page, its pictures, and itself."""
    files: dict[str, str] = {}
    parts = []
    for number, cell in enumerate(book.cells):
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for place, output in enumerate(cell.outputs):
            parts.append(_shown(output, f"{name}-{number}-{place}.svg", files))
    first, *others = parts
    head = f"{first}\n\n[This notebook with its outputs]({name}.ipynb), to run it yourself."
    files[f"{name}.md"] = "\n\n".join([head, *others]) + "\n"
    files[f"{name}.ipynb"] = nbformat.writes(book) + "\n"
    return files


def _shown(output: Any, picture: str, files: dict[str, str]) -> str:
    if output.output_type == "stream":
        return f"```text\n{output.text.rstrip()}\n```"
    data = output.data
    if "image/svg+xml" in data:
        files[picture] = data["image/svg+xml"]
        title = re.search(r"<title[^>]*>([^<]*)", files[picture])
        return f"![{title[1] if title else ''}]({picture})"
    if "text/html" in data:
        return re.sub(r"\n\s*", "", re.sub(r"<style>.*?</style>", "", data["text/html"], flags=re.DOTALL))
    return f"```text\n{data['text/plain'].rstrip()}\n```"


def gallery() -> dict[str, str]:
    """Run all notebooks, and return the files of the gallery by their names."""
    return {name: text for own in names() for name, text in page(own, carried_out(own)).items()}


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for name, text in gallery().items():
        (target / name).write_text(text, encoding="utf-8")
