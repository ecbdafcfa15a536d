"""The worlds of a table, drawn once: l tables, one of them the truth, in which everybody has l different values.

**Why the truth cannot be told from the others.** Take a bucket of n persons of which n_v have the value v; its values
in their cycle are z_0 .. z_{n-1} (:mod:`~reveil.guarantees.worlds.arrangement`; they follow from the n_v). Permutations
rho_0 .. rho_{l-1} of the places are drawn with a chance that does not depend on the table, then r uniformly from 0 ..
l-1, and the persons are placed uniformly among the prod n_v! ways in which the person at place h has the value
z_{rho_r(h)}. World i gives the person at place h what belongs to z_{rho_i(h)}; so world r is the table T itself, and

    P(permutations, places, r | T) = P(permutations) (1/l) / prod n_v!

is the same number for every table T that is one of the l worlds drawn, with its own r. All that is ever published is
a function of the l worlds, of quasi values and of dice, not of r. So for whoever holds the l worlds equally likely
beforehand (they deal out the same values, and the other columns that go with them, to the same persons of a bucket),
each of them has the posterior 1/l given the set, and as no two give a person the same value, no link has more; a
mixture over sets stays at most 1/l.

The buckets must not depend on T beyond the n_v: see :func:`~reveil.guarantees.worlds.buckets.blind_buckets`.

The source fixes r, and places records nearest first. Then a table of the set would often have been placed in another
way, and whoever runs the algorithm on each of them finds the truth: persons at 1, 2, 3 with a, b, c and l = 2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reveil.guarantees.worlds.arrangement import arranged
from reveil.guarantees.worlds.buckets import blind_buckets, diverse_buckets
from reveil.guarantees.worlds.permutations import drawn
from reveil.guarantees.worlds.placing import placed_at_random, placed_greedily

if TYPE_CHECKING:
    from reveil.core.arrays import CodeArray
    from reveil.core.randomness import Dice
    from reveil.models.encoding import Codes

Tokens = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Worlds:
    """``tokens[i, record]`` is what the record's person has in world i: one of n tokens, each held once per world.

    A token stands for a value and whatever else goes with it. World ``truth`` is the table itself, so that a token's
    value is the value of the record that holds it there.
    """

    tokens: Tokens = field(repr=False)
    truth: int = field(repr=False)

    @property
    def sources(self) -> Tokens:
        """For each world and record, the record whose value its person has in that world."""
        return sources_of(self.tokens, self.truth)


def sources_of(tokens: Tokens, truth: int) -> Tokens:
    """Return, for each world and record, the record whose value its person has in that world."""
    owner = np.empty(tokens.shape[1], np.int32)
    owner[tokens[truth]] = np.arange(tokens.shape[1], dtype=np.int32)
    return owner[tokens]


def draw_worlds(
    codes: Codes,
    values: CodeArray,
    l: int,
    rng: Dice,
    *,
    blind: bool,
    greedy: bool,
    truth: int | None = None,
) -> Worlds:
    """Draw the worlds of some records; no value has more than one in l of them.

    ``truth``: which world is the true one, where other records of the table have theirs already.
    """
    bucket = blind_buckets(codes, values, l) if blind else diverse_buckets(codes, l, rng.child("buckets"))
    places = arranged(bucket, values, l)
    if greedy:
        points = np.empty((codes.n, len(codes.quasi)))
        for a, attribute in enumerate(codes.quasi):
            points[:, a] = attribute.positions[attribute.codes]
        truth = 0
        same = np.arange(codes.n, dtype=np.int32)
        rho = np.vstack([same[None], drawn(places.starts, l, rng.child("permutations"), first=1)])
        record_at = placed_greedily(bucket, values, places, points, l)
    else:
        rho = drawn(places.starts, l, rng.child("permutations"))
        truth = rng.child("truth").below(l) if truth is None else truth
        record_at = placed_at_random(bucket, values, places, rho[truth], rng.child("places"))
    tokens = np.empty_like(rho)
    tokens[:, record_at] = rho
    return Worlds(tokens, truth)
