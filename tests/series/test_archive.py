"""Of which releases the vault keeps who was in which row."""

import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import ConfigError, RefusedError
from reveil.series.config import load_config
from reveil.vault import Vault

SCHEMA = rv.Schema(person="pid", quasi="age", sensitive="ill")
CONFIG = """
[series]
name = "t"
archive = {}
[columns]
pid = "person"
age = "quasi"
ill = "sensitive"
[guarantee]
kind = "tau-safety"
m = 2
"""


def frame(first):
    """Return a table of a few people; somebody leaves and somebody comes each time."""
    people = range(first, first + 30)
    return pl.DataFrame({"pid": list(people), "age": [20 + p for p in people], "ill": [f"i{p % 6}" for p in people]})


def kept(folder, archive, releases=4, *, sealed=False):
    """Publish some releases; return of which the vault keeps placements."""
    series = rv.Series.open(folder / "vault", SCHEMA, rv.TauSafety(m=2), seed=1, archive=archive, sealed=sealed)
    for number in range(1, releases + 1):
        series.publish(frame(number))
    series.check_vault()
    found = []
    for number in range(1, releases + 1):
        try:
            assert len(series.placements(number, frame(number))) == 30
            found.append(number)
        except RefusedError:
            continue
    return found


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize(("archive", "wanted"), [("last", [4]), (2, [3, 4]), (9, [1, 2, 3, 4])])
def test_the_last_releases_are_kept(tmp_path, archive, wanted, sealed):
    assert kept(tmp_path, archive, sealed=sealed) == wanted


@pytest.mark.parametrize(("archive", "wanted"), [("all", [1, 2]), (True, [1, 2]), (False, [])])
def test_all_of_them_or_none(tmp_path, archive, wanted):
    assert kept(tmp_path, archive, releases=2) == wanted


def test_what_was_kept_before_goes_when_the_policy_changes(tmp_path):
    assert kept(tmp_path, "all", releases=2) == [1, 2]
    series = rv.Series.open(tmp_path / "vault", SCHEMA, rv.TauSafety(m=2), seed=1, archive="last")
    series.publish(frame(9))
    with Vault.open(tmp_path / "vault", create=False) as vault:
        assert [number for number in (1, 2, 3) if vault.has_archive(number)] == [3]


@pytest.mark.parametrize("archive", ['"never"', "0", "-1", '""'])
def test_another_word_is_refused(tmp_path, archive):
    (tmp_path / "reveil.toml").write_text(CONFIG.format(archive))
    with pytest.raises(ConfigError, match="archive must be") as caught:
        rv.Series.of(load_config(tmp_path / "reveil.toml"))
    assert 'archive = "last"' in caught.value.hint


@pytest.mark.parametrize("archive", ['"last"', "12", '"all"', "true", "false"])
def test_a_config_may_say_it(tmp_path, archive):
    (tmp_path / "reveil.toml").write_text(CONFIG.format(archive))
    assert rv.Series.of(load_config(tmp_path / "reveil.toml")).archive in (1, 12, None, 0)


def test_placements_of_all_releases_are_those_of_each(tmp_path):
    assert kept(tmp_path, 2) == [3, 4]
    series = rv.Series.open(tmp_path / "vault", SCHEMA, rv.TauSafety(m=2), seed=1, archive=2)
    people = pl.concat([frame(3), frame(4)]).select("pid").unique("pid")
    found = series.all_placements(people)
    assert sorted(found) == [3, 4]
    for number, placed in found.items():
        assert placed.equals(series.placements(number, people))
