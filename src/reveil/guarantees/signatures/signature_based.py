"""What m-invariance and tau-safety share: from a snapshot and what was told to groups with signatures."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.core.errors import ConfigError, InfeasibleError
from reveil.grouping.bang.keys import KeyArray, interleaved
from reveil.grouping.bang.memory import kept_scales
from reveil.grouping.groupers.bang import BangA
from reveil.grouping.hilbert import along_curve
from reveil.grouping.recoders.boxes import BoxRecoder
from reveil.guarantees.base import Adoption, Guarantee, Memory
from reveil.guarantees.checks import check_memory, check_names, check_no_method, check_one_sensitive, check_person
from reveil.guarantees.draft import Draft, GivenColumn, Grouped, Left, Remembered, Rows
from reveil.guarantees.signatures.adopted import adopted_signatures, published_alone
from reveil.guarantees.signatures.forms import as_formed
from reveil.guarantees.signatures.machine import Groups, lone_groups
from reveil.guarantees.signatures.space import CodePoints, Space
from reveil.models.m_uniqueness import MUniqueness
from reveil.tables.notation import parsed

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray, IntArray
    from reveil.core.json_values import JSON
    from reveil.core.randomness import Dice
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.draft import Request
    from reveil.guarantees.signatures.situation import Situation
    from reveil.models.encoding import Codes
    from reveil.models.statistics import Partition
    from reveil.releases.membership import Membership
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

    m: int

    def _check_m(self) -> None:
        if isinstance(self.m, bool) or not isinstance(self.m, int) or self.m < 2:
            raise ConfigError(f"m must be a whole number from 2 up, not {self.m!r}")

    @property
    def last_only(self) -> bool:
        """Whether only a person's last signature is remembered."""
        return False

    @property
    def takes_near(self) -> bool:
        """Whether records that are near to each other go together; else, dice choose."""
        return True

    @property
    def _bounds(self) -> bool:
        """Whether anything is promised."""
        return True

    @property
    def _two_tables(self) -> bool:
        """Whether the sensitive values are published in a table of their own."""
        return False

    def _partition(self, codes: Codes, groups: Groups, rng: Dice) -> Partition:  # noqa: ARG002
        """Return which published records have a box together."""
        return as_formed(codes, groups)

    def check(self, schema: Schema, method: Grouper | None) -> None:
        """Refuse, before any data is read, what cannot work."""
        self._check_method(method)
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
        check_names(schema, two_tables=self._two_tables)

    def _check_method(self, method: Grouper | None) -> None:
        """Refuse a method beside signatures."""
        check_no_method(self.kind, method)

    def model_for(self, schema: Schema) -> MUniqueness:  # noqa: ARG002
        """Return what every group of every release satisfies."""
        return MUniqueness(self.m)

    @abstractmethod
    def situation(self, memory: Memory, schema: Schema) -> Situation:
        """Return who keeps which signature, who is new, who rests, and which values a counterfeit may have."""

    def checked_situation(self, memory: Memory, schema: Schema) -> Situation:
        """Return the situation of everybody, or refuse it by what can be counted of it."""
        self.check_changed(int(memory.changed.sum()))
        now = self.situation(memory, schema)
        self.check_counts(np.bincount(now.values[now.fresh]), len(now.movers))
        return now

    def check_changed(self, persons: int) -> None:
        """Refuse a snapshot in which so many people have another sensitive value than before."""

    def check_counts(self, newcomers: IntArray, movers: int) -> None:
        """Refuse a snapshot by how many newcomers have each value, and how many people a value they were not told."""

    def reason_against_shards(self, schema: Schema) -> str | None:  # noqa: ARG002
        """Say why releases are made in one memory, or None where a table may be worked on in shards."""
        return None

    @abstractmethod
    def form_groups(self, now: Situation, codes: Codes, rng: Dice, keys: KeyArray | None) -> Groups:
        """Form the groups, along the regions of a BANG file where there are keys of one."""

    def decide(self, request: Request, rng: Dice) -> Draft:
        """Form the groups of the next release of a series."""
        snapshot, method = request.snapshot, request.method
        self.check(snapshot.schema, method)
        memory = check_memory(self.kind, request.memory)
        codes = request.codes
        now = self.checked_situation(memory, snapshot.schema)
        withheld = int(now.resting.sum())
        if withheld == codes.n:
            raise InfeasibleError(
                "nobody can be published: all the persons of this snapshot rest",
                hint="They were told so many values that fewer than m are left, or are held back since an adoption.",
            )
        keys, layout = _keys(method, codes, memory) if isinstance(method, BangA) else (None, None)
        groups = self.all_groups(now, published_alone(memory), codes, rng.child("groups"), keys)
        partition = self._partition(codes, groups, rng.child("classes"))
        name = snapshot.schema.sensitive[0]
        # Who keeps a signature was told it before.
        stays = np.append(now.usable >= 0, True)  # the last one stands for counterfeits
        new = np.flatnonzero(~stays[groups.record])
        texts = groups.sets.texts().gather(groups.signature[groups.group[new]])
        return Draft(
            Rows(
                groups.record,
                groups.record,  # a counterfeit borrows a box
                groups.group,
                {name: GivenColumn(parsed(memory.texts, snapshot.frame[name].dtype), groups.value)},
            ),
            Grouped(codes, partition, BoxRecoder()),
            self.model_for(snapshot.schema),
            self.promise(snapshot.schema, method),
            snapshot,
            codes,
            apart=self._two_tables,
            left=Left(withheld=withheld),
            remembered=Remembered(
                pl.DataFrame({"record": groups.record[new], "members": texts}),
                self.last_only,
                layout=layout,
                facts={"fewest_counterfeits": groups.fewest},
            ),
        )

    def all_groups(self, now: Situation, alone: BoolArray, codes: Codes, rng: Dice, keys: KeyArray | None) -> Groups:
        """Form the groups; whoever has to be alone in one is beside nobody but counterfeits."""
        alone = alone & (now.usable >= 0) & ~now.resting
        if not alone.any():
            return self.form_groups(now, codes, rng, keys)
        apart = lone_groups(now, np.flatnonzero(alone).astype(np.int32))
        others = replace(now, resting=now.resting | alone)
        return apart if others.resting.all() else self.form_groups(others, codes, rng, keys).join(apart)

    def adopt(self, memory: Memory, snapshot: Snapshot, release: Release, members: Membership) -> Adoption:
        """Take as told to everybody the signature of each group that they may have been in."""
        sensitive, strict = snapshot.schema.sensitive[0], self._bounds
        return adopted_signatures(
            release, members, memory, sensitive, self.m, strict=strict, bounded=strict and self.last_only
        )


def space_of(codes: Codes, keys: KeyArray | None = None) -> Space:
    """Return where records lie by their quasi values."""
    order = along_curve(codes)
    ranks = np.empty(codes.n, np.int64)
    ranks[order] = np.arange(codes.n)
    return Space(CodePoints(codes), ranks, keys)


def _keys(method: BangA, codes: Codes, memory: Memory) -> tuple[KeyArray, dict[str, JSON]]:
    """Return the key of each record in the space of a BANG file, and its scales, which last from release to release."""
    made = {"kind": method.name, **method.parameters()}
    scales, layout = kept_scales(made, codes, method.scales, memory.layout, part=memory.part)
    return interleaved(scales.cells(codes), scales.bits), layout


def points_of(codes: Codes) -> npt.NDArray[np.float64]:
    """Return the normalised positions of the quasi values, a row for each record."""
    return CodePoints(codes)[slice(None)]
