"""m-invariance: signatures that last as long as a person stays, for tables that only grow and shrink."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.core.defaults import in_force, kept_default
from reveil.core.effort import Effort
from reveil.core.errors import InfeasibleError
from reveil.guarantees.explained import EVER, TOGETHER, Explained
from reveil.guarantees.promising import promise_of
from reveil.guarantees.settings import settings_of
from reveil.guarantees.signatures.frequencies import is_eligible
from reveil.guarantees.signatures.machine import form_groups
from reveil.guarantees.signatures.searching import effort_of, search_of
from reveil.guarantees.signatures.signature_based import COUNTED, SignatureGuarantee, space_of
from reveil.guarantees.signatures.situation import Situation
from reveil.guarantees.signatures.space import Space
from reveil.guarantees.traits import Caution, Refusal, Traits

if TYPE_CHECKING:
    from reveil.core.arrays import IntArray
    from reveil.core.randomness import Dice
    from reveil.grouping.bang.keys import KeyArray
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.base import Memory
    from reveil.guarantees.signatures.machine import Groups
    from reveil.models.encoding import Codes
    from reveil.releases.promise import Promise
    from reveil.tables.schema import Schema

_BEYOND = (
    "{returned:,} persons came back and {changed:,} have another value: the claim of m-invariance does not cover that "
    "(kind = 'tau-safety' does)"
)
_PARTS = Refusal(  # who is not in a part would leave, and return with the next whole table
    "m-invariance knows only people who come once and leave once, and whoever is not in this part would return later: "
    "they would be told another set of values then, and the two together tell too much",
    "Publish the whole table, or use kind = 'tau-safety' or 'refinement', which take parts, in a vault of its own into "
    "which every release so far is adopted first.",
)


@dataclass(frozen=True)
class MInvariance(SignatureGuarantee):
    """Everybody keeps their signature while they stay, with the same value.

    The original, kept as the baseline of comparisons: the machine of tau-safety without a memory of those who left,
    with records chosen by dice where tau-safety takes near ones (``effort = "quick"``; with more effort they are
    exchanged by the width that is published, as in tau-safety), and refusing a snapshot whose new records are not
    m-eligible (one value in more than one m-th of them).

    Guarantee: while persons are only inserted and deleted, each sensitive value of everybody is held by at most one
    m-th of the worlds that agree with all the releases together.
    Assumes: nobody comes back after they left, and no sensitive value changes; one record per person and snapshot;
    all that others may know of a person is declared as quasi.
    Some of the columns may be published by themselves, some of the people not: they would leave, and return later.
    Does not protect against: persons who return or change their value (use tau-safety); somebody who asks why the
    groups are as they are; related persons; other publishers' data. It does not hide who is in the table.
    Source: Xiao and Tao 2007; thesis 000, 4.3.1.
    """

    kind: ClassVar[str] = "m-invariance"
    explained: ClassVar[Explained] = Explained(
        about="value",
        plain=(
            (
                f"{TOGETHER} As long as people only arrive and leave, they can link nobody with a sensitive value by "
                "more than a chance of {bound}."
            ),
            "Where people return or their values change, that is no longer so.",
        ),
        uncovered=("Returns, and changes of a value.", EVER),
    )
    m: int
    _: KW_ONLY
    effort: Effort | None = kept_default(Effort.NORMAL, before=Effort.QUICK)

    def __post_init__(self) -> None:
        self._check_m()
        object.__setattr__(self, "effort", effort_of(self.effort))

    @property
    def traits(self) -> Traits:
        """What a series has to know of it."""
        return Traits(
            settings_of(self),
            remembers=True,
            making=frozenset(["effort"]),
            caution=Caution(("returned", "changed"), _BEYOND),
            parts=_PARTS,
            usual={"m": (2, 3, 4, 6)},
        )

    @property
    def last_only(self) -> bool:
        """Whoever changes or returns is new."""
        return True

    @property
    def takes_near(self) -> bool:
        """The quick way, which is the original's, is without a look at distances."""
        return in_force(self, "effort") != Effort.QUICK

    def promise(self, schema: Schema, method: Grouper | None) -> Promise:  # noqa: ARG002
        """Return what every release of these settings promises."""
        claim = (
            "Over all the releases of this series together, nobody's sensitive value is told with more than "
            f"1/{self.m}, as long as nobody comes back after leaving and no value changes."
        )
        assumes = (
            "Nobody comes back after they left, and nobody's sensitive value changes.",
            "Others may know of everybody who is in which release and in which group, and with which quasi values.",
            COUNTED,
            "Persons are not related to each other, and nobody else publishes about them.",
        )
        return promise_of(
            self.kind,
            self.explained,
            claim,
            assumes,
            grade="counted",
            settings={"m": self.m},
            bound=1 / self.m,
            against="events",
            signatures="kept",
        )

    def situation(self, memory: Memory, schema: Schema) -> Situation:  # noqa: ARG002
        """Let those keep their signature who were in the last release with the same value; all others are new.

        Whoever was told fewer than m values by a release from elsewhere rests, wherever they were since.
        """
        stayed = (memory.present & ~memory.changed)[memory.block_records]
        rests = np.zeros(len(memory.values), np.bool_)
        rests[memory.block_records[memory.sets.sizes[memory.block_sets] < self.m]] = True
        now = Situation(
            memory.values,
            memory.sets,
            memory.block_records[stayed],
            memory.block_sets[stayed],
            memory.known,
            rests,
        )
        # Nobody who was told a signature has a value outside it, but for who may have been left out of a release from
        # elsewhere; they are here only where there are m other values (see the adoption of signatures).
        told = now.told_values(now.movers).sizes
        rests[now.movers[len(memory.known) - told < self.m]] = True
        return replace(now, resting=rests)

    def check_counts(self, newcomers: IntArray, movers: int) -> None:  # noqa: ARG002
        """Refuse newcomers among whom one value is too frequent."""
        if not is_eligible(newcomers, self.m):
            most = newcomers.sum() // newcomers.max()
            raise InfeasibleError(
                f"the new records are not {self.m}-eligible: more than 1/{self.m} of them have the same value",
                hint=f"The largest m that fits them is {most}. Use that, or 'tau-safety', which adds counterfeits and "
                "needs 3m - 1 possible values.",
            )

    def form_groups(self, now: Situation, codes: Codes, rng: Dice, keys: KeyArray | None) -> Groups:  # noqa: ARG002
        """Form the groups."""
        search = search_of(str(in_force(self, "effort")), codes)
        space = space_of(codes) if self.takes_near else Space.nowhere(now.size, rng.child("nearness"))
        return form_groups(now, space, self.m, rng, search)
