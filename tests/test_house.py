"""The rooms and floors of the house, as the import contracts have them and as the pages count them."""

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "reveil"
MOST_FLOORS = 12
MOST_LINES = 400
MOST_ANY = 100
SPEAKS_OF_WORLDS = {"docstring_sections.py"}  # of the grade of that name
IN_WORDS = {11: "eleven", 12: "twelve", 14: "fourteen", 15: "fifteen", 16: "sixteen"}


def floors():
    """The rooms of each floor, the highest first."""
    linted = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (layers,) = (one for one in linted["contracts"] if one["type"] == "layers")
    assert layers["exhaustive"]
    return [floor.split(" | ") for floor in layers["layers"]]


def sources():
    return sorted(PACKAGE.rglob("*.py"))


def test_there_are_few_floors_and_every_room_is_on_one():
    rooms = [room for floor in floors() for room in floor]
    assert len(floors()) <= MOST_FLOORS
    assert sorted(rooms) == sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
    assert [path.name for path in PACKAGE.glob("*.py")] == ["__init__.py"]


def test_the_pages_count_them():
    rooms = sum(len(floor) for floor in floors())
    said = f"{IN_WORDS[rooms]} rooms on {IN_WORDS[len(floors())]} floors"
    picture = (ROOT / "docs" / "architecture.md").read_text()
    assert said in picture
    assert said in (ROOT / "CONTRIBUTING.md").read_text().lower()
    drawn = re.findall(r"^ +(\w+(?: \| \w+)*)  ", picture.partition("```\n")[2].partition("```")[0], re.M)
    assert drawn == [" | ".join(floor) for floor in floors()]


def test_modules_are_short():
    long = {path.name: n for path in sources() if (n := len(path.read_text().splitlines())) > MOST_LINES}
    assert long == {}


def test_hardly_anything_is_of_any_type():
    names = (node for path in sources() for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name))
    assert sum(name.id == "Any" for name in names) < MOST_ANY


def test_who_attacks_reports_and_lists_knows_no_guarantee_by_name():
    kinds = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["reveil.guarantees"])
    rooms = [path for room in ("adversary", "analysis", "reporting") for path in (PACKAGE / room).rglob("*.py")]
    named = [
        f"{path.relative_to(PACKAGE)}:{node.lineno} {node.value}"
        for path in [*rooms, PACKAGE / "cli" / "history.py", PACKAGE / "series" / "lines.py"]
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in kinds and path.name not in SPEAKS_OF_WORLDS
    ]
    assert named == []
