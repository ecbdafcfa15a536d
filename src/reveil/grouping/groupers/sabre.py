"""SABRE: buckets of near sensitive values, and groups that take their share of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from reveil.grouping.groupers._halving import Ground, halve_while
from reveil.grouping.groupers._towards_t import Task, TowardsT

if TYPE_CHECKING:
    from reveil.core.json_values import JSON
    from reveil.core.randomness import Dice
    from reveil.models.statistics import Partition


@dataclass(frozen=True, kw_only=True)
class Sabre(TowardsT):
    """Puts the values of one sensitive attribute into buckets and redistributes the buckets in proportion.

    *Bucketisation*: each value is in one bucket, and a bucket holds neighbours (in their order, in the taxonomy, or in
    the order of their names). Starting with one bucket, the bucket is cut whose cut lowers the bound on the distance
    most, until groups with their share of each bucket must be within t: the fragmentation of one attribute
    (:mod:`reveil.grouping.fragments`). *Redistribution*: everybody is one group; a group is halved, near records
    together, so that both halves take half of each bucket as far as whole records allow, while both halves satisfy the
    model. Inside a bucket nearness alone decides. The source sizes groups by a bound before it fills them; here the
    groups themselves are judged, which lets more of them through.

    Guarantee: every group satisfies the model; the model itself has judged every one of them.
    Assumes: the model asks for a t in exactly one sensitive attribute and is union-closed.
    Does not protect against: an adversary who knows the algorithm: dealing and halving look at values (the *counted*
    grade). What t-closeness does not protect against, see there.
    Source: Cao, Karras, Kalnis, Tan 2011; 002, section 2.6.5.
    """

    name: ClassVar[str] = "sabre"
    recode: str = "boxes"

    def __post_init__(self) -> None:
        self.check_recode()

    @classmethod
    def examples(cls) -> tuple[Sabre, ...]:
        """Return the one way of working."""
        return (cls(),)

    def parameters(self) -> dict[str, JSON]:
        """Return the parameters under their config names."""
        return {"recode": self.recode}

    @property
    def most_distances(self) -> int:
        """One, whose values are put into buckets."""
        return 1

    def propose(self, task: Task, rng: Dice) -> Partition:  # noqa: ARG002
        """Make the buckets, then halve."""
        task.check_asked(self)
        least = max(task.model.minimum_size, 1)
        return halve_while(Ground(task.codes), task.fragments().labels, task.valid, least)
