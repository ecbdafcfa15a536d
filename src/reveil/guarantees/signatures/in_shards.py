"""Signatures for tables in shards: who keeps which signature bucket by bucket of people, groups bin by bin of records.

Shards are joined with what was told by pseudonym (:mod:`reveil.series.in_shards`); what is left of a person is a record
in codes with the signature that they keep, if any. Then

1. the records are counted: by region of a curve through the quasi values, signature, value, and what movers were told;
2. :mod:`.by_counts` decides how many go where, and :mod:`.dealing` deals them along the curve, region by region;
3. the records of a signature are split into groups, those of several small ones in one bin; a signature with more
   records than a shard is cut along the curve first, the records of each of its values at the same ranks, so that every
   part has equally many of each, as every half has in the split of a bucket.

Which groups there are depends on the table, the dice and the size of a shard, and on nothing else. The proof takes the
groups as given (:class:`~reveil.guarantees.signatures.tau_safety.TauSafety`). Where a guarantee chooses by dice instead
of by nearness, dice are what the curve goes along, and the points of a bin.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import InfeasibleError
from reveil.core.json_values import whole_in
from reveil.core.numbering import Scattered
from reveil.engines.shards import COUNTED, with_column
from reveil.grouping.cut_tree import quasi_column
from reveil.grouping.hilbert import curve_places
from reveil.guarantees.signatures.binned import BIN, KEPT, SIGN, VALUE, SplitBins, typed_rows
from reveil.guarantees.signatures.by_counts import CountedDemand, Decision
from reveil.guarantees.signatures.dealing import Places, places_among
from reveil.guarantees.signatures.plan_of_counts import decided_on
from reveil.guarantees.signatures.regions import PLACE, REGION, InRegions, ends_of_regions
from reveil.guarantees.signatures.sets import Sets
from reveil.guarantees.static.in_shards import NUMBER, SEAT, WIDTH, Shape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from reveil.core.arrays import CodeArray, IntArray
    from reveil.core.randomness import Dice
    from reveil.engines.shards import Engine, Shards
    from reveil.guarantees.base import Memory
    from reveil.guarantees.signatures.signature_based import SignatureGuarantee
    from reveil.guarantees.signatures.situation import Situation
    from reveil.models.domains import Domain
    from reveil.models.encoding import Codes
    from reveil.tables.notation import Form
    from reveil.tables.schema import Schema

EARLIER = "told"  # what a mover was told, as text; null for everybody else
_MOST_COUNTS = 50_000_000
_SIGNED = 63  # bits of a die that a column keeps


def coded_schema(quasi: int) -> pl.Schema:
    """Return the columns of records in codes."""
    types: dict[str, pl.DataType] = {NUMBER: pl.Int64(), SEAT: pl.Int64(), PLACE: pl.UInt64()}
    types |= {quasi_column(a): pl.Int32() for a in range(quasi)}
    return pl.Schema(types | {VALUE: pl.Int32(), SIGN: pl.Int32(), EARLIER: pl.String()})


@dataclass(frozen=True)
class SituateRecords:
    """What becomes of the records of a bucket of people: who keeps a signature, who moves, who is new, who rests.

    ``assembly`` are the dice by which rows lie in the published order.
    """

    guarantee: SignatureGuarantee
    schema: Schema
    assembly: Dice

    def __call__(self, memory: Memory, codes: Codes, numbers: IntArray) -> tuple[pl.DataFrame, int]:
        """Return the records that are published, in codes, and how many rest."""
        now = self.guarantee.situation(memory, self.schema)
        seats = self.assembly.child("seats").bits(numbers) >> np.uint64(64 - _SIGNED)
        places = curve_places(codes) if self.guarantee.takes_near else self.assembly.child("places").bits(numbers)
        return situated(now, codes, numbers, seats.astype(np.int64), places), int(now.resting.sum())


def situated(
    now: Situation, codes: Codes, numbers: IntArray, seats: IntArray, places: npt.NDArray[np.uint64]
) -> pl.DataFrame:
    """Return the records that are published, in codes; seats are the dice by which their rows lie."""
    movers = now.movers
    texts = now.told_values(movers).texts().cast(pl.String) if len(movers) else pl.Series([], dtype=pl.String)
    place = np.full(now.size, len(movers), np.int64)  # of what everybody else was told: nothing
    place[movers] = np.arange(len(movers))
    told = pl.concat([texts.rename(EARLIER), pl.Series(EARLIER, [None], pl.String)]).gather(place)
    columns: dict[str, object] = {NUMBER: numbers, SEAT: seats, PLACE: places}
    columns |= {quasi_column(a): attribute.codes for a, attribute in enumerate(codes.quasi)}
    sign = np.where(now.resting, -1, now.usable).astype(np.int32)
    columns |= {VALUE: now.values, SIGN: sign, EARLIER: told}
    coded = pl.DataFrame(columns, schema=coded_schema(len(codes.quasi)))
    return coded.filter(pl.Series(~now.resting)) if now.resting.any() else coded


@dataclass(frozen=True)
class CountSituations:
    """Work: how many records of each value keep which signature, or were told what, region by region."""

    inside: InRegions

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count a shard."""
        keys = [REGION, VALUE, SIGN, EARLIER]
        return self.inside(table).group_by(keys).agg(pl.len().cast(pl.Int64).alias(COUNTED))


