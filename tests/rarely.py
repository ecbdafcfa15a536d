"""Cases and examples of which the default suite runs the first few, and ``make test-slow`` the others."""

import pytest

PART, FEW = 3, 8  # a third of the examples, but eight where so many are asked for


def mostly_slow(cases, first=1):
    """Return cases for ``parametrize``: the first are always run, the others are slow."""
    cases = list(cases)
    return [*cases[:first], *(pytest.param(case, marks=pytest.mark.slow) for case in cases[first:])]


def in_part(asked):
    """Return how many of the examples of a property the default suite tries."""
    return max(asked // PART, min(asked, FEW))
