"""A release from elsewhere as signatures: which sets of values everybody in it may have been told.

Nobody who holds the release knows more of who was in which group than :mod:`reveil.releases.membership` says, and
neither may we. So a person is told the signature of *every* group that they may have been in, and whether they may have
been left out makes no difference.

Proof. Fix any possible membership. A person was then told the signature of one group, or none; all the others in
their list were never told, and only keep them from more. Signatures in the list are equal or share nothing (else the
person rests), and later ones are equal to one of the list or share nothing with any. So under this membership the
signatures of every person are equal or share nothing. If moreover every value of a group's signature is in it equally
often, the renaming of :class:`~reveil.guarantees.signatures.tau_safety.TauSafety` maps worlds to worlds, and everybody
has each value of a signature of at least m with at most one m-th. That holds for every possible membership, so for any
mixture of them.

A group that has some of its m values or more more often than others is not renamed into itself. Its persons go on
*alone*: in a later group of that signature they are with counterfeits only. Such a group excludes no way in which the
values of the adopted group can belong to its persons (whoever is alone in it may have any value of it), and as many
ways to go on belong to each of them, so the shares stay what the adopted release made them; after a known change inside
the signature a value has the mean share of the others. So nothing is added to what was told. If no value has more than
one m-th of the rows, the bound holds; else it was broken before, and nobody else pays for it. (Two of them in one group
would tell on each other, and on a newcomer beside them: flu, flu, gout, and then one of them alone with the values flu
and gout and the two others together, makes the first have flu for certain.) Whoever may have been in a group of fewer
than m values rests.

Somebody whose new signature shares some values with an old one, not all, rests, too. But renaming either of the two
is then no bijection of worlds, and others who have it are told on: both signatures are *spoiled*. So is one that
somebody has from an even group and from another. Whoever keeps a spoiled signature is alone in its groups from now on,
by the same argument, so that no newcomer pays for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.arrays import BoolArray, CodeArray, IntArray, Ragged
from reveil.guarantees.base import Adoption
from reveil.guarantees.signatures.sets import Sets
from reveil.tables.snapshot import canonical_text
from reveil.vault.protocol import Entries, Ledger

if TYPE_CHECKING:
    from reveil.guarantees.base import Memory
    from reveil.releases.membership import Membership
    from reveil.releases.release import Release

# The values of signatures in which a person is published alone; and signatures in which everybody is.
LONE = Ledger("alone", keys=("value",), coded="value")
MANY = 64  # who may have been told more signatures than this is not told them one by one
SPOILED = Ledger("spoiled", keys=("signature", "value"), personal=False, coded="value")


@dataclass(frozen=True)
class ShownSets:
    """The groups of a release as sets of codes that last; ``more`` are published values that the vault never saw.

    ``of_group`` is the set of each group, ``even``: it has all its values equally often, ``few``: it has fewer than m,
    ``safe``: it has not, and none of them in more than one m-th of its rows.
    """

    sets: Sets
    of_group: IntArray = field(repr=False)
    even: BoolArray = field(repr=False)
    few: BoolArray = field(repr=False)
    safe: BoolArray = field(repr=False)
    more: pl.Series

    @classmethod
    def of(cls, release: Release, members: Membership, memory: Memory, sensitive: str, m: int) -> ShownSets:
        """Give the values of each group their codes, new ones behind all that are known."""
        groups, values = release.group_values()
        texts = canonical_text(values[sensitive]).rename("value")
        known = pl.DataFrame({"value": memory.texts.gather(memory.known).rename("value"), "code": memory.known})
        joined = texts.to_frame().join(known, on="value", how="left", maintain_order="left", nulls_equal=True)
        more = texts.filter(joined["code"].is_null()).unique().sort()
        first = len(memory.texts)
        added = pl.DataFrame({"value": more, "code": np.arange(first, first + len(more), dtype=np.int32)})
        every = pl.concat([known, added.cast(dict(known.schema))])  # type: ignore[arg-type]
        code = texts.to_frame().join(every, on="value", how="left", maintain_order="left", nulls_equal=True)["code"]
        counted = pl.DataFrame({"group": np.searchsorted(members.numbers, groups), "code": code})
        counted = counted.group_by("group", "code").agg(count=pl.len()).sort("group", "code")
        group, count = counted["group"].to_numpy(), counted["count"].to_numpy().astype(np.int64)
        shown = Ragged.of_sorted_owners(group, members.n_groups, counted["code"].to_numpy().astype(np.int32))
        sizes, most, fewest = shown.lengths, shown.reduce(np.maximum, count), shown.reduce(np.minimum, count)
        sets, of_group = Sets(shown).distinct()
        safe = (sizes >= m) & (most * m <= np.bincount(group, count, members.n_groups))
        return cls(sets, of_group, most == fewest, sizes < m, np.asarray(safe, np.bool_), more)


def adopted_signatures(
    release: Release, members: Membership, memory: Memory, sensitive: str, m: int, *, strict: bool, bounded: bool
) -> Adoption:
    """Return the signatures that everybody may have been told, and who rests.

    Not ``strict``: nothing is promised and nobody rests; whoever was told too little, or nobody knows what, is treated
    as new. ``bounded``: whoever may have been left out must find m values outside all that they may have been told, for
    their value may be another.
    """
    shown = ShownSets.of(release, members, memory, sensitive, m)
    types = len(members.left_out)
    of_pair = shown.of_group[members.group]
    pairs = pl.DataFrame({"type": members.type_, "set": of_pair}).unique().sort("type", "set")
    rests = _crossing(pairs, shown.sets, types)
    rests[members.type_[shown.few[members.group]]] = True
    if bounded:
        rests |= members.left_out & (_outside(pairs, shown, memory, types) < m)
    records = np.flatnonzero(members.inside).astype(np.int32)
    going = records[~rests[members.kind[records]]]
    resting = records[rests[members.kind[records]]]
    kinds = pl.DataFrame({"record": going, "type": members.kind[going].astype(np.int64)})
    told = kinds.join(pairs, on="type", maintain_order="left").select("record", "set")
    unsafe = int((~shown.safe).sum())
    uneven = np.zeros(types, np.bool_)
    uneven[members.type_[~shown.even[members.group]]] = True
    kept = int(uneven[members.kind[going]].sum())
    if not strict:
        return Adoption(
            (),
            unsafe,
            0,
            shown.more,
            told=_texts(told, shown.sets),
            replaces=True,
            kept=kept,
            renewed=len(resting),
        )
    crossed, set_, block = _crossed(pairs, shown, members, memory)
    crossed = crossed.filter(~pl.Series(np.isin(crossed["record"].to_numpy(), resting)))
    # Who rests may be in a later release from elsewhere: what they may have been told is remembered, or nobody may
    # count on it.
    many = np.bincount(pairs["type"].to_numpy(), minlength=types) > MANY
    lost = pairs.filter(pl.Series((many & rests)[pairs["type"].to_numpy()]))["set"].to_numpy()
    spoiled = _spoiled(
        shown.sets.take(np.union1d(set_, lost).astype(np.int64)), memory.sets.take(block.astype(np.int64)), memory
    )
    known = resting[~many[members.kind[resting]]]
    sure = pl.DataFrame({"record": known, "type": members.kind[known].astype(np.int64)}).join(pairs, on="type")
    # One value by itself is fewer than any guarantee needs: whoever was told so little rests.
    first = pairs.group_by("type").agg(pl.col("set").min()).sort("type")
    least = np.zeros(types, np.int32)
    least[first["type"].to_numpy()] = shown.sets.members[shown.sets.offsets[first["set"].to_numpy()]]
    narrow = pl.DataFrame({"record": resting, "members": pl.Series(least[members.kind[resting]]).cast(pl.String)})
    alone = _in_lone_groups(told, shown, members)
    every = pl.concat([_texts(told, shown.sets), _texts(sure, shown.sets), narrow, crossed]).unique(maintain_order=True)
    return Adoption(
        tuple(entries for entries in (Entries(LONE, alone), Entries(SPOILED, spoiled)) if entries.rows.height),
        unsafe,
        len(resting),
        shown.more,
        told=every,
        kept=kept,
        crossed=crossed.height,
    )


def _texts(told: pl.DataFrame, sets: Sets) -> pl.DataFrame:
    """Write the told sets as the vault keeps them."""
    texts = sets.texts() if len(sets) else pl.Series([], dtype=pl.String)
    return told.select(pl.col("record").cast(pl.Int32), members=texts.gather(told["set"]))


def _outside(pairs: pl.DataFrame, shown: ShownSets, memory: Memory, types: int) -> IntArray:
    """Return how many values each type was certainly not told, of those that were known before or are published."""
    before = np.union1d(memory.known[memory.known < memory.seen], memory.declared)
    sizes = pairs.select("type", size=pl.Series(shown.sets.sizes[pairs["set"].to_numpy()]))
    told = sizes.group_by("type").agg(pl.col("size").sum())
    outside = np.full(types, len(np.union1d(before, shown.sets.members)), np.int64)
    outside[told["type"].to_numpy()] -= told["size"].to_numpy()
    return outside


def _crossing(pairs: pl.DataFrame, sets: Sets, types: int) -> BoolArray:
    """Return the types that may have been told two sets that share some values, not all."""
    members = pl.DataFrame({"set": sets.of_member, "code": sets.members})
    found = pairs.join(members, on="set").group_by("type", "code").agg(many=pl.len()).filter(pl.col("many") > 1)
    crossing = np.zeros(types, np.bool_)
    crossing[found["type"].to_numpy()] = True
    return crossing


def _crossed(
    pairs: pl.DataFrame, shown: ShownSets, members: Membership, memory: Memory
) -> tuple[pl.DataFrame, IntArray, IntArray]:
    """Return whose group may share some values, not all, with what they were told before, and one common value.

    Then the sets of now and those of before that are spoiled: by them, or because somebody who keeps a signature has it
    from a group that does not have all its values equally often. Types are asked, not records: many are alike.
    """
    record, sets = memory.block_records, shown.sets
    before = pl.DataFrame(
        {"record": record, "type": members.kind[record].astype(np.int64), "block": memory.block_sets.astype(np.int64)}
    )
    met = before.select("type", "block").unique().join(pairs, on="type")
    common = (
        met.select("set", "block")
        .unique()
        .join(pl.DataFrame({"set": sets.of_member, "code": sets.members}), on="set")
        .join(pl.DataFrame({"block": memory.sets.of_member, "code": memory.sets.members}), on=["block", "code"])
        .group_by("set", "block")
        .agg(shared=pl.len(), code=pl.col("code").min())
    )
    set_, block = common["set"].to_numpy(), common["block"].to_numpy()
    shared = common["shared"].to_numpy()
    equal = (shared == sets.sizes[set_]) & (shared == memory.sets.sizes[block])
    uneven = np.zeros(len(sets), np.bool_)
    uneven[shown.of_group[~shown.even]] = True
    alone = memory.book.of_records(LONE).select("record", code="value")
    apart = np.zeros(len(memory.sets), np.bool_)
    kept = before.join(alone, on="record").join(
        pl.DataFrame({"block": memory.sets.of_member, "code": memory.sets.members}), on=["block", "code"]
    )
    apart[kept["block"].to_numpy()] = True
    spoiled = ~equal | uneven[set_] | apart[block]
    hit = met.join(common.filter(~equal), on=["set", "block"]).group_by("type", "block").agg(pl.col("code").min())
    found = before.join(hit, on=["type", "block"]).group_by("record").agg(pl.col("code").min()).sort("record")
    told = found.select(pl.col("record").cast(pl.Int32), members=pl.col("code").cast(pl.String))
    return told, np.unique(set_[spoiled]), np.unique(block[spoiled])


def _spoiled(now: Sets, before: Sets, memory: Memory) -> pl.DataFrame:
    """Return the rows of spoiled signatures; a signature may be in the ledger more than once."""
    both = now.join(before)
    known = memory.book.rows(SPOILED)["signature"]
    numbers = both.of_member + (int(known.max()) + 1 if len(known) else 0)  # type: ignore[arg-type]
    return pl.DataFrame({"signature": numbers, "value": both.members})


def _in_lone_groups(told: pl.DataFrame, shown: ShownSets, members: Membership) -> pl.DataFrame:
    """Return who is published alone from now on, and with which values."""
    uneven = ~shown.even[members.group]
    where = pl.DataFrame({"type": members.type_[uneven], "set": shown.of_group[members.group[uneven]]}).unique()
    record = told["record"].to_numpy()
    placed = told.with_columns(type=pl.Series(members.kind[record].astype(np.int64))).join(where, on=["type", "set"])
    values = pl.DataFrame({"set": shown.sets.of_member, "value": shown.sets.members})
    return placed.join(values, on="set").select("record", "value").unique().sort("record", "value")


def alone_with(memory: Memory) -> pl.DataFrame:
    """Return who has to be alone in a group of a signature that they keep: ``record`` and each ``value`` of it."""
    single, rows = memory.book.of_records(LONE).select("record", "value"), memory.book.rows(SPOILED)
    if not rows.height or not len(memory.sets):
        return single
    texts = rows.group_by("signature").agg(pl.col("value").sort().cast(pl.String).str.join(","))["value"]
    spoiled = memory.sets.texts().is_in(texts.implode()).to_numpy()
    records = memory.block_records[spoiled[memory.block_sets]]
    kept = memory.sets.take(memory.block_sets[spoiled[memory.block_sets]])
    more = pl.DataFrame({"record": records[kept.of_member], "value": kept.members})
    return pl.concat([single, more.cast(dict(single.schema))]).unique().sort("record", "value")  # type: ignore[arg-type]


def published_alone(memory: Memory) -> BoolArray:
    """Return which records are of persons who have to be alone in a group of the signature that they keep."""
    rows = alone_with(memory)
    alone = np.zeros(len(memory.values), np.bool_)
    record: CodeArray = rows["record"].to_numpy()
    alone[record[rows["value"].to_numpy() == memory.values[record]]] = True
    return alone
