"""One word for one thing: the glossary is short, classes have names of their own, retired words stay away."""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "reveil"
AT_MOST = 30

# Words that named several things, or that a stranger had to be told the meaning of.
RETIRED = frozenset(
    [
        "alone",
        "closer",
        "course",
        "elsewhere",
        "lasting",
        "lent",
        "look",
        "most",
        "near",
        "own",
        "qualify",
        "rest",
        "said",
        "settle",
        "settled",
        "shares",
        "slot",
        "slots",
        "stretch",
        "told",
        "words",
    ]
)
# MOST as a constant is retired; as the name of a method it says which number it is: the most.
SAYS_ENOUGH = frozenset(["most"])
# Names that others hold on to, each with what would have to change with it.
STAY = {
    "analysis/measures/__init__.py shares": "public: what rv.measure returns has it",
    "verification/promised.py told": "what a manifest told, beside what was asked for",
}

# A judge has the name of what it judges.
MIRRORED = {
    "AnyGroup",
    "DistinctDiversity",
    "EntropyDiversity",
    "FrequencyDiversity",
    "GlobalGuarantee",
    "KAnonymity",
    "MInvariance",
    "MUniqueness",
    "RecursiveDiversity",
    "Refinement",
    "Seats",  # the judge counts seats again, with code of its own
    "Static",
    "TCloseness",
    "TauSafety",
    "Worlds",
}


@cache
def definitions():
    """Return (file, class or function, name) of everything that is defined in the package."""
    return tuple(_definitions())


def _definitions():
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE)
        yield place, "module", place.parent.name if path.stem == "__init__" else path.stem
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                yield place, "class", node.name
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield place, "function", node.name
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name) and target.id.isupper():
                        yield place, "constant", target.id


def glossary():
    """Return the rows of the table of words."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    part = text.split("\n## Words\n")[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def test_the_glossary_is_short_and_says_each_word_once():
    rows = glossary()
    words = [word for row in rows for word in row[0].split(", ")]
    assert 0 < len(rows) <= AT_MOST
    assert all(len(row) == 3 and all(row) for row in rows)
    assert len(words) == len(set(words))


def test_no_two_classes_have_one_name():
    places = defaultdict(list)
    for place, kind, name in definitions():
        if kind == "class":
            places[name].append(str(place))
    several = {name: found for name, found in places.items() if len(found) > 1}
    assert {name: found for name, found in several.items() if name not in MIRRORED} == {}
    for name in MIRRORED & several.keys():
        assert sum(found.startswith("verification/") for found in several[name]) == 1, name
        assert len(several[name]) == 2, name


@pytest.mark.parametrize("kind", ["module", "class", "function", "constant"])
def test_retired_words_name_nothing(kind):
    found = [
        f"{place.as_posix()} {name}"
        for place, what, name in definitions()
        if what == kind and name.strip("_").lower() in RETIRED
    ]
    if kind != "constant":
        found = [one for one in found if one.split()[1] not in SAYS_ENOUGH]
    assert [one for one in found if one not in STAY] == []


def test_no_variable_is_called_own():
    """Whose own, and what of it, is what a name has to say."""
    bound = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Name) and node.id == "own") or (isinstance(node, ast.arg) and node.arg == "own")
    ]
    assert bound == []
