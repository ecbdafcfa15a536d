"""What an adversary holds: the releases as they see them, the people they know, and what they know about them.

Everything an attack may use is in :class:`Evidence`. It is made of published tables, their manifests, the schema, and
the background tables that the caller hands over; nothing in it comes from a vault.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.adversary.background import Background, read_people, read_placements
from reveil.adversary.candidates import exclude_by_counting, find_candidates
from reveil.adversary.fitting import check_fit, is_foreign, tells_all, unread
from reveil.adversary.known_values import Known, check_known, other_values
from reveil.adversary.promises import Promises, handed_over, read_promises
from reveil.adversary.spellings import in_one_spelling
from reveil.core.errors import ConfigError, DataError
from reveil.core.threads import each
from reveil.models.statistics import Histogram
from reveil.releases.foreign import read_release
from reveil.releases.groups import ReleaseGroups, groups_of
from reveil.releases.limits import against
from reveil.releases.release import places_in
from reveil.tables.alike import folded
from reveil.tables.notation import SUPPRESSED_VALUE
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from reveil.adversary.promises import Promising
    from reveil.core.arrays import BoolArray, CodeArray, IntArray, Ragged
    from reveil.models.limits import Limit
    from reveil.releases.promise import Promise
    from reveil.releases.release import Release
    from reveil.tables.schema import Schema

    ChangeArray = npt.NDArray[np.int8]

KNOWN = ("nothing", "presence", "events", "ids", "values")


@dataclass(frozen=True)
class View:
    """One release as the adversary sees it.

    ``number`` is its place in the series, from 0. Groups are numbered from 0: group g has ``sizes[g]`` rows, of which
    ``fakes[g]`` are counterfeits, and the values ``values[g]``, ascending codes; ``counts``, beside ``values.items``,
    is how many rows of the group have each. ``present`` are the persons known to be in the table (with
    known="nothing": who could be); the i-th of them may be in the groups ``candidates[i]``. Nobody listed: the person
    was not published, or fits more groups than are kept (``crowded``). ``fits`` is how many of those
    present may be in each group. ``truth`` is the value code of each, -1 where it is not known.

    ``row_groups`` and ``row_codes`` are those of the published rows; a release in two tables has no value in a row.
    ``row_ids``: with placements, the record in each row, null where nobody says. ``value_codes`` are the values as the
    release tells them, row by row of the table that has them, -1 for a suppressed one.
    """

    number: int
    release: Release = field(repr=False)
    sizes: IntArray
    fakes: IntArray
    values: Ragged[np.int32] = field(repr=False)
    counts: IntArray = field(repr=False)
    present: CodeArray = field(repr=False)
    candidates: Ragged[np.int32] = field(repr=False)
    fits: IntArray = field(repr=False)
    crowded: BoolArray = field(repr=False)
    truth: CodeArray | None = field(repr=False)
    row_groups: CodeArray = field(repr=False)
    row_codes: CodeArray | None = field(repr=False)
    row_ids: pl.Series | None
    promise: Promise
    all_published: bool
    limits: tuple[Limit, ...] = ()  # what is promised of this release by itself
    told: pl.Series | None = field(default=None, repr=False)  # the sensitive column of its snapshot
    value_codes: CodeArray = field(repr=False, default_factory=lambda: np.zeros(0, np.int32))

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.sizes)

    @property
    def codes(self) -> CodeArray:
        """The value of each count."""
        return self.values.items

    @property
    def real(self) -> IntArray:
        """Rows per group that are records."""
        real: IntArray = self.sizes - self.fakes
        return real

    def histogram(self, domain: int) -> Histogram:
        """Return the values of the groups as statistics."""
        return Histogram(self.values, self.counts, domain)

    @cached_property
    def veiled(self) -> BoolArray:
        """Groups with a suppressed value, which may be any."""
        told = np.bincount(self.values.owners(), self.counts, self.n_groups)
        return np.asarray((told < self.sizes) & (told.sum() > 0), np.bool_)

    @cached_property
    def only(self) -> CodeArray:
        """The one group in which each person may be, -1 where there are several or none."""
        single = self.candidates.lengths == 1
        only = np.full(len(self.present), -1, np.int32)
        only[single] = self.candidates.items[self.candidates.starts[single]]
        return only

    @cached_property
    def closed(self) -> BoolArray:
        """Groups whose persons can be in no other group."""
        lone = np.bincount(self.only[self.only >= 0], minlength=self.n_groups)
        closed: BoolArray = (lone == self.fits) & (self.fits >= self.real)
        return closed

    @cached_property
    def known_members(self) -> BoolArray:
        """Groups of which it is known exactly who is in them: as many persons as records, and in no other group."""
        known_members: BoolArray = self.closed & (self.fits == self.real)
        return known_members

    @cached_property
    def sure(self) -> CodeArray:
        """The group in which each person certainly is, -1 where that is not known."""
        if self.all_published:
            return self.only
        full = np.append(self.fits == self.real, False)
        return np.where(full[self.only], self.only, np.int32(-1)).astype(np.int32)


@dataclass(frozen=True)
class Evidence:
    """All that the adversary knows.

    ``values`` are the sensitive values as texts, null being a value. ``known`` is what they know of people:
    ``nothing`` (who could be in the tables), ``presence`` (who is in which), ``events`` (also whether a value changed),
    ``ids`` (also which rows are the same record); ``values`` (who is in which, and other sensitive values of whomever
    they look for, which ``others`` has). ``changed[t]`` has a number for each person present in view t: 0 the
    value is that of their last attendance before, 1 it is another, -1 that is unknown or they were never there.
    ``limits`` are what the series promises of all releases together, and ``bound`` the belief that nobody's value may
    exceed by these, None where no number is promised.
    """

    views: tuple[View, ...]
    persons: pl.Series = field(repr=False)
    values: pl.Series = field(repr=False)
    known: str
    changed: tuple[ChangeArray, ...] = field(repr=False)
    bound: float | None
    column: str = ""
    schema: Schema | None = field(default=None, repr=False)
    others: Known | None = field(default=None, repr=False)
    restless: frozenset[str] = frozenset()  # plain columns in which somebody changed, where the snapshots are given
    limits: tuple[Limit, ...] = ()
    notes: tuple[str, ...] = ()  # what could not be read, and how it was taken
    unread: tuple[str, ...] = ()  # the columns with labels that stand for anything because nobody explains them

    @property
    def last_alone(self) -> Evidence:
        """The same with the last release only."""
        view = replace(self.views[-1], number=0)
        return replace(self, views=(view,), changed=(np.full(len(view.present), -1, np.int8),))

    def declared(self, key: str) -> CodeArray:
        """Return the values that every limit of the series declares as ``harmless``, say, or ``permanent``."""
        lists = [getattr(limit, key) for limit in self.limits]
        common = sorted(set.intersection(*map(set, lists))) if lists else []
        values, listed = self.values, pl.Series(common, dtype=pl.String)
        if self.schema is not None and self.schema[self.column].folds:
            values, listed = folded(values), folded(listed)
        return np.flatnonzero(values.is_in(listed.implode()).fill_null(False).to_numpy()).astype(np.int32)


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
) -> Evidence:
    """Gather what an adversary has.

    ``releases`` are in the order of publication, releases or paths or frames of any tool; ``truth`` and ``placements``
    have one table for each. ``population`` is one table for all releases or a list with one for each. ``column`` is
    the sensitive column that is attacked, the first by default, and ``values_known`` with known="values" how many of
    the others are known of a target. Without ``known`` the adversary is the one that the series' guarantee is against,
    as far as the tables given tell what that one knows. ``guarantee`` is what releases promise that say nothing
    themselves.
    """
    if not releases:
        raise ConfigError("there is no release to audit", hint="Name one release or more, in order.")
    column = _sensitive(schema, column)
    people = read_people(len(releases), schema, population, truth)
    read = [_read(source, schema, people) for source in releases]
    known = _known(known, read, people, placements, handed_over(guarantee, schema))
    read, people = in_one_spelling(read, people, schema)
    _check_order(read)
    if not any(column in release.group_values()[1].columns for release in read):
        raise DataError(
            f"no release tells the sensitive column {column!r}",
            column=column,
            hint="Is this the schema they belong to?",
        )
    ids = _placements(placements, read)
    persons = pl.concat([table.ids for table in people.present(known)]).unique(maintain_order=True)
    texts = [_values_of(release, column) for release in read]
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
    views = tuple(
        each(
            lambda number: replace(
                _view(number, read[number], values, texts[number], column, people, known, persons, ids[number]),
                limits=promises.releases[number],
            ),
            range(len(read)),
        )
    )
    changed = _changes(views, len(persons), known)
    others = None
    if known == "values":
        check_known(schema, values_known)
        others = other_values(
            read, people, [table.ids for table in people.present(known)], schema, column, values_known
        )
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
        (*labels.values(), *(note for number in foreign if (note := _nowhere(views[number])) is not None)),
        tuple(labels),
    )


def _own_values(people: Background, number: int, release: Release, schema: Schema) -> pl.DataFrame | None:
    """Return the sensitive values of those who are in a release, in their order; None where that is not known."""
    values, ids = people.values[number], people.truth_ids[number]
    if values is None or people.tables[number].ids is not ids or not tells_all(release, schema.sensitive):
        return None
    return values.select(schema.sensitive)


def _nowhere(view: View) -> str | None:
    """Say how many people fit no row of a table that another tool made."""
    many = int(((view.candidates.lengths == 0) & ~view.crowded).sum())
    if not many:
        return None
    return (
        f"{many:,} of the {len(view.present):,} people given fit no row of release {view.number + 1}: they are taken "
        "for people who are not in it"
    )


def _check_order(releases: Sequence[Release]) -> None:
    """Refuse releases of one series that are not in the order in which they were published."""
    numbers: dict[str, int] = {}
    for release in releases:
        series, number = release.manifest.series_id, release.manifest.release
        if not isinstance(series, str) or not isinstance(number, int):
            continue
        if number < numbers.get(series, 0):
            raise ConfigError(
                f"release {number} comes after release {numbers[series]} of the same series",
                hint="Name the releases, and with them the snapshots, in the order of publication.",
            )
        numbers[series] = number


def _sensitive(schema: Schema, column: str | None) -> str:
    if not schema.sensitive:
        raise ConfigError("no sensitive column is declared", hint='Declare what must not be linked as "sensitive".')
    if column is not None and column not in schema.sensitive:
        raise ConfigError(f"column {column!r} is not sensitive", hint=f"Sensitive: {', '.join(schema.sensitive)}.")
    return schema.sensitive[0] if column is None else column


def _read(source: object, schema: Schema, people: Background) -> Release:
    """Read a release; columns published as they are have the types that the snapshots give them."""
    release = read_release(source, schema, types=people.types)
    strange = [name for name in release.cells if name not in schema.quasi]
    if strange:
        raise DataError(
            f"the release generalises column {strange[0]!r}, which the config does not call quasi",
            column=strange[0],
            hint="Use the config with which it was published.",
        )
    return release


def _known(
    known: str | None,
    releases: Sequence[Release],
    people: Background,
    placements: Sequence[object] | None,
    promise: Promise | None,
) -> str:
    if known is None:
        if placements:
            return "ids"
        if not people.attendance:
            return "nothing"
        meant = {against(release.manifest.promise) for release in releases}
        meant.add(None if promise is None else against(promise))
        if "nothing" in meant:
            return "nothing"
        return "events" if people.truth and "events" in meant else "presence"
    if known not in KNOWN:
        raise ConfigError(f"known must be one of {', '.join(KNOWN)}, not {known!r}")
    if known in ("events", "values") and not people.truth:
        what = "whether a value changed" if known == "events" else "what somebody has in other columns"
        raise ConfigError(
            f"{what} cannot be known without the snapshots",
            hint="Give them as truth, in the order of the releases, or ask for known = presence.",
        )
    if known == "ids" and not placements:
        raise ConfigError(
            "which row is whose record is not given",
            hint="Give a table with the columns row and id for each release as placements.",
        )
    return known


def _placements(placements: Sequence[object] | None, releases: Sequence[Release]) -> list[pl.Series | None]:
    if not placements:
        return [None] * len(releases)
    if len(placements) != len(releases):
        raise ConfigError(
            f"{len(releases)} releases, but {len(placements)} tables of placements",
            hint="Give one for each release, in the same order.",
        )
    pairs = zip(placements, releases, strict=True)
    found: list[pl.Series] = [read_placements(placement, len(release.classes)) for placement, release in pairs]
    for number, (placement, release) in enumerate(zip(found, releases, strict=True), start=1):
        listed, real = len(placement) - placement.null_count(), len(placement) - release.manifest.counterfeits.total
        if listed < real:
            # A record that is not listed would pass for one that is not there.
            raise DataError(
                f"the placements of release {number} name {listed:,} of its {real:,} records",
                hint="Name the row of every record; counterfeits have none.",
            )
    return list(found)


def _values_of(release: Release, column: str) -> pl.Series:
    """Return the sensitive values that a release tells, as texts; none where it does not have the column."""
    _, values = release.group_values()
    if column not in values.columns:
        return pl.Series(column, [], dtype=pl.String)
    return canonical_text(values[column]).alias(column)


def _view(
    number: int,
    release: Release,
    values: pl.Series,
    texts: pl.Series,
    column: str,
    people: Background,
    known: str,
    persons: pl.Series,
    row_ids: pl.Series | None,
) -> View:
    groups = groups_of(release)
    n_groups = len(groups.numbers)
    # A suppressed value is nobody's to count: its row is a row of the group, and no more.
    hidden = (texts == SUPPRESSED_VALUE).fill_null(False).to_numpy()
    codes = np.full(len(texts), -1, np.int32)
    codes[~hidden] = places_in(texts.filter(pl.Series(~hidden)), values)
    told = groups.index
    if release.batch is not None:
        published, _ = release.group_values()
        place = np.minimum(np.searchsorted(groups.numbers, published), max(n_groups - 1, 0))
        if len(published) and (not n_groups or (groups.numbers[place] != published).any()):
            raise DataError(
                "the two tables of a release do not have the same groups",
                hint="Audit a release as it was published.",
            )
        told = place.astype(np.int32)
    histogram = Histogram.of(told[: len(codes)][~hidden], codes[~hidden], n_groups, max(len(values), 1))
    table = people.present(known)[number]
    found = find_candidates(release, groups, table.attributes, len(table.ids))
    everybody, strangers, counted = _attendance(release, groups, len(table.ids), known)
    nowhere = int(((found.groups.lengths == 0) & ~found.crowded).sum())
    if everybody and nowhere:
        if release.manifest.promise.is_known:
            raise DataError(
                f"{nowhere:,} persons fit no group of release {number + 1}",
                hint="Is this the snapshot that it was made of? Name releases and snapshots in the same order.",
            )
        everybody = False  # somebody else is in the table instead
    found = replace(found, fits=found.fits + strangers)
    if counted:
        found = exclude_by_counting(found, groups.real, all_published=everybody)
    truth = people.truth_of(number, table.ids, column)
    return View(
        number,
        release,
        groups.rows,
        groups.fakes,
        histogram.values,
        histogram.counts,
        places_in(table.ids, persons),
        found.groups,
        found.fits,
        found.crowded,
        None if truth is None else _codes_of(truth, values),
        groups.index,
        codes if release.batch is None and len(codes) else None,
        row_ids,
        release.manifest.promise,
        everybody,
        told=None if (own_values := people.values[number]) is None else own_values[column],
        value_codes=codes,
    )


def _attendance(release: Release, groups: ReleaseGroups, persons: int, known: str) -> tuple[bool, int, bool]:
    """Return whether everybody listed is published, how many rows may be others', and whether counting helps.

    A list as long as the table, or longer, is taken for complete. A shorter one leaves strangers, as many as there
    are rows unless the manifest says that nobody was left out.
    """
    manifest, total = release.manifest, int(groups.real.sum())
    loose = manifest.counterfeits.total - int(groups.fakes.sum()) + manifest.dirty
    nobody_left_out = manifest.suppressed == 0 and manifest.withheld == 0
    counted = known != "nothing" and not loose
    everybody = counted and (persons == total or (persons < total and nobody_left_out))
    strangers = total - persons if everybody else 0 if persons >= total else total
    return everybody, strangers + loose, counted


def _codes_of(truth: tuple[pl.Series, BoolArray], values: pl.Series) -> CodeArray:
    texts, there = truth
    return np.where(there, places_in(texts, values), -1).astype(np.int32)


def _changes(views: tuple[View, ...], persons: int, known: str) -> tuple[ChangeArray, ...]:
    """Return whether each person's value is that of their last attendance before."""
    last = np.full(persons, -2, np.int32)  # never there; -1: there, with an unknown value
    found = []
    for view in views:
        if view.truth is None or known not in ("events", "ids"):
            found.append(np.full(len(view.present), -1, np.int8))
            continue
        before = last[view.present]
        unknown = (before < 0) | (view.truth < 0)
        found.append(np.where(unknown, -1, before != view.truth).astype(np.int8))
        last[view.present] = view.truth
    return tuple(found)
