"""For tests, ours and those of packages that extend Reveil.

:mod:`reveil.testing.strategies` has hypothesis strategies for tables; :mod:`reveil.testing.contracts` has what
every model and every grouper must satisfy, as functions over one object, so that a plugin's own test is a line::

    from reveil.testing.contracts import check_grouper

    def test_mine():
        check_grouper(MyGrouper())

The oracles are for series small enough to try everything: :mod:`reveil.testing.series` draws them,
:mod:`reveil.testing.worlds` counts all the worlds that are consistent with what was published, and
:mod:`reveil.testing.bayes` runs a publisher on all tables with all dice.
"""

from __future__ import annotations

from reveil.testing.bayes import EnumeratedDice, Posterior, all_histories, all_tables, outcomes, posterior
from reveil.testing.contracts import check_grouper, check_model
from reveil.testing.series import histories
from reveil.testing.strategies import Table, group_statistics, tables
from reveil.testing.worlds import Beliefs, Group, enumerate_members, enumerate_memberships, enumerate_worlds

__all__ = [
    "Beliefs",
    "EnumeratedDice",
    "Group",
    "Posterior",
    "Table",
    "all_histories",
    "all_tables",
    "check_grouper",
    "check_model",
    "enumerate_members",
    "enumerate_memberships",
    "enumerate_worlds",
    "group_statistics",
    "histories",
    "outcomes",
    "posterior",
    "tables",
]
