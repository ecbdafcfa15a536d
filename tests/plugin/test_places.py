"""How many files are touched to add one thing, as CONTRIBUTING counts them: a package outside the tree adds each.

The package (``package/``) is installed into a folder of its own, as an installer would leave it there; nothing of
Reveil's tree is changed for it.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from reveil.testing import check_grouper, check_model
from tests.plugin.package.reveil_toys.everybody import Everybody
from tests.plugin.package.reveil_toys.multiple_of import MultipleOf

PACKAGE = Path(__file__).parent / "package"
ROOT = Path(__file__).parents[2]
JUDGES = "reveil.judges"


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def rows():
    """What can be added: the numbers of places, and the groups of entry points, row by row of the table."""
    text = (ROOT / "CONTRIBUTING.md").read_text().partition("## Adding one thing touches its own file")[2]
    lines = [line.strip("|").split(" | ") for line in text.partition("\n## ")[0].splitlines() if line.startswith("|")]
    heads = [cell.strip() for cell in lines[0]]
    assert heads[:2] == ["to add", "places"]
    register = next(at for at, head in enumerate(heads) if head.startswith("register"))
    return {
        cells[0].strip(): (
            [int(n) for n in re.findall(r"\d+", cells[1])],
            re.findall(r"`(reveil\.\w+)`", cells[register]),
        )
        for cells in lines[2:]
    }


def modules(points):
    return {value.partition(":")[0] for value in points}


def test_the_places_are_those_of_the_table(project, rows):
    """A place is a file that is written or changed; all the entry points are in one, ``pyproject.toml``."""
    points, claimed = project["entry-points"], set()
    for thing, (places, (group, *others)) in rows.items():
        assert set(others) <= {JUDGES}, thing
        ((name, value),) = points[group].items()
        own = [modules([value])] + [modules([value, points[other][name]]) for other in others]
        assert [len(files) + 1 for files in own] == places, thing
        assert not claimed & own[-1], "a file belongs to one thing"
        claimed |= own[-1]
    assert points.keys() == {group for _, groups in rows.values() for group in groups}
    files = {f"reveil_toys.{path.stem}" for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"}
    assert claimed == files, "files that no entry point names would be places that nobody counts"


def test_nothing_else_is_written(project):
    """No file of a toy leans on another one, and the package itself has no code."""
    for path in PACKAGE.rglob("*.py"):
        body = ast.parse(path.read_text()).body
        if path.name == "__init__.py":
            assert len(body) == 1
        assert "reveil_toys" not in "".join(ast.dump(node) for node in body[1:]), path.name


def test_a_toy_of_each_works(tmp_path, project, rows):
    """All of them in one process, which takes seconds to start."""
    site, work = tmp_path / "site", tmp_path / "work"
    work.mkdir()
    shutil.copytree(PACKAGE / "reveil_toys", site / "reveil_toys", ignore=shutil.ignore_patterns("__pycache__"))
    installed = site / f"{project['name']}-{project['version']}.dist-info"
    installed.mkdir()
    about = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (installed / "METADATA").write_text(about)
    lines = [
        line
        for group, points in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in points.items()))
    ]
    (installed / "entry_points.txt").write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.plugin.try_toys"],
        cwd=work,
        env={**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == list(rows)


def test_the_contract_suite_is_a_line_for_each():
    """What a package tests of its own things; formats and stores are held to their contracts beside Reveil's own."""
    for model in MultipleOf.examples():
        check_model(model)
    for method in Everybody.examples():
        check_grouper(method)
