"""Reveil publishes a table about people again and again without telling who has what.

Everything public is here; modules are loaded when first used, so that ``reveil --help`` answers at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reveil.adversary import Audit as Audit
    from reveil.adversary import audit as audit
    from reveil.budgets.strategies import ConstantRatio as ConstantRatio
    from reveil.budgets.strategies import Geometric as Geometric
    from reveil.errors import ConfigError as ConfigError
    from reveil.errors import DataError as DataError
    from reveil.errors import ExpressionError as ExpressionError
    from reveil.errors import FileError as FileError
    from reveil.errors import InfeasibleError as InfeasibleError
    from reveil.errors import InputError as InputError
    from reveil.errors import RefusedError as RefusedError
    from reveil.errors import ReveilError as ReveilError
    from reveil.errors import VaultError as VaultError
    from reveil.errors import VerificationError as VerificationError
    from reveil.groupers.anatomy import Anatomy as Anatomy
    from reveil.groupers.bang import BangA as BangA
    from reveil.groupers.fragmentation import Fragmentation as Fragmentation
    from reveil.groupers.microaggregation import Microaggregation as Microaggregation
    from reveil.groupers.mondrian import Mondrian as Mondrian
    from reveil.groupers.rplus_tree import RPlusTree as RPlusTree
    from reveil.groupers.sabre import Sabre as Sabre
    from reveil.groupers.safe_grid import SafeGrid as SafeGrid
    from reveil.groupers.stack_deal import StackDeal as StackDeal
    from reveil.guarantees.global_guarantee import GlobalGuarantee as GlobalGuarantee
    from reveil.guarantees.m_invariance import MInvariance as MInvariance
    from reveil.guarantees.possible_worlds import PossibleWorlds as PossibleWorlds
    from reveil.guarantees.refinement import Refinement as Refinement
    from reveil.guarantees.static import Static as Static
    from reveil.guarantees.tau_safety import TauSafety as TauSafety
    from reveil.hierarchy import Taxonomy as Taxonomy
    from reveil.indexing import BangIndex as BangIndex
    from reveil.measures import measure as measure
    from reveil.models.distinct_diversity import DistinctDiversity as DistinctDiversity
    from reveil.models.entropy_diversity import EntropyDiversity as EntropyDiversity
    from reveil.models.frequency_diversity import FrequencyDiversity as FrequencyDiversity
    from reveil.models.k_anonymity import KAnonymity as KAnonymity
    from reveil.models.m_uniqueness import MUniqueness as MUniqueness
    from reveil.models.recursive_diversity import RecursiveDiversity as RecursiveDiversity
    from reveil.models.t_closeness import TCloseness as TCloseness
    from reveil.publishing import anonymize as anonymize
    from reveil.queries import Count as Count
    from reveil.release import Release as Release
    from reveil.reporting import report as report
    from reveil.schema import Schema as Schema
    from reveil.series import Series as Series

_HOME = {
    "Audit": "reveil.adversary",
    "audit": "reveil.adversary",
    "ConfigError": "reveil.errors",
    "DataError": "reveil.errors",
    "ExpressionError": "reveil.errors",
    "FileError": "reveil.errors",
    "InfeasibleError": "reveil.errors",
    "InputError": "reveil.errors",
    "RefusedError": "reveil.errors",
    "ReveilError": "reveil.errors",
    "VaultError": "reveil.errors",
    "VerificationError": "reveil.errors",
    "Anatomy": "reveil.groupers.anatomy",
    "BangA": "reveil.groupers.bang",
    "Fragmentation": "reveil.groupers.fragmentation",
    "Microaggregation": "reveil.groupers.microaggregation",
    "Sabre": "reveil.groupers.sabre",
    "Mondrian": "reveil.groupers.mondrian",
    "StackDeal": "reveil.groupers.stack_deal",
    "RPlusTree": "reveil.groupers.rplus_tree",
    "SafeGrid": "reveil.groupers.safe_grid",
    "ConstantRatio": "reveil.budgets.strategies",
    "Geometric": "reveil.budgets.strategies",
    "GlobalGuarantee": "reveil.guarantees.global_guarantee",
    "MInvariance": "reveil.guarantees.m_invariance",
    "PossibleWorlds": "reveil.guarantees.possible_worlds",
    "Refinement": "reveil.guarantees.refinement",
    "Static": "reveil.guarantees.static",
    "TauSafety": "reveil.guarantees.tau_safety",
    "Taxonomy": "reveil.hierarchy",
    "BangIndex": "reveil.indexing",
    "DistinctDiversity": "reveil.models.distinct_diversity",
    "EntropyDiversity": "reveil.models.entropy_diversity",
    "FrequencyDiversity": "reveil.models.frequency_diversity",
    "KAnonymity": "reveil.models.k_anonymity",
    "MUniqueness": "reveil.models.m_uniqueness",
    "RecursiveDiversity": "reveil.models.recursive_diversity",
    "TCloseness": "reveil.models.t_closeness",
    "anonymize": "reveil.publishing",
    "measure": "reveil.measures",
    "Count": "reveil.queries",
    "Release": "reveil.release",
    "report": "reveil.reporting",
    "Schema": "reveil.schema",
    "Series": "reveil.series",
}

__all__ = sorted(_HOME)  # noqa: PLE0605  (one list of names, in one place)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'reveil' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *_HOME]
