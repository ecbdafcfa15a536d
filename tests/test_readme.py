"""The README and the other documents say what is so."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from reveil.cli import COMMANDS
from reveil.series.config import load_config
from tests.cli.run import reveil

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_python_blocks_run():
    names: dict[str, object] = {}  # later blocks go on from earlier ones
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), names)  # noqa: S102


def test_config_blocks_load(tmp_path):
    (tmp_path / "towns.csv").write_text("a;*\nb;*\n")
    for block in blocks("toml"):
        (tmp_path / "reveil.toml").write_text(block)
        assert load_config(tmp_path / "reveil.toml").guarantee.m == 4


def test_commands_exist():
    named = set(re.findall(r"^reveil (\w+)", README, re.MULTILINE))
    assert {"init", "publish", "verify", "query", "measure", "history"} <= named <= set(COMMANDS)


@pytest.mark.slow
def test_the_excerpt_is_what_the_demo_says(tmp_path):
    excerpt = re.search(r"<!-- demo -->\n```\n(.*?)```\n<!-- end -->", README, re.DOTALL)[1]
    said = reveil("demo", "--out", tmp_path / "demo")
    assert said.returncode == 0
    assert excerpt.rstrip() == said.stdout.split(f"\nIn {tmp_path}")[0].rstrip()


def test_make_targets_exist():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for text in (README, (ROOT / "CONTRIBUTING.md").read_text()):
        assert set(re.findall(r"^make ([\w-]+)", text, re.MULTILINE)) <= targets


def test_links_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "docs" / "decisions" / "README.md"]:
        for target in re.findall(r"(?:\]\(|<img src=\")([^)#:\"]+)[)\"]", page.read_text()):
            assert (page.parent / target).exists(), target


def test_every_decision_is_listed():
    folder = ROOT / "docs" / "decisions"
    listed = (folder / "README.md").read_text()
    assert all(page.name in listed for page in folder.glob("0*.md"))


def test_help_needs_no_heavy_import():
    code = "import sys; import reveil.cli; sys.exit(any(name in sys.modules for name in ('polars', 'numpy', 'numba')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_lock_and_ranges_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    locked = {line.split("==")[0].lower() for line in (ROOT / "requirements-dev.lock").read_text().split()}
    for need in project["dependencies"]:
        assert re.split(r"[<>=]", need)[0].lower() in locked


def test_the_lock_has_digests_and_names_no_host():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = (ROOT / "requirements.lock").read_text()
    pins = re.findall(r"^([a-z0-9-]+)==.*\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\\n|\n))+)", text, re.MULTILINE)
    assert len(pins) == len(re.findall(r"^[^ ]+==", text, re.MULTILINE))
    assert "://" not in text
    assert "file:" not in text
    for need in project["dependencies"]:
        assert re.split(r"[<>=]", need)[0].lower() in dict(pins)


@pytest.mark.parametrize("path", sorted(ROOT.glob("src/reveil/**/*.py")), ids=lambda path: path.stem)
def test_the_project_has_no_unfinished_business(path):
    text = path.read_text()
    assert not re.search(r"TODO|FIXME|XXX|NotImplementedError", text)
