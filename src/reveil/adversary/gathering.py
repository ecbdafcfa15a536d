"""Gathering evidence: releases and background tables are read, checked against each other and laid side by side."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from reveil.adversary.background import Background, read_people
from reveil.adversary.by_column import of_column, prepared
from reveil.adversary.candidates import Candidates, find_candidates
from reveil.adversary.evidence import Evidence
from reveil.adversary.fitting import check_fit, check_values, is_foreign, tells_all, unread
from reveil.adversary.known_values import check_known, other_values
from reveil.adversary.learnt_labels import leaked_rows, learn_labels
from reveil.adversary.priors import read_prior
from reveil.adversary.promises import Promises, handed_over, read_promises
from reveil.adversary.request import (
    check_accounted,
    check_order,
    knowledge,
    read_one,
    rows_of_records,
    sensitive_column,
)
from reveil.adversary.spellings import in_one_spelling
from reveil.adversary.stars import with_stars_suppressed
from reveil.adversary.viewing import PossibleGroups, changes, nowhere, possible_groups, short_list, values_told, view_of
from reveil.core.errors import ConfigError, DataError
from reveil.core.threads import each
from reveil.releases.groups import groups_of
from reveil.tables.notation import SUPPRESSED_VALUE
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.adversary.promises import Promising
    from reveil.releases.release import Release
    from reveil.tables.schema import Schema


def gather(
    releases: Sequence[object],
    schema: Schema,
    population: object | None = None,
    truth: Sequence[object] | None = None,
    known: str | None = None,
    placements: Sequence[object] | None = None,
    *,
    column: str | None = None,
    guarantee: Promising | None = None,
    values_known: int = 1,
    prior: object | None = None,
    control: object | None = None,
    labels_learnt: bool = False,
) -> Evidence:
    """Gather what an adversary has.

    ``releases`` are in the order of publication, releases or paths or frames of any tool; ``truth`` and ``placements``
    have one table for each. ``population`` is one table for all releases or a list with one for each. ``column`` is
    the sensitive column that is attacked, the first by default, and ``values_known`` with known="values" how many of
    the others are known of a target. Without ``known`` the adversary is the one that the series' guarantee is against,
    as far as the tables given tell what that one knows. ``prior`` is what they believe of people beforehand
    (:mod:`reveil.adversary.priors`), ``control`` a table of people who are not in the data; with ``labels_learnt``
    the snapshots say what labels stand for. ``guarantee`` is what
    releases promise that say nothing themselves.
    """
    gathering = Gathering(
        releases, schema, population, truth, known, placements, guarantee=guarantee, labels_learnt=labels_learnt
    )
    return gathering.on(column, values_known=values_known, prior=prior, control=control)


class Gathering:
    """The releases and background tables of an audit, read once for all the sensitive columns that are attacked.

    Arguments are those of :func:`gather`. Who may be in which group depends on the quasi columns alone, and is found
    once as well, unless each sensitive column has groups of its own.
    """

    def __init__(
        self,
        releases: Sequence[object],
        schema: Schema,
        population: object | None = None,
        truth: Sequence[object] | None = None,
        known: str | None = None,
        placements: Sequence[object] | None = None,
        *,
        guarantee: Promising | None = None,
        labels_learnt: bool = False,
        independent: bool = False,
    ) -> None:
        """Check what is asked for; nothing is read before the first column is."""
        if not releases:
            raise ConfigError("there is no release to audit", hint="Name one release or more, in order.")
        self.schema, self.guarantee, self.labels_learnt = schema, guarantee, labels_learnt
        self.sources, self.population, self.truth, self.known = releases, population, truth, known
        self.placements, self.independent = placements, independent
        self._spelled: dict[str, _Spelled] = {}
        self._laid: dict[str, _LaidOut] = {}

    @classmethod
    def prepared(
        cls,
        releases: Sequence[object],
        schema: Schema,
        population: object | None = None,
        truth: Sequence[object] | None = None,
        *,
        guarantee: Promising | None = None,
        labels_learnt: bool = False,
    ) -> Gathering:
        """Return the same in the words of the releases (:func:`~reveil.adversary.by_column.prepared`)."""
        schema, told, independent = prepared(releases, schema, truth)
        return cls(
            releases, schema, population, told,
            guarantee=guarantee, labels_learnt=labels_learnt, independent=independent,
        )  # fmt: skip

    def knowing(self, known: str | None, placements: Sequence[object] | None = None) -> Gathering:
        """Return what somebody has who knows something else: releases and tables are those that were read already."""
        self._read  # noqa: B018  # so that the copy has them, too
        other = copy(self)
        other.known, other.placements, other._laid = known, placements, {}
        return other

    @cached_property
    def _people(self) -> Background:
        return read_people(len(self.sources), self.schema, self.population, self.truth)

    @cached_property
    def _read(self) -> list[Release]:
        return [read_one(source, self.schema, self._people) for source in self.sources]

    def _laid_out(self, column: str) -> _LaidOut:
        """Return releases and people side by side; the same for all columns where these share their groups."""
        people = self._people
        key = column if any(release.seconds for release in self._read) else ""
        if key not in self._laid:
            read = [of_column(release, column) for release in self._read]
            known = knowledge(self.known, read, people, self.placements, handed_over(self.guarantee, self.schema))
            if key not in self._spelled:
                check_accounted(read, people, self.truth)
                read, people = in_one_spelling(with_stars_suppressed(read, people, self.schema), people, self.schema)
                if self.labels_learnt:
                    read = learn_labels(read, people, self.schema)
                check_order(read)
                self._spelled[key] = _Spelled(read, people)
            self._laid[key] = _LaidOut(self._spelled[key], known, self.placements)
        return self._laid[key]

    def on(
        self,
        column: str | None = None,
        *,
        values_known: int = 1,
        prior: object | None = None,
        control: object | None = None,
    ) -> Evidence:
        """Return what the adversary has who attacks a column; arguments are those of :func:`gather`."""
        schema, guarantee = self.schema, self.guarantee
        column = sensitive_column(schema, column)
        laid = self._laid_out(column)
        read, people, known = laid.releases, laid.people, laid.known
        if not any(column in release.group_values()[1].columns for release in read):
            raise DataError(
                f"no release tells the sensitive column {column!r}",
                column=column,
                hint="Is this the schema they belong to?",
            )
        ids, persons = laid.row_ids, laid.persons
        texts = [values_told(release, column) for release in read]
        told = [None if table is None else canonical_text(table[column]) for table in people.values]
        values = pl.concat([*texts, *(table for table in told if table is not None)]).unique(maintain_order=True).sort()
        values = values.filter(values.is_null() | (values != SUPPRESSED_VALUE))
        promises = read_promises([release.manifest.promise for release in read], guarantee, schema)
        if known == "values":  # no guarantee is about somebody who knows sensitive values of their target
            promises = Promises((), tuple(() for _ in read))
        tables = people.present(known)
        foreign = [number for number, release in enumerate(read) if is_foreign(release)]
        labels = unread([read[number] for number in foreign], [tables[number].attributes for number in foreign])
        if known != "nothing" and column == schema.sensitive[0]:  # once, with the values of all sensitive columns
            for number in foreign:
                table = tables[number]
                values_of = _own_values(people, number, read[number], schema)
                check_fit(number, read[number], table.attributes, len(table.ids), values_of)
        possible = laid.possible
        views = tuple(
            each(
                lambda number: replace(
                    view_of(number, read[number], possible[number], values, texts[number], column, people, ids[number]),
                    limits=promises.releases[number],
                ),
                range(len(read)),
            )
        )
        # A series that remembers may show somebody as they were told before.
        for view in () if promises.series or known == "values" else views:
            check_values(view)
        changed = changes(views, len(persons), known)
        others = None
        if known == "values":
            check_known(schema, values_known)
            others = other_values(read, people, [table.ids for table in tables], schema, column, values_known)
        return Evidence(
            views,
            persons,
            values,
            known,
            changed,
            promises.bound,
            column,
            schema,
            others,
            people.restless,
            promises.series,
            (
                *labels.values(),
                *(said for n in foreign if (said := leaked_rows(n, read[n], people, schema)) is not None),
                *(said for view in views if (said := short_list(view, attends=people.truth)) is not None),
                *(note for number in foreign if (note := nowhere(views[number])) is not None),
            ),
            tuple(labels),
            households=tuple(people.households_of(number, table.ids) for number, table in enumerate(tables)),
            prior=None if prior is None else read_prior(prior, control, schema, column, values, read, people, known),
        )


class _Spelled:
    """Releases and people in one spelling, and who may be in which group of each release: whatever else is known."""

    def __init__(self, releases: list[Release], people: Background) -> None:
        self.releases, self.people = releases, people
        self._found: dict[bool, list[Candidates]] = {}
        self._possible: dict[bool, tuple[pl.Series, list[PossibleGroups]]] = {}

    def possible(self, known: str) -> tuple[pl.Series, list[PossibleGroups]]:
        """Return everybody who is in one of the tables, and who may be in which group of each release."""
        could_be = known == "nothing"
        if could_be not in self._possible:
            tables, found = self.people.present(known), self._candidates(known)
            persons = pl.concat([table.ids for table in tables]).unique(maintain_order=True)
            possible = each(
                lambda number: possible_groups(
                    number, self.releases[number], tables[number], known, persons, found[number]
                ),
                range(len(self.releases)),
            )
            self._possible[could_be] = persons, possible
        return self._possible[could_be]

    def _candidates(self, known: str) -> list[Candidates]:
        """Return the groups that admit each person; the same for everybody who has the same tables of people."""
        tables = self.people.present(known)
        listed = tables is self.people.tables
        if listed not in self._found:
            self._found[listed] = each(
                lambda number: find_candidates(
                    self.releases[number],
                    groups_of(self.releases[number]),
                    tables[number].attributes,
                    len(tables[number].ids),
                ),
                range(len(self.releases)),
            )
        return self._found[listed]


class _LaidOut:
    """Releases and people side by side, for somebody who knows so much of them."""

    def __init__(self, spelled: _Spelled, known: str, placements: Sequence[object] | None) -> None:
        self.releases, self.people, self.known = spelled.releases, spelled.people, known
        self._spelled, self._placements = spelled, placements

    @cached_property
    def row_ids(self) -> list[pl.Series | None]:
        """Return the record in each row of each release, where placements say it."""
        return rows_of_records(self._placements, self.releases)

    @property
    def persons(self) -> pl.Series:
        """Return everybody who is in one of the tables."""
        return self._spelled.possible(self.known)[0]

    @property
    def possible(self) -> list[PossibleGroups]:
        """Return who may be in which group of each release."""
        return self._spelled.possible(self.known)[1]


def _own_values(people: Background, number: int, release: Release, schema: Schema) -> pl.DataFrame | None:
    """Return the sensitive values of those who are in a release, in their order; None where that is not known."""
    values, ids = people.values[number], people.truth_ids[number]
    if values is None or people.tables[number].ids is not ids or not tells_all(release, schema.sensitive):
        return None
    return values.select(schema.sensitive)
