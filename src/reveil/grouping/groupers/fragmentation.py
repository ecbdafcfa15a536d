"""Fragmentation: a t for each of several sensitive attributes, by shares of boxes of near values."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from reveil.core.errors import ConfigError
from reveil.grouping.groupers._halving import Ground
from reveil.grouping.groupers._towards_t import FINE, Task, TowardsT, most_groups
from reveil.grouping.groupers.stack_deal import proportional

if TYPE_CHECKING:
    from reveil.core.json_values import JSON
    from reveil.core.randomness import Dice
    from reveil.grouping.fragments import Fragments
    from reveil.models.statistics import Partition

Sizing = Literal["even", "gcd"]

# Bounds are for the worst records; the groups made are seldom so bad. So looser limits are tried, too.
LOOSER = (1, 2, 4, 8)


@dataclass(frozen=True, kw_only=True)
class Fragmentation(TowardsT):
    """Cuts the table of counts over all the sensitive attributes into fragments and gives each group its share of each.

    The fragments are those of :func:`reveil.grouping.fragments.fragment`: fine enough that every group that takes the
    same share of each is within t in every attribute (the theorem is stated there). ``sizing`` decides how many groups
    there are. ``"gcd"`` makes as many as can take exactly the same number of records from each fragment, or the most
    of these that leave groups large enough: a divisor of the greatest common divisor of the fragments' counts, often 1.
    ``"even"`` deals the fragments out as evenly as whole records allow: every group has its share of each fragment, and
    of the first fragments together, within one record. It takes the largest number of groups, found by bisection from
    what ``gcd`` finds, for which the *actual* distances are within t, after a pass in which groups that are not within
    it swap records with their neighbours, and the last few of them (at most one group of 50) are merged. Fragments for
    bounds of up to 2, 4 and 8 times t are tried as well, and the coarsest kept that give as many groups: inside a
    fragment nearness alone decides. One group is always right: it is the table.

    As many sensitive attributes as there are, each with its t and distance. Values without an order are taken in the
    order of their codes, as the source allows; with a t of 0 every combination of values is a fragment.

    Guarantee: every group satisfies the model; the model itself has judged every one of them.
    Assumes: the model asks for a t in at least one attribute and is union-closed.
    Does not protect against: an adversary who knows the algorithm: who is dealt where, and how many groups there are,
    depends on values (the *counted* grade). What t-closeness does not protect against, see there.
    Source: 002, chapter 4 (Bagai, Weber, Thammanna Gowda 2023).
    """

    name: ClassVar[str] = "fragmentation"
    sizing: Sizing = "even"
    recode: str = "boxes"

    def __post_init__(self) -> None:
        self.check_recode()
        if self.sizing not in get_args(Sizing):
            known = ", ".join(get_args(Sizing))
            raise ConfigError(f"fragmentation: unknown sizing {self.sizing!r}", hint=f"Known: {known}.")

    @classmethod
    def examples(cls) -> tuple[Fragmentation, ...]:
        """Return both ways of sizing."""
        return cls(), cls(sizing="gcd")

    def parameters(self) -> dict[str, JSON]:
        """Return the parameters under their config names."""
        return {"sizing": self.sizing, "recode": self.recode}

    @property
    def most_distances(self) -> int:
        """As many as there are, and at least one."""
        return sys.maxsize

    def propose(self, task: Task, rng: Dice) -> Partition:  # noqa: ARG002
        """Fragment the values, then deal the fragments to as many groups as can be valid."""
        task.check_asked(self)
        ground = Ground(task.codes)
        most = task.codes.n // max(task.model.minimum_size, 1)
        best = _equal_shares(task, task.fragments(), most)
        if self.sizing == "gcd":
            return best
        for loose in LOOSER:
            # What finer fragments could not do, coarser ones seldom can: these begin one step further.
            first = most if loose == LOOSER[0] else min(best.n_groups + best.n_groups // FINE + 1, most)
            found = _even_shares(task, ground, task.fragments(loose), most, best, first)
            if found is None:
                break
            best = found
        return best


def _even_shares(
    task: Task, ground: Ground, fragments: Fragments, most: int, best: Partition, first: int
) -> Partition | None:
    """Return the largest number of groups, not fewer (but for merged ones) than in ``best``, or None if that fails."""

    def make(groups: int) -> Partition | None:
        return task.mended(proportional(task.codes, fragments.labels, groups), ground)

    asked = best.n_groups
    found = most_groups(most, make, best, first=first)
    return found if found is not best or best.n_groups == 1 else make(asked)


def _equal_shares(task: Task, fragments: Fragments, most: int) -> Partition:
    """Return the largest number of groups that share every fragment exactly and are valid."""
    divisor = fragments.divisor
    for groups in range(min(divisor, most), 1, -1):
        if divisor % groups == 0:
            partition = proportional(task.codes, fragments.labels, groups)
            if task.valid(partition).all():
                return partition
    return task.whole()
