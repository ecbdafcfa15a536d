"""One release under the global guarantee: who rests, what is grouped, what is told of whom."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.arrays import BoolArray, CodeArray, IntArray, offsets_of
from reveil.core.effort import Effort
from reveil.core.errors import InfeasibleError
from reveil.grouping.groupers.mondrian import Mondrian
from reveil.grouping.hilbert import along_curve
from reveil.grouping.recoders.boxes import BoxRecoder
from reveil.guarantees.draft import GivenColumn, Grouped, Rows
from reveil.guarantees.lifetime.cohorts import Cohorts, broken_groups, keep_together
from reveil.guarantees.lifetime.dilution import with_absent
from reveil.guarantees.lifetime.grouping import Crowd, Rule, form_groups, needed_by
from reveil.guarantees.lifetime.survival import Pairs, linked, updated
from reveil.guarantees.signatures.signature_based import points_of
from reveil.models.k_anonymity import KAnonymity
from reveil.models.statistics import Partition
from reveil.tables.notation import SUPPRESSED_VALUE, parsed
from reveil.tables.snapshot import Snapshot, canonical_text
from reveil.vault.protocol import Entries, Ledger

if TYPE_CHECKING:
    from reveil.core.randomness import Dice
    from reveil.guarantees.base import Memory
    from reveil.models.encoding import Codes
    from reveil.releases.membership import Membership
    from reveil.releases.release import Release

SURVIVAL = Ledger("survival", keys=("value",), whole=("links",), real=("survival",), coded="value")
COHORTS = Ledger("cohorts", whole=("cohort", "value"), coded="value", blanked=True)


@dataclass(frozen=True)
class Terms:
    """What the settings come to for one release: codes instead of names.

    ``largest``: a pair that needs more rows per row with its value is used up.
    """

    rule: Rule
    largest: float
    harmless: CodeArray
    permanent: CodeArray
    when_exhausted: str
    population: object = field(repr=False, default=None)


@dataclass(frozen=True)
class PublishableRecords:
    """Who may be published with which value, decided before anybody is grouped.

    ``values`` are codes that last, as they will be published; ``hidden`` ones are published as suppressed. ``pairs``
    are all that was told of the persons in the snapshot, ``needs`` what each pair needs from now on.
    """

    values: CodeArray = field(repr=False)
    out: BoolArray = field(repr=False)
    hidden: BoolArray = field(repr=False)
    pairs: Pairs
    needs: np.ndarray = field(repr=False)
    cohorts: Cohorts

    @classmethod
    def of(cls, memory: Memory, terms: Terms) -> PublishableRecords:
        """Decide who rests. With ``rest`` that depends on what was told, and on nothing of today."""
        size = len(memory.values)
        pairs = Pairs.of(memory.book.of_records(SURVIVAL))
        needs = needed_by(pairs, terms.rule)
        lasts = np.isin(pairs.value, terms.permanent)
        used = terms.rule.strategy.used_up(pairs.survival, pairs.links, terms.rule.l, terms.largest) & ~lasts
        out, hidden = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
        if terms.when_exhausted == "rest":
            out[pairs.record[used]] = True
        else:
            needs = np.where(used, np.inf, needs)
            linked = pairs.record[used & (pairs.value == memory.values[pairs.record])]
            (hidden if terms.when_exhausted == "suppress" else out)[linked] = True
        cohorts = Cohorts(np.full(size, -1, np.int32), np.full(size, -1, np.int32), np.zeros(0, np.int32))
        values = memory.values
        if len(terms.permanent):
            cohorts = Cohorts.of(memory.book.rows(COHORTS), size)
            kept = keep_together(cohorts, values, out, terms.permanent, terms.harmless, pairs, needs, terms.rule)
            out, values = kept.rests, kept.values
        return cls(values, out, hidden, pairs, np.where(lasts, 0.0, needs), cohorts)

    def bounded(self, harmless: CodeArray) -> CodeArray:
        """Return the value of each record, -1 where it is harmless or not told."""
        free = np.isin(self.values, harmless) | self.hidden
        return np.where(free, -1, self.values).astype(np.int32)


@dataclass(frozen=True)
class FormedGroups:
    """The groups of a release, their boxes, which of these each record has, and how many absent persons a group has."""

    groups: CodeArray = field(repr=False)  # of each record, -1: not published
    boxes: Grouped = field(repr=False)
    place: CodeArray = field(repr=False)  # of each record among all who are in boxes
    absent: IntArray | None = field(repr=False)

    @property
    def size(self) -> int:
        """How many groups there are."""
        return int(self.groups.max(initial=-1)) + 1


def make_groups(
    snapshot: Snapshot, codes: Codes, now: PublishableRecords, terms: Terms, memory: Memory, rng: Dice
) -> FormedGroups:
    """Group everybody who is published: cohorts as they are, the others anew."""
    published = np.flatnonzero(~now.out)
    if not len(published):
        raise InfeasibleError(
            "nobody can be published: all the persons of this snapshot rest",
            hint="What may be told about them is used up. A series with a smaller l or more releases lasts longer.",
        )
    loose = published[now.cohorts.member[published] < 0]
    groups = np.full(codes.n, -1, np.int32)
    n_loose, absent = 0, None
    together, single = codes, loose
    if terms.population is not None:
        whole = snapshot if memory.whole is None else memory.whole
        listed = with_absent(snapshot, terms.population, published, whole, memory.where)
        together = listed.codes
        single = np.concatenate(
            [np.flatnonzero(now.cohorts.member[published] < 0), np.arange(len(published), together.n)]
        )
    labels = np.zeros(0, np.int32)
    if len(loose):
        if terms.population is None:
            labels = _loose_groups(together, single, loose, now, terms)
        else:
            labels = _regions(together, single, loose, now, terms, rng)
        groups[loose] = labels[: len(loose)]
        n_loose = int(labels.max()) + 1
    kept = published[now.cohorts.member[published] >= 0]
    names, cohort = np.unique(now.cohorts.member[kept], return_inverse=True)
    groups[kept] = n_loose + cohort
    # Boxes hold absent persons, too: a box of the records alone would show who sits on its edges.
    if terms.population is not None:
        every = np.full(together.n, -1, np.int32)
        every[: len(published)] = groups[published]
        every[single] = labels if len(loose) else -1
        absent = np.bincount(every[len(published) :][every[len(published) :] >= 0], minlength=n_loose + len(names))
        place: CodeArray = np.full(codes.n, -1, np.int32)
        place[published] = np.arange(len(published))
        return FormedGroups(groups, Grouped(together, _partition(every), BoxRecoder()), place, absent.astype(np.int64))
    everybody: CodeArray = np.arange(codes.n, dtype=np.int32)
    return FormedGroups(groups, Grouped(codes, _partition(groups), BoxRecoder()), everybody, None)


def _loose_groups(codes: Codes, items: IntArray, loose: IntArray, now: PublishableRecords, terms: Terms) -> CodeArray:
    """Group some items, which are the records ``loose``."""
    place = np.full(codes.n, -1, np.int64)
    place[items] = np.arange(len(items))
    order = place[along_curve(codes)]
    values = np.full(len(items), -1, np.int32)
    values[: len(loose)] = now.bounded(terms.harmless)[loose]
    of_record = np.full(len(now.values), -1, np.int32)
    of_record[loose] = np.arange(len(loose))
    item = of_record[now.pairs.record]
    inside = item >= 0
    crowd = Crowd(
        values,
        points_of(codes)[items],
        order[order >= 0],
        item[inside],
        now.pairs.value[inside],
        now.needs[inside],
    )
    return form_groups(crowd, terms.rule)


def _regions(
    codes: Codes, items: IntArray, loose: IntArray, now: PublishableRecords, terms: Terms, rng: Dice
) -> CodeArray:
    """Group the records ``loose`` by cutting the whole list, of which they are the first, into regions.

    Boxes that shared a listed person would tell more than each by itself: whoever is likely to be meant by one is less
    likely to be meant by the other. So every listed person is in one region, and regions are cut between values: nobody
    is exchanged after the cuts, because then regions would overlap. They are as small as the budgets of all of them
    allow.
    """
    values = np.full(len(items), -1, np.int32)
    values[: len(loose)] = now.bounded(terms.harmless)[loose]
    of_record = np.full(len(now.values), -1, np.int32)
    of_record[loose] = np.arange(len(loose))
    item = of_record[now.pairs.record]
    pairs, needs = now.pairs.select(item >= 0), now.needs[item >= 0]
    pairs = replace(pairs, record=item[item >= 0].astype(pairs.record.dtype))
    region = codes.take(items)
    size, none = terms.rule.least, np.zeros(0, np.int32)
    while size <= region.n:
        labels = Mondrian(effort=Effort.QUICK).group(region, KAnonymity(size), rng.child("regions", size)).labels
        used = np.unique(labels[: len(loose)])  # a region of absent persons only is not published
        number = np.full(int(labels.max()) + 1, -1, np.int32)
        number[used] = np.arange(len(used))
        labels = number[labels]
        if not len(broken_groups(labels, values, none, none, pairs, needs, terms.rule)):
            return labels
        size *= 2
    raise InfeasibleError(
        "even all the persons of the registration list together do not dilute these values enough",
        hint="A longer list helps, or a smaller l.",
    )


def _partition(groups: CodeArray) -> Partition:
    order = np.argsort(groups, kind="stable")
    inside: CodeArray = order[groups[order] >= 0].astype(np.int32)
    sizes = np.bincount(groups[inside])
    return Partition(inside, offsets_of(sizes), len(groups))


def told_after(made: FormedGroups, now: PublishableRecords, terms: Terms) -> Pairs:
    """Return what is told of everybody who is published once the release is out, of the pairs that it touches."""
    fresh = linked(made.groups, now.bounded(terms.harmless), made.absent)
    all_of = updated(now.pairs, fresh)
    # A cohort tells of its permanent values what it told before.
    known = np.isin(fresh.value, terms.permanent) & (all_of.links > 1)
    return all_of.select(~known)


def what_is_told(made: FormedGroups, now: PublishableRecords, terms: Terms) -> tuple[Entries, ...]:
    """Return what the vault has to remember."""
    values, kept = now.bounded(terms.harmless), told_after(made, now, terms)
    rows = pl.DataFrame({"record": kept.record, "value": kept.value, "links": kept.links, "survival": kept.survival})
    entries = [Entries(SURVIVAL, rows)]
    if len(terms.permanent):
        is_permanent = np.isin(values, terms.permanent) & (made.groups >= 0)
        has = np.zeros(made.size + 1, np.bool_)
        has[made.groups[is_permanent]] = True
        member = now.cohorts.member.copy()
        fresh_ones = has[made.groups] & (made.groups >= 0) & (member < 0)
        _, place = np.unique(made.groups[fresh_ones], return_inverse=True)
        member[fresh_ones] = now.cohorts.last + 1 + place
        told = np.where(fresh_ones | is_permanent, now.values, now.cohorts.told)
        record = np.flatnonzero(fresh_ones | (is_permanent & (member >= 0)))
        entries.append(
            Entries(
                COHORTS,
                pl.DataFrame(
                    {
                        "record": record.astype(np.int32),
                        "cohort": member[record].astype(np.int64),
                        "value": told[record].astype(np.int64),
                    }
                ),
            )
        )
    return tuple(entries)


def rows_of(made: FormedGroups, now: PublishableRecords, memory: Memory, name: str, dtype: pl.DataType) -> Rows:
    """Return the rows, with the values of the sensitive column as they are told."""
    record = np.flatnonzero(made.groups >= 0).astype(np.int32)
    values = _told_values(now, memory, dtype)
    shown = GivenColumn(values.source, values.index[record])
    return Rows(record, made.place[record], made.groups[record], {name: shown})


def _told_values(now: PublishableRecords, memory: Memory, dtype: pl.DataType) -> GivenColumn:
    """Return the value of each record as it is told: texts where some are suppressed."""
    known = parsed(memory.texts, dtype)
    if not now.hidden.any():
        return GivenColumn(known, now.values)
    texts = pl.concat([canonical_text(known).rename(""), pl.Series([SUPPRESSED_VALUE])])
    return GivenColumn(texts, np.where(now.hidden, len(known), now.values))


def as_published(snapshot: Snapshot, now: PublishableRecords, memory: Memory) -> Snapshot | None:
    """Return the snapshot with the values that are published, where these are not its own; else None."""
    if not now.hidden.any() and np.array_equal(now.values, memory.values):
        return None
    name = snapshot.schema.sensitive[0]
    told = _told_values(now, memory, snapshot.frame.schema[name])
    return replace(snapshot, frame=snapshot.frame.with_columns(told.source.gather(told.index).alias(name)))


def told_elsewhere(
    memory: Memory, release: Release, sensitive: str, members: Membership
) -> tuple[pl.DataFrame, pl.DataFrame, pl.Series]:
    """Return what a release from elsewhere says of each record that may be in it.

    The first table has ``record``, ``value`` and ``survival``, the second ``group`` (a place), ``value`` and
    ``survival``; then values that nobody has today.

    Nobody knows in which of several groups a person was, or whether they were in any. Under each membership that is
    possible, their survival of a value is multiplied by 1 - n_s/n of one of these groups, or by nothing. So with the
    smallest of these factors it is not above what it is under any of them, and the bound that holds then holds for all.
    """
    of_row, values = release.group_values()
    texts = canonical_text(values[sensitive]).rename("text")
    known = pl.DataFrame({"text": memory.texts.gather(memory.known).rename("text"), "value": memory.known})
    rows = pl.DataFrame({"group": np.searchsorted(members.numbers, of_row), "text": texts})
    more = texts.filter(~texts.is_in(known["text"].implode(), nulls_equal=True)).unique().sort()
    first = len(memory.texts)
    added = pl.DataFrame({"text": more, "value": np.arange(first, first + len(more), dtype=np.int32)})
    every = pl.concat([known, added.cast(dict(known.schema))])  # type: ignore[arg-type]
    counted = rows.group_by("group", "text").agg(count=pl.len()).join(every, on="text", nulls_equal=True)
    shares = counted.select("group", "value", survival=1 - pl.col("count") / pl.col("count").sum().over("group")).sort(
        "group", "value"
    )
    of_type = (
        pl.DataFrame({"type": members.type_, "group": members.group})
        .join(shares, on="group")
        .group_by("type", "value")
        .agg(pl.col("survival").min())
    )
    there = np.flatnonzero(members.inside).astype(np.int32)
    persons = pl.DataFrame({"record": there, "type": members.kind[there].astype(np.int64)})
    told = persons.join(of_type, on="type").select("record", "value", "survival", links=pl.lit(1, pl.Int64))
    return told.sort("record", "value"), shares, more.rename(sensitive)
