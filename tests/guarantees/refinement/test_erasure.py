"""Erasures under refinement: whoever returns is still in the cell that they were in."""

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import InfeasibleError, RefusedError
from reveil.guarantees.traits import Traits
from tests.guarantees.refinement.plain_cells import Told
from tests.rarely import mostly_slow
from tests.series.cases import command, config, contents, tables, written

SCHEMA = rv.Schema(person="pid", quasi=("age",), sensitive="disease")


def table(people, values="abcdefgh"):
    return pl.DataFrame(
        {"pid": people, "age": [20 + p % 10 for p in people], "disease": [values[p % len(values)] for p in people]},
        schema={"pid": pl.Int64, "age": pl.Int64, "disease": pl.String},
    )


def opened(folder, guarantee):
    return rv.Series.open(folder / "vault", SCHEMA, guarantee, seed=0)


def publish(own, told, frame, everybody):
    """Publish and note what somebody can follow who knows everybody's group in every release."""
    release = own.publish_to(None, frame, again=True).release
    placed = own.placements(release.manifest["release"], everybody)
    told.add(release, {p: (row, group) for p, group, row in placed.iter_rows()}, frame["pid"].to_list())


def vector(own, forget):
    """Two people; one is erased and comes back with somebody new."""
    everybody, told = table([0, 1, 2]), Told()
    publish(own, told, table([0, 1]), everybody)
    erased = told.releases[0][0]
    forget(own)
    publish(own, told, table([0, 2]), everybody)
    told.releases[0][0] = erased  # the vault forgot where they were; those who hold the release did not
    return told


def test_without_a_tombstone_two_people_would_be_alone(tmp_path, monkeypatch):
    """What the refusal is for: the one who returns, and the innocent newcomer beside them."""
    monkeypatch.setattr(Traits, "check_erasure", lambda self, *, tombstone: None)
    told = vector(opened(tmp_path, rv.Refinement(k=2, slack=1)), lambda own: own.forget(0))
    assert [0] in told.cells()
    assert [2] in told.cells()


def test_it_is_refused_and_with_a_tombstone_nobody_is_alone(tmp_path):
    def forget(own):
        before = contents(own.vault)
        with pytest.raises(RefusedError, match="must leave a tombstone") as caught:
            own.forget(0)
        assert "--tombstone" in caught.value.hint
        assert contents(own.vault) == before
        assert own.forget(0, tombstone=True)

    own = opened(tmp_path, rv.Refinement(k=2, slack=1))
    with pytest.raises(InfeasibleError):  # the one may not be published any more, and the other would be alone
        vector(own, forget)
    everybody, told = table([0, 1, 2, 3]), Told()
    told.releases.append({0: (1, "a"), 1: (1, "b")})
    told.asked.append({0, 1})
    publish(own, told, table([0, 2, 3]), everybody)
    assert sorted(map(sorted, told.cells())) == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    "guarantee", mostly_slow([rv.Refinement(k=2, slack=1), rv.Refinement(k=3, l=2)]), ids=["k", "l"]
)
def test_whoever_is_erased_and_returns_leaves_every_cell_valid(tmp_path, guarantee):
    check_random_series(tmp_path, guarantee, range(1))


@pytest.mark.slow
@pytest.mark.many
@pytest.mark.parametrize("guarantee", [rv.Refinement(k=2, slack=1), rv.Refinement(k=3, l=2)], ids=["k", "l"])
def test_in_many_series(tmp_path, guarantee):
    check_random_series(tmp_path, guarantee, range(1, 60))


def check_random_series(folder, guarantee, seeds):
    everybody = table(range(24))
    for seed in seeds:
        dice = np.random.default_rng(seed)
        own, told, where_they_were = opened(folder / str(seed), guarantee), Told(), []
        (folder / str(seed)).mkdir()
        for _ in range(4):
            people = sorted(dice.choice(24, int(dice.integers(10, 20)), replace=False).tolist())
            try:
                publish(own, told, table(people), everybody)
            except InfeasibleError:
                continue
            where_they_were.append(dict(told.releases[-1]))
            for person in dice.choice(people, 2, replace=False).tolist():
                own.forget(int(person), tombstone=True)
        told.releases = where_they_were  # with those who were erased since
        assert told.invalid(guarantee) == []


def test_a_tombstone_is_a_pseudonym_and_a_cell(tmp_path):
    own = opened(tmp_path, rv.Refinement(k=3, l=2))
    own.publish(table(range(12)))
    assert own.forget(5, tombstone=True)
    assert not own.forget(5, tombstone=True), "there is nothing left to forget"
    found = tables(own.vault)
    erased = [row for row in found["persons"] if row[4] is None]
    assert len(erased) == 1
    number, _, _, present, *last = erased[0]
    assert (present, set(last)) == (False, {None})
    assert number not in {row[1] for row in found["placements"]}
    assert len(found["placements"]) == 11
    with own._opened() as vault:
        rows = {
            name: vault.store.connection.table(f"ledger_{name}").filter(f"person = {number}").fetchall()
            for (name,) in vault.store.connection.execute("SELECT name FROM ledgers WHERE personal").fetchall()
        }
    assert {name: len(own) for name, own in rows.items()} == {
        "told": 0,
        "cells": 1,
        "told_values": 0,
        "judged_cells": 1,
        "judged_values": 0,
    }


def test_on_the_command_line(tmp_path):
    path, raw = config(tmp_path, 'kind = "refinement"\nk = 3'), written(tmp_path, "raw.csv")
    assert command("publish", raw, "-c", path, "-o", tmp_path / "out.csv").returncode == 0
    for person in ("5", "777"):  # known or not
        done = command("forget", person, "-c", path)
        assert done.returncode == 1
        assert "--tombstone" in done.stderr
    done = command("forget", "5", "-c", path, "--tombstone")
    assert done.returncode == 0
    assert "tombstone is kept" in done.stderr
