"""Cases of a test of which the default suite runs the first few, and ``make test-slow`` the others."""

import pytest


def mostly_slow(cases, first=1):
    """Return cases for ``parametrize``: the first are always run, the others are slow."""
    cases = list(cases)
    return [*cases[:first], *(pytest.param(case, marks=pytest.mark.slow) for case in cases[first:])]
