"""What an adversary believes of people before reading a release: chances of values given quasi values.

They are uniform, learnt from the releases themselves (by the attack, :mod:`reveil.adversary.attacks.prior`), learnt
from a table about other people, or read from a file of probabilities. Beside the people who are attacked there may be a
control group: people whose values are known and who are not in a release.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from reveil.adversary.background import any_table
from reveil.adversary.candidates import find_candidates
from reveil.adversary.control import Control, control_of
from reveil.adversary.naive_bayes import Features, NaiveBayes, features_of
from reveil.adversary.prior_table import read_prior_table
from reveil.adversary.probabilities import PROBABILITY, read_probabilities
from reveil.core.errors import ConfigError
from reveil.releases.groups import groups_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from reveil.adversary.background import Background, KnownPeople
    from reveil.core.arrays import CodeArray, Ragged
    from reveil.releases.release import Release
    from reveil.tables.schema import Schema

FloatArray = npt.NDArray[np.float64]

UNIFORM, RELEASES = "uniform", "releases"


@dataclass(frozen=True)
class ControlGroup:
    """People who are not in a release: the groups that would hold them, and the codes of their true values."""

    groups: Ragged[np.int32] = field(repr=False)
    truth: CodeArray = field(repr=False)


@dataclass(frozen=True)
class Beforehand:
    """What is believed beforehand of the people of each release, and of a control group beside each.

    ``kind`` says where it comes from. ``chances`` and ``control_chances`` have a row for each person and a number for
    each value; with the kind ``releases`` they are None and learnt from ``features``. ``why_not``: the prior says
    nothing about the column that is attacked.
    """

    kind: Literal["uniform", "releases", "table", "probabilities"]
    name: str
    features: tuple[Features, ...] = field(default=(), repr=False)
    control_features: tuple[Features, ...] = field(default=(), repr=False)
    chances: tuple[FloatArray, ...] | None = field(default=None, repr=False)
    control_chances: tuple[FloatArray, ...] | None = field(default=None, repr=False)
    control: tuple[ControlGroup | None, ...] = field(default=(), repr=False)
    why_not: str | None = None


def read_prior(
    given: object,
    control: object | None,
    schema: Schema,
    column: str,
    values: pl.Series,
    releases: Sequence[Release],
    people: Background,
    known: str,
) -> Beforehand:
    """Read a prior: ``uniform``, ``releases``, a table with quasi and sensitive columns, or one of probabilities."""
    tables = people.present(known)
    others = control_of(control, people, schema, column, values)
    quasi = [table.quasi for table in tables]
    beside = [other.people.quasi for other in others]
    groups = tuple(_group(other, release) for other, release in zip(others, releases, strict=True))
    if isinstance(given, str) and given in (UNIFORM, RELEASES):
        coded = features_of([*quasi, *beside], schema)
        columns, more = tuple(coded[: len(quasi)]), tuple(coded[len(quasi) :])
        if given == RELEASES:
            return Beforehand("releases", "the releases", columns, more, control=groups)
        even = [np.full((len(part), len(values)), 1 / max(len(values), 1)) for part in coded]
        return Beforehand(
            "uniform", UNIFORM, columns, more, tuple(even[: len(quasi)]), tuple(even[len(quasi) :]), control=groups
        )
    if not isinstance(given, str | os.PathLike) and not hasattr(given, "columns"):
        raise ConfigError("prior must be uniform, releases, a file or a table", hint="--prior releases, for example.")
    frame, place = any_table(given)
    name = Path(given).name if isinstance(given, str | os.PathLike) else "the table given"
    everybody = [*tables, *(other.people for other in others)]
    if PROBABILITY in frame.columns:
        read = read_probabilities(frame, place, schema, column, values)
        if read is None:
            return Beforehand("probabilities", name, why_not=f"the prior says nothing about {column!r}")
        chances = [read.chances_of(table) for table in everybody]
        return Beforehand(
            "probabilities", name, chances=tuple(chances[: len(quasi)]), control_chances=tuple(chances[len(quasi) :]),
            control=groups,
        )  # fmt: skip
    public = read_prior_table(given, schema, column, values)
    if public is None:
        return Beforehand("table", name, why_not=f"the prior says nothing about {column!r}")
    coded = features_of([*quasi, *beside, public.quasi], schema)
    labels = np.zeros((len(public.codes), len(values)))
    labels[np.flatnonzero(public.codes >= 0), public.codes[public.codes >= 0]] = 1
    model = NaiveBayes.learn([(coded[-1], labels)])
    learnt = [model.chances(part) for part in coded[:-1]]
    return Beforehand(
        "table", name, chances=tuple(learnt[: len(quasi)]), control_chances=tuple(learnt[len(quasi) :]), control=groups
    )


def _group(other: Control, release: Release) -> ControlGroup | None:
    """Find the groups that would hold the people of a control group."""
    people: KnownPeople = other.people
    if not len(people.ids):
        return None
    found = find_candidates(release, groups_of(release), people.attributes, len(people.ids))
    return ControlGroup(found.groups, other.codes)
