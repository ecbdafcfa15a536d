"""Parts of a table under guarantees with signatures: whole, part, whole, judged by all the worlds that agree."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import InfeasibleError, RefusedError
from tests.guarantees.test_signature_guarantees import VALUES, judged, obeys, run
from tests.series.cases import command, config, series, snapshot, written

PARTS = (pl.col("town") == "x", pl.col("age") < 25, pl.col("age") >= 24)


def tables(seed, *, changes):
    """A tiny table and parts of it, in turn; values may change in between."""
    dice = np.random.default_rng(seed)
    people = int(dice.integers(4, 7))
    values = list(VALUES if changes else VALUES[:5])
    whole = pl.DataFrame(
        {
            "pid": range(people),
            "age": dice.integers(20, 30, people),
            "town": dice.choice(["x", "y"], people),
            "disease": dice.choice(values, people),
        }
    )
    found = []
    for step in range(int(dice.integers(3, 6))):
        part = whole if step % 2 == 0 else whole.filter(PARTS[dice.integers(len(PARTS))])
        found += [part] if part.height else []
        if changes:
            mover, value = int(dice.integers(people)), str(dice.choice(values))
            moves = pl.when(pl.col("pid") == mover).then(pl.lit(value))
            whole = whole.with_columns(moves.otherwise("disease").alias("disease"))
    return found


def check_tau(first, last):
    for seed in range(first, last):
        for changes in (False, True):
            snapshots = tables(seed, changes=changes)
            told = run(rv.TauSafety(m=2, domain=tuple(VALUES)), snapshots, seed)
            obeys(told, 2)
            assert judged(told, snapshots) <= Fraction(1, 2), (seed, changes)


def test_tau_safety_keeps_its_promise_over_parts():
    check_tau(0, 10)


@pytest.mark.slow
@pytest.mark.many
def test_tau_safety_keeps_its_promise_over_many_parts():
    check_tau(10, 300)


@pytest.mark.slow
def test_m_invariance_would_not():
    """Why it refuses them: nobody changed, nobody left the table, and somebody has fewer than m values left."""
    broken = 0
    for seed in range(40):
        snapshots = tables(seed, changes=False)
        try:
            told = run(rv.MInvariance(2), snapshots, seed)
        except InfeasibleError:
            continue
        broken += judged(told, snapshots) > Fraction(1, 2)
    assert broken


def test_m_invariance_refuses_a_part_of_the_people(tmp_path):
    own = series(tmp_path, rv.MInvariance(2))
    own.publish(snapshot())
    for where in ("age < 50", "age < 500"):
        with pytest.raises(RefusedError, match="would return later") as caught:
            own.publish(snapshot(), where=where)
        assert "tau-safety" in caught.value.hint
        assert "refinement" in caught.value.hint
    assert len(own.history()) == 1
    # Everybody is there when some of the columns are published: nobody leaves, and nobody's set of values changes.
    told = [own.publish(snapshot(), columns=columns) for columns in (["age", "disease"], ["town", "disease"], None)]
    assert [release.manifest["release"] for release in told] == [2, 3, 4]
    assert [line["returned"] for line in own.history()] == [0] * 4


def test_on_the_command_line(tmp_path):
    path, raw = config(tmp_path, 'kind = "m-invariance"\nm = 2'), written(tmp_path, "raw.csv")
    publish = ["publish", raw, "-c", path, "-o", tmp_path / "out.csv"]
    done = command(*publish, "--where", "age < 50")
    assert done.returncode == 1
    assert "tau-safety" in done.stderr
    assert not (tmp_path / "out.csv").exists()
    assert command(*publish, "--columns", "age,disease").returncode == 0
