"""What several sensitive columns share is found once, and is what each of them would find."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.adversary import gathering, viewing
from reveil.adversary.gathering import Gathering, gather


@pytest.fixture
def published() -> tuple[rv.Release, rv.Schema, pl.DataFrame]:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "pid": np.arange(60),
            "age": rng.integers(20, 60, 60),
            "sex": rng.choice(["f", "m"], 60),
            "ill": rng.choice(["flu", "cold", "gout"], 60),
            "pay": rng.choice(["low", "high"], 60),
        }
    )
    schema = rv.Schema(person="pid", quasi=["age", "sex"], sensitive=["ill", "pay"])
    return rv.anonymize(frame, schema, rv.KAnonymity(3), seed=1), schema, frame


def test_each_column_has_the_evidence_that_it_has_alone(
    published: tuple[rv.Release, rv.Schema, pl.DataFrame],
) -> None:
    release, schema, frame = published
    together = Gathering([release], schema, truth=[frame], known="presence")
    for column in schema.sensitive:
        one = together.on(column)
        alone = gather([release], schema, truth=[frame], known="presence", column=column)
        assert one.column == alone.column == column
        assert one.values.equals(alone.values)
        assert one.persons.equals(alone.persons)
        for mine, theirs in zip(one.views, alone.views, strict=True):
            for name in ("present", "fits", "crowded", "truth", "counts", "codes"):
                assert np.array_equal(getattr(mine, name), getattr(theirs, name))
            assert np.array_equal(mine.candidates.items, theirs.candidates.items)


def test_who_may_be_in_which_group_is_found_once(
    published: tuple[rv.Release, rv.Schema, pl.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    release, schema, frame = published
    found: list[int] = []
    real = viewing.possible_groups

    def counted(number: int, *given: Any) -> viewing.PossibleGroups:
        found.append(number)
        return real(number, *given)

    monkeypatch.setattr(gathering, "possible_groups", counted)
    rv.audit([release], schema, truth=[frame], attacks="homogeneity")
    assert found == [0]


def test_audits_that_share_what_was_read_say_what_they_say_alone(
    published: tuple[rv.Release, rv.Schema, pl.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    release, schema, frame = published
    alone = {known: rv.audit([release], schema, truth=[frame], known=known) for known in ("nothing", "presence", None)}
    read: list[object] = []
    real = gathering.read_people

    def counted(*given: Any) -> Any:
        read.append(given)
        return real(*given)

    monkeypatch.setattr(gathering, "read_people", counted)
    shared = Gathering.prepared([release], schema, truth=[frame])
    for known, wanted in alone.items():
        found = rv.audit([release], schema, truth=[frame], known=known, gathering=shared)
        assert found.known == wanted.known
        assert found.summary == wanted.summary
        assert found.attacks == wanted.attacks
        assert found.persons.equals(wanted.persons)
    assert len(read) == 1
