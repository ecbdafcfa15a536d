"""For tests, ours and those of packages that extend Reveil.

:mod:`reveil.testing.strategies` has hypothesis strategies for tables; :mod:`reveil.testing.contracts` has what
every model and every grouper must satisfy, :mod:`reveil.testing.formats` what every format of files must, as functions
over one object, so that a plugin's own test is a line::

    from reveil.testing.contracts import check_grouper

    def test_mine():
        check_grouper(MyGrouper())

:mod:`reveil.testing.vaults` has the same for stores of vaults, :mod:`reveil.testing.engines` for engines.

The oracles are for series small enough to try everything: :mod:`reveil.testing.series` draws them,
:mod:`reveil.testing.worlds` counts all the worlds that are consistent with what was published, and
:mod:`reveil.testing.bayes` runs a publisher on all tables with all dice.

The oracles need nothing but Reveil. Strategies and contracts need hypothesis (``pip install 'reveil[testing]'``), and
are loaded when they are asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from reveil.testing.bayes import EnumeratedDice, Posterior, all_histories, all_tables, outcomes, posterior
from reveil.testing.beliefs import Beliefs, Group
from reveil.testing.engines import check_shards, check_work
from reveil.testing.formats import check_format
from reveil.testing.worlds import enumerate_members, enumerate_memberships, enumerate_worlds

if TYPE_CHECKING:
    from reveil.testing.contracts import check_grouper, check_model
    from reveil.testing.series import histories
    from reveil.testing.strategies import Table, group_statistics, tables
    from reveil.testing.vaults import check_vault

__all__ = [
    "Beliefs",
    "EnumeratedDice",
    "Group",
    "Posterior",
    "Table",
    "all_histories",
    "all_tables",
    "check_format",
    "check_grouper",
    "check_model",
    "check_shards",
    "check_vault",
    "check_work",
    "enumerate_members",
    "enumerate_memberships",
    "enumerate_worlds",
    "group_statistics",
    "histories",
    "outcomes",
    "posterior",
    "tables",
]

_DRAWN = {
    "Table": "strategies",
    "check_grouper": "contracts",
    "check_model": "contracts",
    "check_vault": "vaults",
    "group_statistics": "strategies",
    "histories": "series",
    "tables": "strategies",
}


def __getattr__(name: str) -> object:
    """Load what needs hypothesis when it is asked for, and say so where hypothesis is not installed."""
    if name not in _DRAWN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_DRAWN[name]}"), name)
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] != "hypothesis":
            raise
        raise ImportError(
            f"reveil.testing.{name} needs hypothesis, which is not installed: pip install 'reveil[testing]'"
        ) from None


def __dir__() -> list[str]:
    return sorted(__all__)
