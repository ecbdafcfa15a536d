"""For tests, ours and those of packages that extend Reveil.

:mod:`reveil.testing.strategies` has hypothesis strategies for tables; :mod:`reveil.testing.contracts` has what
every model and every grouper must satisfy, as functions over one object, so that a plugin's own test is a line::

    from reveil.testing.contracts import check_grouper

    def test_mine():
        check_grouper(MyGrouper())
"""

from __future__ import annotations

from reveil.testing.contracts import check_grouper, check_model
from reveil.testing.strategies import Table, group_statistics, tables

__all__ = ["Table", "check_grouper", "check_model", "group_statistics", "tables"]
