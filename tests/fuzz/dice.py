"""The dice of a case: the same for the same seed, number and family."""

import zlib

import numpy as np


class Dice:
    """Draws plain Python values."""

    def __init__(self, *seed):
        self.rng = np.random.default_rng([zlib.crc32(str(part).encode()) for part in seed])

    def below(self, n):
        return int(self.rng.integers(n)) if n > 0 else 0

    def number(self, first, last):
        """Draw a whole number from ``first`` up to and with ``last``."""
        return int(self.rng.integers(first, last, endpoint=True))

    def share(self):
        return float(self.rng.random())

    def chance(self, p):
        return self.share() < p

    def pick(self, things):
        """Draw one of the things; of a dictionary from a thing to its weight, by weight."""
        if isinstance(things, dict):
            weights = np.array(list(things.values()), float)
            return list(things)[int(self.rng.choice(len(things), p=weights / weights.sum()))]
        return things[self.below(len(things))]

    def some(self, things, most=None):
        """Draw some of the things, each once, in random order; perhaps none."""
        things = list(things)
        many = self.number(0, len(things) if most is None else min(most, len(things)))
        return [things[i] for i in self.rng.permutation(len(things))[:many]]
