"""A few cases of the fuzzer, and that it notices what it is there to notice; ``make fuzz`` runs thousands."""

import pytest

from reveil.core import registry
from reveil.core.errors import ReveilError
from reveil.series.config import load_config
from reveil.vault.anchor import Anchor
from tests.fuzz import pairs, tables
from tests.fuzz.__main__ import one
from tests.fuzz.checks import Place, digests, said
from tests.fuzz.dice import Dice
from tests.fuzz.families import FAMILIES
from tests.fuzz.kills import Kills, scenarios
from tests.fuzz.running import Ran, placed, run
from tests.fuzz.world import World


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return World(tmp_path_factory.mktemp("fuzz"))


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "valid"])
def test_nothing_is_found_in_a_few_damaged_cases(world, family):
    for number in range(3):
        _, case, _ = one(world, 11, number, family)
        assert case.ran
        assert case.found == []


def test_nothing_is_found_in_a_few_valid_series(world):
    for number in range(2):
        _, case, _ = one(world, 11, number, "valid")
        assert case.ran
        assert case.found == []


@pytest.mark.slow
@pytest.mark.many
def test_commands_that_are_killed_are_finished_by_the_same_command(tmp_path):
    kills = Kills(tmp_path)
    try:
        for number in range(len(scenarios())):
            _, code, case = kills.kill(3, number)
            assert code in (0, -9)
            assert case.found == []
    finally:
        kills.close()


def test_a_case_is_the_same_again(world):
    seen = []
    for _ in range(2):
        _, case, _ = one(world, 4, 1, "csv")
        seen.append((case.ran[0].asked, digests(case.folder)))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("method", [None, *registry.names("groupers")])
def test_every_method_is_tried(tmp_path, method):
    assert any(method in _drawn(tmp_path, number, [method]) for number in range(60))


@pytest.mark.slow
def test_every_guarantee_is_tried(tmp_path):
    reached = set()
    for number in range(200):
        reached |= set(_drawn(tmp_path, number))
        if reached >= set(registry.names("guarantees")):
            return
    assert set(registry.names("guarantees")) - reached == set()


def _drawn(folder, number, methods=None):
    """Return the guarantee and the method of a config that nothing speaks against, or nothing."""
    dice, path = Dice(number), folder / "reveil.toml"
    history = tables.History(dice, 1)
    kinds = pairs.draw(dice, path, "[series]\n" + history.columns(folder), history.values(), methods)
    try:
        config = load_config(path)
        config.guarantee.check(config.schema, config.method)
    except ReveilError:
        return ()
    return kinds


def test_every_command_that_writes_is_killed():
    assert {asked[0] for _, _, asked in scenarios().values()} == {
        "publish", "adopt", "forget", "history", "report", "audit", "measure", "query", "init",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("code", "err", "cause"),
    [
        (2, "error: something went wrong inside Reveil (KeyError at x.py:3)\n", "inside Reveil"),
        (2, "error: column 'age' has Szqx flu\n  Mend it.\n", "leak"),
        (2, "", "without an error"),
        (2, "error: bad\n", "names nothing"),
        (3, "error: column 'age' is odd\n  Mend it.\n", "exit code 3"),
        (2, "error: this cannot be so\n", "without a remedy"),
        (0, "thread '<unnamed>' panicked at x.rs:4\n", "panic text"),
    ],
)
def test_what_a_command_must_not_say_is_found(code, err, cause):
    found = list(said(Ran(["publish", "x.csv"], code, "", err, ""), remedy=True))
    assert any(cause in finding.cause for finding in found)


def test_a_refusal_with_message_and_remedy_is_fine():
    assert list(said(Ran(["publish", "x.csv"], 2, "", "error: x.csv: no such file\n  Check the path.\n", ""))) == []


def test_what_a_refused_command_must_not_leave_is_found(tmp_path):
    (tmp_path / "s1.csv").write_text("a")
    with placed(tmp_path) as temporary:
        place = Place(tmp_path)
        refused = Ran(["publish", "s1.csv", "-o", "out.csv"], 1, "", "error: no", "")
        assert list(place.changed(refused, temporary)) == []
        (tmp_path / "s1.csv").write_text("b")
        (tmp_path / "out.csv").write_text("half")
        (tmp_path / ".out-x").mkdir()
        (tmp_path / ".out-x" / "out.csv").write_text("half")
        (temporary / "left").write_text("x")
        causes = " ".join(finding.cause for finding in place.changed(refused, temporary))
    for cause in ("a file was changed", "leaves .csv", "temporary folder"):
        assert cause in causes
    assert causes.count("leaves") == 3


def test_panics_and_exceptions_are_kept_not_raised(tmp_path, monkeypatch):
    monkeypatch.setattr("reveil.cli.cli.main", lambda **_: (_ for _ in ()).throw(GeneratorExit()))
    with placed(tmp_path):
        ran = run("history", "-c", "reveil.toml")
    assert ran.escaped == "GeneratorExit"


@pytest.mark.parametrize(
    ("after", "cause"),
    [
        (Anchor("a" * 16, 2, "y", (), 0), "went back"),
        (Anchor("b" * 16, 9, "y", (), 0), "lost to another series"),
        ("{}", "an anchor is gone"),
        (None, "an anchor is gone"),
        (Anchor("a" * 16, 4, "y", (), 0), None),
    ],
)
def test_an_anchor_that_is_not_kept_is_found(tmp_path, after, cause):
    path, done = tmp_path / "ward.anchor", Ran(["publish", "s1.csv"], 0, "", "", "")
    Anchor("a" * 16, 3, "x", (), 0).write(path)
    with placed(tmp_path) as temporary:
        place = Place(tmp_path)
        path.unlink()
        if isinstance(after, str):
            path.write_text(after)
        elif after is not None:
            after.write(path)
        found = list(place.changed(done, temporary))
    assert len(found) == (cause is not None)
    assert all(cause in finding.cause for finding in found)


def test_a_key_that_was_changed_is_found(tmp_path):
    (tmp_path / "ward.vault").mkdir()
    (tmp_path / "ward.vault" / "key").write_text("a")
    with placed(tmp_path) as temporary:
        place = Place(tmp_path)
        (tmp_path / "ward.vault" / "key").write_text("b")
        found = list(place.changed(Ran(["history"], 0, "", "", ""), temporary))
    assert ["key" in finding.cause for finding in found] == [True]


@pytest.mark.slow
def test_a_report_of_archived_dirty_records(world):
    """Found by the fuzzer: who a dirty record is about is in an earlier snapshot only."""
    _, case, _ = one(world, 3, 34, "valid")
    assert any(ran.asked[0] == "report" for ran in case.ran)
    assert case.found == []
