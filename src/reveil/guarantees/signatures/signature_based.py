"""What m-invariance and tau-safety share: from a snapshot and what was told to a release with signatures."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.core.arrays import BoolArray, CodeArray, offsets_of
from reveil.core.errors import ConfigError, InfeasibleError, VerificationError
from reveil.core.json_values import frozen_object
from reveil.core.randomness import shuffled
from reveil.grouping.bang.keys import KeyArray, interleaved
from reveil.grouping.bang.memory import lasting_scales
from reveil.grouping.groupers.bang import BangA
from reveil.grouping.hilbert import along_curve
from reveil.grouping.recoders.boxes import BoxRecoder
from reveil.guarantees.assembly import (
    check_memory,
    check_names,
    check_no_method,
    check_one_sensitive,
    check_person,
    check_same_promise,
    counted_counterfeits,
    describe_columns,
    published_names,
    second_table,
)
from reveil.guarantees.base import Adoption, Guarantee, Memory, Prepared
from reveil.guarantees.signatures.adopted import adopted_signatures, published_alone
from reveil.guarantees.signatures.machine import Groups, Space, lone_groups
from reveil.models.encoding import Codes, encode
from reveil.models.k_anonymity import KAnonymity
from reveil.models.m_uniqueness import MUniqueness
from reveil.models.statistics import Partition
from reveil.releases.manifest import make_manifest
from reveil.releases.release import compact, release_of
from reveil.releases.table import PublishedTable
from reveil.tables.notation import parsed

if TYPE_CHECKING:
    from reveil.core.json_values import JSON
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.signatures.situation import Situation
    from reveil.releases.manifest import Counterfeits, Manifest
    from reveil.releases.membership import Membership
    from reveil.releases.promise import Promise
    from reveil.releases.release import Release
    from reveil.tables.schema import Schema
    from reveil.tables.snapshot import Snapshot

COUNTED = (
    "Given who is in which group, every table that agrees with all the releases is equally likely: the adversary does "
    "not reason about why the groups are as they are."
)
_WAYS_OUT = (
    "Make it quasi, drop it (identifier), or use the guarantee 'worlds', which moves such columns with the values."
)


class SignatureGuarantee(Guarantee):
    """A guarantee in which every group has a signature that its persons keep."""

    remembers = True
    against = "events"
    last_only: ClassVar[bool] = False  # whether only a person's last signature is remembered
    m: int

    def _check_m(self) -> None:
        if isinstance(self.m, bool) or not isinstance(self.m, int) or self.m < 2:
            raise ConfigError(f"m must be a whole number from 2 up, not {self.m!r}")

    @property
    def bound(self) -> float | None:
        """One m-th, in all the releases together."""
        return 1 / self.m

    @property
    def two_tables(self) -> bool:
        """Whether the sensitive values are published in a table of their own."""
        return False

    def check(self, schema: Schema, method: Grouper | None) -> None:
        """Refuse, before any data is read, what cannot work."""
        self.check_method(method)
        check_person(self.kind, schema)
        check_one_sensitive(
            self.kind, schema, "Declare one as sensitive, or publish the others in a series of their own people."
        )
        if schema.plain:
            raise ConfigError(
                f"column {schema.plain[0]!r} is plain, and would link a person's rows from release to release",
                column=schema.plain[0],
                hint=_WAYS_OUT,
            )
        check_names(schema, two_tables=self.two_tables)

    def check_method(self, method: Grouper | None) -> None:
        """Refuse a method beside signatures."""
        check_no_method(self.kind, method)

    def model_for(self, schema: Schema) -> MUniqueness:  # noqa: ARG002
        """Return what every group of every release satisfies."""
        return MUniqueness(self.m)

    @abstractmethod
    def promise(self) -> Promise:
        """Return what every release of these settings promises."""

    def check_promise(self, manifest: Manifest, schema: Schema, records: int) -> None:  # noqa: ARG002
        """Refuse a manifest that does not promise what these settings ask for."""
        own, told = self.promise(), manifest.promise
        if manifest.adopted:  # then the series is not blind, and the claim says what it does not cover
            own = replace(own, grade=told.grade, claim=told.claim if told.claim.startswith(own.claim) else own.claim)
        check_same_promise(told, own, own.settings)
        if manifest.suppressed or manifest.dirty:
            raise VerificationError("the manifest speaks of suppressed or dirty records, which this guarantee has not")

    @abstractmethod
    def situation(self, memory: Memory, schema: Schema) -> Situation:
        """Return who keeps which signature, who is new, who rests, and which values a counterfeit may have."""

    @abstractmethod
    def form(self, now: Situation, codes: Codes, rng: np.random.Generator, keys: KeyArray | None) -> Groups:
        """Form the groups, along the regions of a BANG file where there are keys of one."""

    def prepare(
        self,
        snapshot: Snapshot,
        method: Grouper | None,
        rng: np.random.Generator,
        *,
        series: str | None,
        memory: Memory | None = None,
        codes: Codes | None = None,
    ) -> Prepared:
        """Group, recode and describe the next release of a series."""
        self.check(snapshot.schema, method)
        memory = check_memory(self.kind, memory)
        codes = encode(snapshot) if codes is None else codes
        now = self.situation(memory, snapshot.schema)
        withheld = int(now.resting.sum())
        if withheld == codes.n:
            raise InfeasibleError(
                "nobody can be published: all the persons of this snapshot rest",
                hint="They were told so many values that fewer than m are left, or are held back since an adoption.",
            )
        keys, layout = _keys(method, codes, memory) if isinstance(method, BangA) else (None, None)
        groups = self._groups(now, published_alone(memory), codes, rng, keys)
        rows = _Rows.of(groups, rng)
        promise = self.promise()
        if method is not None:
            made = {"method": {"kind": method.name, **method.parameters()}}
            promise = replace(promise, settings=frozen_object({**promise.settings, **made}))
        manifest = make_manifest(
            series=series,
            release=memory.release,
            promise=promise,
            columns=describe_columns(snapshot, codes, two_tables=self.two_tables, groups=True),
            rows=len(rows.record),
            groups=groups.size,
            achieved={"m": int(groups.sets.sizes[groups.signature].min())},
            withheld=withheld,
            counterfeits=rows.counterfeits(),
        )
        release = release_of(self._table(snapshot, codes, groups, rows, memory, rng), manifest)
        # Who keeps a signature was told it before.
        stays = np.append(now.usable >= 0, True)  # the last one stands for counterfeits
        new = np.flatnonzero(~stays[groups.record])
        texts = groups.sets.texts().gather(groups.signature[groups.group[new]])
        told = pl.DataFrame({"record": groups.record[new], "members": texts})
        facts = {"fewest_counterfeits": groups.fewest}
        return Prepared(
            release, rows.record, codes, MUniqueness(self.m), told, facts, replaces=self.last_only, layout=layout
        )

    def _groups(
        self, now: Situation, alone: BoolArray, codes: Codes, rng: np.random.Generator, keys: KeyArray | None
    ) -> Groups:
        """Form the groups; whoever has to be alone in one is beside nobody but counterfeits."""
        alone = alone & (now.usable >= 0) & ~now.resting
        if not alone.any():
            return self.form(now, codes, rng, keys)
        apart = lone_groups(now, np.flatnonzero(alone).astype(np.int32))
        others = replace(now, resting=now.resting | alone)
        return apart if others.resting.all() else self.form(others, codes, rng, keys).join(apart)

    def adopted(self, memory: Memory, snapshot: Snapshot, release: Release, members: Membership) -> Adoption:
        """Take as told to everybody the signature of each group that they may have been in."""
        sensitive, strict = snapshot.schema.sensitive[0], self.bound is not None
        return adopted_signatures(
            release, members, memory, sensitive, self.m, strict=strict, bounded=strict and self.last_only
        )

    def _table(
        self,
        snapshot: Snapshot,
        codes: Codes,
        groups: Groups,
        rows: _Rows,
        memory: Memory,
        rng: np.random.Generator,
    ) -> PublishedTable:
        """Put rows in their published order."""
        if self.two_tables:
            partition = _tight(codes, groups, self.m, rng)
        else:
            real = groups.record >= 0
            order = groups.record[real]  # rows come group by group
            sizes = np.bincount(groups.group[real], minlength=groups.size)
            partition = Partition(order, offsets_of(sizes), codes.n)
        recoded = BoxRecoder().recode(codes, partition)
        classes = recoded.classes[rows.stand_in]
        name = snapshot.schema.sensitive[0]
        told = parsed(memory.texts, snapshot.frame[name].dtype).gather(rows.value).alias(name)
        values = pl.DataFrame([compact(told)])
        names = published_names(snapshot, two_tables=self.two_tables)
        if not self.two_tables:
            return PublishedTable(names, recoded.cells, classes, values, snapshot.native, rows.group)
        batch = second_table(rows.group, values)
        return PublishedTable(names, recoded.cells, classes, pl.DataFrame(), snapshot.native, rows.group, batch)


@dataclass(frozen=True)
class _Rows:
    """The rows in their published order: the number of the group, the value and the record (-1) of each.

    ``stand_in`` is a record whose box the row has: its own, and for a counterfeit that of a record of its group.
    """

    group: CodeArray
    value: CodeArray
    record: CodeArray
    stand_in: CodeArray

    @classmethod
    def of(cls, groups: Groups, rng: np.random.Generator) -> _Rows:
        """Number groups by dice and shuffle the rows: neither says how they were made."""
        order = shuffled(rng, np.arange(len(groups.record), dtype=np.int32))
        numbers = (rng.permutation(groups.size) + 1).astype(np.int32)
        # A counterfeit borrows the box of a real record of its group, whichever dice put first.
        real = order[groups.record[order] >= 0]
        lender = np.full(groups.size, -1, np.int32)
        lender[groups.group[real]] = groups.record[real]
        record = groups.record[order]
        stand_in = np.where(record >= 0, record, lender[groups.group[order]])
        return cls(numbers[groups.group[order]], groups.value[order], record, stand_in.astype(np.int32))

    def counterfeits(self) -> Counterfeits:
        """Count the counterfeits, in all and per group, as the manifest has them."""
        return counted_counterfeits(self.group[self.record < 0])


def space_of(codes: Codes, keys: KeyArray | None = None) -> Space:
    """Return where records lie by their quasi values."""
    order = along_curve(codes)
    ranks = np.empty(codes.n, np.int64)
    ranks[order] = np.arange(codes.n)
    return Space(points_of(codes), ranks, keys)


def _keys(method: BangA, codes: Codes, memory: Memory) -> tuple[KeyArray, dict[str, JSON]]:
    """Return the key of each record in the space of a BANG file, and its scales, which last from release to release."""
    made = {"kind": method.name, **method.parameters()}
    scales, layout = lasting_scales(made, codes, method.scales, memory.layout, part=memory.part)
    return interleaved(scales.cells(codes), scales.bits), layout


def points_of(codes: Codes) -> npt.NDArray[np.float64]:
    """Return the normalised positions of the quasi values, a row for each record."""
    points = np.empty((codes.n, len(codes.quasi)))
    for a, attribute in enumerate(codes.quasi):
        points[:, a] = attribute.positions[attribute.codes]
    return points


def _tight(codes: Codes, groups: Groups, m: int, rng: np.random.Generator) -> Partition:
    """Partition the published records by quasi values alone, into classes of at least m where there are so many."""
    from reveil.grouping.groupers.mondrian import Mondrian

    real = np.sort(groups.record[groups.record >= 0])
    if len(real) < 2 * m:
        return Partition(real, np.array([0, len(real)], np.int64), codes.n)
    own = replace(codes, sensitive=()).take(real)
    inner = Mondrian().group(own, KAnonymity(m), rng)
    return Partition(real[inner.order], inner.offsets, codes.n)