@dataclass(frozen=True)
class Bins:
    """Where the buckets of signatures are split: small ones together, large ones in parts.

    ``first`` (sets) is the bin of a set, or of its first part; it has ``parts`` (sets) and ``groups`` (sets), and
    ``real`` (members) records of each value. ``base`` (bins) is how many groups are in the bins before.
    """

    first: IntArray = field(repr=False)
    parts: IntArray = field(repr=False)
    groups: IntArray = field(repr=False)
    real: IntArray = field(repr=False)
    base: IntArray = field(repr=False)

    @classmethod
    def of(cls, sets: Sets, real: IntArray, bin_rows: int) -> Bins:
        """Return the bins of sets with so many records of each of their values."""
        groups = sets.lists.reduce(np.maximum, real)
        rows = groups * sets.sizes
        parts = np.maximum(np.minimum(-(-rows // bin_rows), groups), 1)
        first = np.zeros(len(sets), np.int64)
        base: list[int] = []
        many, filled = 0, bin_rows + 1  # groups so far, rows of the bin that is being filled
        for s in range(len(sets)):
            if not rows[s]:
                continue
            if parts[s] > 1:
                first[s] = len(base)
                ends = -(-np.arange(parts[s] + 1) * groups[s] // parts[s])
                base += (many + ends[:-1]).tolist()
                filled = bin_rows + 1
            else:
                if filled + rows[s] > bin_rows:
                    base.append(many)
                    filled = 0
                first[s] = len(base) - 1
                filled += int(rows[s])
            many += int(groups[s])
        return cls(first, parts, groups, real, np.array([*base, many], np.int64))

    @property
    def size(self) -> int:
        """How many groups there are."""
        return int(self.base[-1])


@dataclass(frozen=True)
class DealRegion:
    """Work: the signature of every record of a region, and the bin in which its bucket is split.

    ``classes`` numbers what movers are; those of newcomers are their values. ``starts`` (regions, classes) and
    ``ranks`` (regions, members) are how many of a class, or of a value of a signature that is cut in parts, are in the
    regions before.
    """

    sets: Sets
    places: Mapping[int, Places]
    classes: pl.DataFrame = field(repr=False)
    starts: IntArray = field(repr=False)
    ranks: IntArray = field(repr=False)
    bins: Bins
    returns: pl.Schema

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Deal the records of a region, all of which are here."""
        if not table.height:
            return self.returns.to_frame()
        region = int(table[REGION][0])
        rows = classed(table, self.classes).sort("class", PLACE, NUMBER)
        kind, sign = rows["class"].to_numpy(), rows[SIGN].to_numpy().astype(np.int64)
        found, first, many = np.unique(kind, return_index=True, return_counts=True)
        for c, at, n in zip(found.tolist(), first.tolist(), many.tolist(), strict=True):
            if c >= 0:
                before = int(self.starts[region, c])
                sign[at : at + n] = self.places[c].dealt(before, before + n)
        newcomer = (kind >= 0) & (rows[EARLIER].is_null().to_numpy())
        kept = np.where(kind < 0, 0, np.where(newcomer, 2, 1)).astype(np.int8)
        where = self.bins.first[sign] + self._part(region, rows, sign)
        dealt = {SIGN: sign.astype(np.int32), KEPT: kept, BIN: where.astype(np.int32)}
        return rows.with_columns(pl.Series(name, column) for name, column in dealt.items()).select(self.returns.names())

    def _part(self, region: int, rows: pl.DataFrame, sign: IntArray) -> IntArray:
        """Return in which part of its signature each record is, 0 where it has one."""
        part = np.zeros(len(sign), np.int64)
        large = np.flatnonzero(self.bins.parts[sign] > 1)
        if not len(large):
            return part
        member = self.sets.places(sign[large], rows[VALUE].to_numpy()[large])
        order = np.lexsort((rows[NUMBER].to_numpy()[large], rows[PLACE].to_numpy()[large], member))
        member, large = member[order], large[order]
        starts = np.searchsorted(member, member)  # where the members like it begin
        rank = self.ranks[region, member] + np.arange(len(member)) - starts
        groups, parts = self.bins.groups[sign[large]], self.bins.parts[sign[large]]
        part[large] = places_among(rank, self.bins.real[member], groups) * parts // groups
        return part


def classed(table: pl.DataFrame, classes: pl.DataFrame) -> pl.DataFrame:
    """Return records with their ``class``: -1 for keepers, the value of newcomers, the number of what movers are."""
    rows = table.join(classes, on=[VALUE, EARLIER], how="left", maintain_order="left")
    new = pl.when(pl.col(EARLIER).is_null()).then(pl.col(VALUE)).otherwise(pl.col("number_of_class"))
    kind = pl.when(pl.col(SIGN) >= 0).then(pl.lit(-1, pl.Int32)).otherwise(new)
    return rows.with_columns(kind.cast(pl.Int32).alias("class")).drop("number_of_class")


@dataclass(frozen=True)
class GroupedSignatures:
    """The published rows in shards, and what there is to tell of them."""

    rows: Shards
    forms: Mapping[str, Form]
    shape: Shape
    sets: Sets
    used: IntArray = field(repr=False)  # the sets that have groups
    groups: int
    published: int  # rows, counterfeits included
    fewest: int
    width: float


def group_signatures(
    engine: Engine,
    coded: Shards,
    shape: Shape,
    guarantee: SignatureGuarantee,
    memory: Memory,
    values: pl.Series,
    effort: str,
    assembly: Dice,
) -> GroupedSignatures:
    """Form the groups of a release whose records lie in shards, as :class:`SituateRecords` left them.

    ``values`` are the sensitive values by their codes.
    """
    counted = coded.count(_by_value)
    records, fresh = int(counted[COUNTED].sum()), counted.filter(pl.col("told").not_() & pl.col("moves"))
    newcomers = np.bincount(fresh[VALUE].to_numpy(), weights=fresh[COUNTED].to_numpy()).astype(np.int64)
    guarantee.check_counts(newcomers, int(counted.filter("told", "moves")[COUNTED].sum()))
    if not records:
        raise InfeasibleError(
            "nobody can be published: all the persons of this snapshot rest",
            hint="They were told so many values that fewer than m are left, or are held back since an adoption.",
        )
    binned, decision, bins = in_bins(
        coded, records, shape.domains.quasi, memory.sets, memory.known, whole_in(guarantee.m), engine.shard_rows, effort
    )
    rows_type, forms = typed_rows(shape)
    numbers = Scattered(bins.size, assembly.child("group numbers"))
    split = SplitBins(
        shape,
        decision.sets,
        bins.base,
        numbers,
        values,
        effort,
        assembly.child("counterfeit seats"),
        None if guarantee.takes_near else assembly.child("points"),
        rows_type,
    )
    rows = binned.each(BIN, split, rows_type)
    binned.drop()
    weights = sum(domain.weight for domain in shape.domains.quasi)
    widths = rows.map(_widths, pl.Schema({WIDTH: pl.Float64})).collect()[WIDTH].to_numpy()
    used = np.flatnonzero(bins.groups > 0)
    return GroupedSignatures(
        rows,
        forms,
        shape,
        decision.sets,
        used,
        bins.size,
        int((bins.groups * decision.sets.sizes).sum()),
        decision.fewest,
        float(np.sort(widths).sum()) / max(records * weights, 1),
    )


def in_bins(
    coded: Shards,
    records: int,
    quasi: Sequence[Domain],
    sets: Sets,
    known: CodeArray,
    m: int,
    shard_rows: int,
    effort: str,
) -> tuple[Shards, Decision, Bins]:
    """Give every record a signature, and the bin in which it is split; ``known`` are the values in use."""
    inside = InRegions(ends_of_regions(coded, -(-records // shard_rows), _MOST_COUNTS))
    counted = coded.count(CountSituations(inside), _MOST_COUNTS)
    demand, classes = demand_of(counted, sets, known)
    decision = decided_on(coded, records, quasi, demand, m, effort)
    deal = _dealing(counted, demand, decision, classes, shard_rows, len(quasi))
    placed = coded.map(inside, with_column(coded.schema, REGION, pl.Int32()))
    return placed.each(REGION, deal, deal.returns), decision, deal.bins


def _by_value(table: pl.DataFrame) -> pl.DataFrame:
    """Work: how many records of each value there are, of keepers, newcomers and movers."""
    moves, told = pl.col(SIGN) < 0, pl.col(EARLIER).is_not_null()
    return table.group_by(VALUE, moves.alias("moves"), told.alias("told")).agg(pl.len().cast(pl.Int64).alias(COUNTED))


def _widths(table: pl.DataFrame) -> pl.DataFrame:
    """Work: the width of each bin: added up by shards, it would depend on them in its last digits."""
    return table.filter(pl.col(WIDTH) > 0).select(WIDTH)


def demand_of(counted: pl.DataFrame, sets: Sets, known: CodeArray) -> tuple[CountedDemand, pl.DataFrame]:
    """Return who has to be placed, by what was counted, and the classes of movers."""
    total = counted.group_by(VALUE, SIGN, EARLIER).agg(pl.col(COUNTED).sum()).sort(VALUE, SIGN, EARLIER)
    largest = (int(codes.max(initial=-1)) for codes in (total[VALUE].to_numpy(), sets.members, known))
    width = max(largest) + 1
    kept = total.filter(pl.col(SIGN) >= 0)
    place = sets.places(kept[SIGN].to_numpy(), kept[VALUE].to_numpy())
    keep = np.bincount(place, weights=kept[COUNTED].to_numpy(), minlength=len(sets.members)).astype(np.int64)
    new = total.filter((pl.col(SIGN) < 0) & pl.col(EARLIER).is_null())
    fresh = np.bincount(new[VALUE].to_numpy(), weights=new[COUNTED].to_numpy(), minlength=width).astype(np.int64)
    moving = total.filter((pl.col(SIGN) < 0) & pl.col(EARLIER).is_not_null())
    numbers = pl.Series("number_of_class", width + np.arange(moving.height, dtype=np.int32), pl.Int32)
    told = Sets.of_texts(moving[EARLIER]) if moving.height else Sets.of([])
    values = moving[VALUE].to_numpy().astype(np.int32)
    movers = moving[COUNTED].to_numpy().astype(np.int64)
    demand = CountedDemand(sets, keep, fresh, values, told, movers, known)
    return demand, moving.select(VALUE, EARLIER).with_columns(numbers)


def _dealing(
    counted: pl.DataFrame,
    demand: CountedDemand,
    decision: Decision,
    classes: pl.DataFrame,
    bin_rows: int,
    quasi: int,
) -> DealRegion:
    """Return the work that deals everybody to what was decided."""
    sets, width = decision.sets, len(demand.fresh)
    places: dict[int, Places] = {}
    for v in np.flatnonzero(demand.fresh):
        rows = np.flatnonzero((sets.members == v) & (decision.newcomers > 0))
        places[int(v)] = Places(sets.of_member[rows], decision.newcomers[rows])
    for c in range(len(demand.movers)):
        mine = decision.pairs[:, 0] == c
        places[width + c] = Places(decision.pairs[mine, 1], decision.moved[mine])
    by_region = classed(counted, classes)
    regions = int(counted[REGION].to_numpy().max()) + 1
    many = np.zeros((regions, width + len(demand.movers)), np.int64)
    new = by_region.filter(pl.col("class") >= 0)
    np.add.at(many, (new[REGION].to_numpy(), new["class"].to_numpy()), new[COUNTED].to_numpy())
    starts = np.cumsum(many, axis=0) - many
    # The sets that are known come first among those of the decision, in their order, as far as they are different.
    kept = by_region.filter(pl.col("class") < 0)
    member = sets.places(kept[SIGN].to_numpy(), kept[VALUE].to_numpy())
    real = np.bincount(member, weights=kept[COUNTED].to_numpy(), minlength=len(sets.members)).astype(np.int64)
    real += decision.newcomers
    moved = sets.places(decision.pairs[:, 1], demand.moving[decision.pairs[:, 0]])
    np.add.at(real, moved, decision.moved)
    bins = Bins.of(sets, real, bin_rows)
    large = (bins.parts > 1)[sets.of_member]
    there = np.zeros((regions, len(sets.members) if large.any() else 0), np.int64)
    if large.any():
        np.add.at(there, (kept[REGION].to_numpy(), member), kept[COUNTED].to_numpy())
        value_of = np.concatenate([np.arange(width), demand.moving]).astype(np.int64)
        for region, kind in zip(*np.nonzero(many), strict=True):
            first = int(starts[region, kind])
            signs, often = np.unique(
                places[int(kind)].dealt(first, first + int(many[region, kind])), return_counts=True
            )
            np.add.at(there[region], sets.places(signs, np.full(len(signs), value_of[kind])), often)
    ranks = np.cumsum(there, axis=0) - there
    types: dict[str, pl.DataType] = {NUMBER: pl.Int64(), SEAT: pl.Int64()}
    types |= {quasi_column(a): pl.Int32() for a in range(quasi)}
    types |= {VALUE: pl.Int32(), SIGN: pl.Int32(), KEPT: pl.Int8(), BIN: pl.Int32()}
    return DealRegion(sets, places, classes, starts, ranks, bins, pl.Schema(types))
