"""Every cell of the tables in promise.md is what the program does."""

import pytest

import reveil as rv
from tests.docs.pages import page, rows, sections
from tests.docs.trials import BEGINNING, LATER, SETTINGS, Request, Trial
from tests.rarely import mostly_slow

PARTS = sections(page("promise.md"))
ALLOWED = rows(PARTS["What is allowed"])
WARNINGS = ("is judged alone", "does not cover")
ALONE = ("no sensitive column", "a sensitive number in bins", "adopt a release from elsewhere", "`blind = true`")


def outcome(trial, names, more=()):
    """Say what becomes of it: published, published with a warning, or refused."""
    try:
        done = trial.do(names, more)
    except rv.ReveilError as refusal:
        return "no" if refusal.hint else "no, and no remedy is named"
    note = getattr(done, "note", None) or ""
    return "not covered" if any(warning in note for warning in WARNINGS) else "yes"


def asked_for(said):
    """Return which lines are tried together: those that are published alike; all others are tried alone."""
    found = []
    for group in (LATER, BEGINNING):
        for cell in ("yes", "not covered"):
            together = [name for name in group if said[name] == cell and name not in ALONE and "method" not in name]
            found += [(together, cell)] if together else []
        alone = [name for name in group if not any(name in names for names, _ in found)]
        found += [([name], said[name]) for name in alone]
    return found


def test_the_table_is_complete():
    assert ALLOWED[0][1:] == list(SETTINGS)
    assert {line[0] for line in ALLOWED[1:]} == LATER.keys() | BEGINNING.keys()
    assert [line[0].strip("`") for line in rows(PARTS["In plain words"])[1:]] == list(SETTINGS)


@pytest.mark.parametrize("kind", mostly_slow(SETTINGS, 2))
def test_what_is_allowed(kind, tmp_path):
    trial = Trial(kind, tmp_path)
    place = ALLOWED[0].index(kind)
    tried = asked_for({line[0]: line[place] for line in ALLOWED[1:]})
    assert sum(len(names) for names, _ in tried) == len(ALLOWED) - 1
    for names, cell in tried:
        found, expected = outcome(trial, names), "no" if cell == "ends it" else cell
        if cell.startswith("`"):
            found, expected = (found, outcome(trial, names, [cell.strip("`")])), ("no", "yes")
        assert found == expected, f"{', '.join(names)}: the page says {cell}, the program does {found}"


def test_grades(tmp_path):
    for number, (settings, grade) in enumerate(rows(PARTS["Three grades"])[1:]):
        kind = settings.split("`")[1]
        more = [part for part in settings.split("`")[2:] if "=" in part]
        more += ["domain = [...]"] if kind == "tau-safety" and more else []
        more += ["k = 3"] if "k alone" in settings else []
        made = Trial(kind, tmp_path / str(number)).begin(Request(settings=more)).release
        assert made.manifest["guarantee"]["grade"] == grade, settings


@pytest.mark.parametrize(
    ("kind", "names", "settings", "why"),
    [
        ("tau-safety", ["missing sensitive values"], ["blind = true", "domain = [...]"], "domain does not have"),
        ("refinement", ["a sensitive value changes"], ["blind = true"], "do not change"),
        ("global", ["forget somebody"], ["permanent = ['d01']"], "tombstone"),
        ("refinement", ["forget somebody"], [], "alone in their cell"),
        ("m-invariance", ["a part of the people (`--where`)"], [], "would return later"),
    ],
)
def test_what_needs_a_word(kind, names, settings, why, tmp_path):
    trial = Trial(kind, tmp_path)
    trial.settings = settings
    with pytest.raises(rv.ReveilError, match=why):
        trial.do(names)
