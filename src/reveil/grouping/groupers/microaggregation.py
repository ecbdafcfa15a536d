"""Microaggregation towards t-closeness: clusters of near records that are also near the table."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from reveil.core.errors import ConfigError
from reveil.grouping.groupers._halving import Ground
from reveil.grouping.groupers._towards_t import Task, TowardsT, most_groups
from reveil.grouping.groupers.stack_deal import proportional

if TYPE_CHECKING:
    from reveil.core.json_values import JSON
    from reveil.core.randomness import Dice
    from reveil.models.statistics import Partition

Variant = Literal["k-first", "t-first"]

LARGER = (1, 2, 4)  # sizes of clusters to try, in smallest sizes
PARTS_OF_T = (1.0, 0.8)  # shares of t to work towards
ENOUGH = 1.2  # mean size of a record's group, in sizes of clusters, with which the search ends


@dataclass(frozen=True, kw_only=True)
class Microaggregation(TowardsT):
    """Clusters of near records, built with an eye on t.

    ``variant="k-first"``: clusters of the smallest size that the model allows, as MDAV builds them (the record farthest
    from the mean takes its nearest ones, then the record farthest from that one), on codes scaled to 0..1. While a
    cluster is not within t, the nearest records outside are swapped in for members, where that brings it nearer.
    Clusters that are still not valid swap records with each other, and are then merged with neighbours along a
    space-filling curve until they are. If that makes large groups, clusters of twice and four times the size are tried.
    Clusters are sought inside parts of about 2,048 near records with the table's values, so that time grows with the
    number of records and not with its square. Where values depend much on the quasi values, the last clusters of a
    part get what nobody wanted, and merging costs much: the source says so, too.

    ``variant="t-first"``: the records in the order of their sensitive value are cut into as many equal stretches as a
    group has records, and each group takes one record of each, near ones together. The size is the smallest, found by
    bisection, at which all groups are valid, and at least the one the model demands.

    Guarantee: every group satisfies the model; the model itself has judged every one of them.
    Assumes: the model is union-closed; ``t-first`` needs a t in exactly one sensitive attribute. Without a t,
    ``k-first`` is plain microaggregation.
    Does not protect against: an adversary who knows the algorithm: swaps, merges and sizes depend on values (the
    *counted* grade). What the model does not protect against, see there.
    Source: Soria-Comas, Domingo-Ferrer, Sanchez, Martinez 2015; 002, section 2.6.5.
    """

    name: ClassVar[str] = "microaggregation"
    variant: Variant = "k-first"
    recode: str = "boxes"

    def __post_init__(self) -> None:
        self.check_recode()
        if self.variant not in get_args(Variant):
            known = ", ".join(get_args(Variant))
            raise ConfigError(f"microaggregation: unknown variant {self.variant!r}", hint=f"Known: {known}.")

    @classmethod
    def examples(cls) -> tuple[Microaggregation, ...]:
        """Return both variants."""
        return cls(), cls(variant="t-first")

    def parameters(self) -> dict[str, JSON]:
        """Return the parameters under their config names."""
        return {"variant": self.variant, "recode": self.recode}

    @property
    def most_distances(self) -> int | None:
        """One by which records are sorted; any number, or none, where nearness comes first."""
        return 1 if self.variant == "t-first" else None

    def propose(self, task: Task, rng: Dice) -> Partition:  # noqa: ARG002
        """Build the clusters of the variant."""
        task.check_asked(self)
        ground = Ground(task.codes)
        return _nearest_first(task, ground) if self.variant == "k-first" else _values_first(task, ground)


def _nearest_first(task: Task, ground: Ground) -> Partition:
    """Cluster with swaps and merge what is not valid; of several sizes and shares of t to work towards, the best.

    Clusters of the smallest size, right at the limit, leave no room for the last ones, and merging these with their
    neighbours helps little. So larger clusters and stricter limits are tried, until hardly anything must be merged.
    """
    least = task.smallest_size()
    best = task.whole()
    for larger, share in product(LARGER, PARTS_OF_T):
        size = min(larger * least, task.codes.n)
        found = task.merged(task.repaired(task.clustered(ground, size, share))[0], ground)
        best = min(best, found, key=lambda p: int(np.sum(p.sizes**2)))
        if np.sum(best.sizes**2) <= ENOUGH * task.codes.n * size:
            break
    return best


def _values_first(task: Task, ground: Ground) -> Partition:
    """Cut the records, by value, into stretches of as many records as there are groups, and deal each out."""
    rank = np.empty(task.codes.n, np.int64)
    rank[np.lexsort((ground.place, task.places[:, 0]))] = np.arange(task.codes.n)

    def make(groups: int) -> Partition | None:
        partition = proportional(task.codes, rank // groups, groups)
        return partition if task.valid(partition).all() else None

    return most_groups(task.codes.n // max(task.model.minimum_size, 1), make, task.whole())
