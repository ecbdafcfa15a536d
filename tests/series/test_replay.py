"""A whole series judged anew: from its files and archived placements, not from its books."""

from __future__ import annotations

import polars as pl
import pytest

import reveil as rv
from tests.cli.run import reveil
from tests.sabotage.guarantees import SERIES
from tests.sabotage.scenes import FRAME, LATER, PEOPLE

CONFIG = """[series]
name = "s"
vault = "s.vault"
[columns]
pid = "person"
age = "quasi"
town = "quasi"
ill = "sensitive"
[guarantee]
kind = "tau-safety"
m = 2
"""


@pytest.fixture(autouse=True)
def _no_key_from_outside(monkeypatch):
    monkeypatch.delenv("REVEIL_KEY", raising=False)


@pytest.mark.parametrize("kind", [pytest.param(k, marks=[] if k == "refinement" else pytest.mark.slow) for k in SERIES])
def test_a_sound_series_is_sound(tmp_path, kind):
    guarantee, frames = SERIES[kind]
    frames = frames[:3]  # a fourth one would be more than the budget allows
    series = rv.Series.open(tmp_path / "vault", PEOPLE, guarantee, seed=1)
    for at, frame in enumerate(frames):
        series.publish_to(tmp_path / f"r{at}.csv", frame, again=True)
        frame.write_csv(tmp_path / f"t{at}.csv")
    found = series.replayed([tmp_path / f"t{at}.csv" for at in range(len(frames))])
    assert (found.broken, found.missing) == ([], [])
    assert found.releases == found.truths == len(frames)


@pytest.fixture
def published(tmp_path):
    (tmp_path / "reveil.toml").write_text(CONFIG)
    for at, frame in enumerate((FRAME, LATER), start=1):
        frame.write_csv(tmp_path / f"t{at}.csv")
        done = reveil("publish", tmp_path / f"t{at}.csv", "-c", tmp_path / "reveil.toml", "-o", tmp_path / f"r{at}.csv")
        assert done.returncode == 0, done.stderr
    return tmp_path


def test_the_command(published):
    config = published / "reveil.toml"
    done = reveil("verify", "--series", "-c", config, "--truth", published / "t2.csv")
    assert done.returncode == 0, done.stderr
    assert "2 releases, each beside those before it, 1 compared with their snapshots" in done.stderr
    assert reveil("verify", "-c", config).returncode == 2
    (published / "r1.csv").unlink()
    done = reveil("verify", "--series", "-c", config)
    assert done.returncode == 2
    assert "release 1: no file holds it any more" in done.stderr


def test_people_who_were_erased_do_not_end_it(published):
    config = published / "reveil.toml"
    assert reveil("forget", "7", "-c", config).returncode == 0
    done = reveil("verify", "--series", "-c", config)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("option", [(), ("--tombstone",)])
def test_their_snapshots_are_still_compared(published, option):
    """The owner's file of that month has the erased person's record, and the vault does not know whose it is."""
    config = published / "reveil.toml"
    assert reveil("forget", "7", "-c", config, *option).returncode == 0
    truths = [published / "t1.csv", published / "t2.csv"]
    done = reveil("verify", "--series", "-c", config, "--truth", *truths)
    assert done.returncode == 0, done.stderr
    assert "2 releases, each beside those before it, 2 compared with their snapshots" in done.stderr
    changed = pl.read_csv(truths[0]).with_columns(ill=pl.when(pl.col("pid") == 7).then(pl.lit("no")).otherwise("ill"))
    changed.write_csv(truths[0])
    done = reveil("verify", "--series", "-c", config, "--truth", truths[0])
    assert done.returncode == 2
    assert "is the snapshot of no release" in done.stderr


def test_who_comes_back_with_another_value_after_an_erasure_does_not_break_it(published):
    """The tombstone knows what no file shows any more, and what was told since has to be there."""
    config = published / "reveil.toml"
    series = rv.Series.load(config)
    (group,) = series.placements(2, LATER).filter(pl.col("person") == 7)["group"]
    known = pl.read_csv(published / "r2.csv").filter(pl.col("group") == group)["ill"]
    other = min(set(LATER["ill"]) - set(known))
    assert reveil("forget", "7", "-c", config, "--tombstone").returncode == 0
    series = rv.Series.load(config)
    series.publish_to(published / "r3.csv", LATER.filter(pl.col("pid") != 7))
    back = LATER.with_columns(ill=pl.when(pl.col("pid") == 7).then(pl.lit(other)).otherwise("ill"))
    series.publish_to(published / "r4.csv", back)
    done = reveil("verify", "--series", "-c", config)
    assert done.returncode == 0, done.stderr
    with rv.Series.load(config)._opened() as vault, vault.store.transaction() as connection:
        connection.execute("DELETE FROM ledger_told WHERE person % 5 = 0")
    done = reveil("verify", "--series", "-c", config)
    assert "the vault's books do not say what was told" in done.stderr


def test_books_that_lost_something_are_found(published):
    series = rv.Series.load(published / "reveil.toml")
    with series._opened() as vault, vault.store.transaction() as connection:
        connection.execute("DELETE FROM ledger_told WHERE person % 5 = 0")
    done = reveil("verify", "--series", "-c", published / "reveil.toml")
    assert done.returncode == 1
    assert "the vault's books do not say what was told" in done.stderr
    with pytest.raises(rv.VerificationError, match="do not say what was told"):
        series.publish(pl.concat([LATER, FRAME[:2]]))


def test_a_series_from_before_the_judge_goes_on(published):
    """A vault without the judge's record: its books are taken over, and from then on the judge has its own."""
    series = rv.Series.load(published / "reveil.toml")
    with series._opened() as vault, vault.store.transaction() as connection:
        connection.execute("DELETE FROM settings WHERE key = 'judged'")
        connection.execute("DELETE FROM ledger_judged_sets")
        connection.execute("DELETE FROM ledger_judged_members")
    series.publish(pl.concat([LATER, FRAME[:2]]))
    with series._opened() as vault:
        assert vault.setting("judged") == 3
        assert (
            vault.store.connection.execute("SELECT count(DISTINCT person) FROM ledger_judged_sets").fetchone()[0] == 60
        )
