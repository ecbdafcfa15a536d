"""Reveil publishes a table about people again and again without telling who has what.

Everything public is here; modules are loaded when first used, so that ``reveil --help`` answers at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reveil.adversary import Audit as Audit
    from reveil.adversary import audit as audit
    from reveil.analysis.measures import measure as measure
    from reveil.analysis.trend import trend as trend
    from reveil.core.errors import ConfigError as ConfigError
    from reveil.core.errors import DataError as DataError
    from reveil.core.errors import ExpressionError as ExpressionError
    from reveil.core.errors import FileError as FileError
    from reveil.core.errors import InfeasibleError as InfeasibleError
    from reveil.core.errors import InputError as InputError
    from reveil.core.errors import RefusedError as RefusedError
    from reveil.core.errors import ReveilError as ReveilError
    from reveil.core.errors import VaultError as VaultError
    from reveil.core.errors import VerificationError as VerificationError
    from reveil.grouping.groupers.anatomy import Anatomy as Anatomy
    from reveil.grouping.groupers.bang import BangA as BangA
    from reveil.grouping.groupers.fragmentation import Fragmentation as Fragmentation
    from reveil.grouping.groupers.microaggregation import Microaggregation as Microaggregation
    from reveil.grouping.groupers.mondrian import Mondrian as Mondrian
    from reveil.grouping.groupers.rplus_tree import RPlusTree as RPlusTree
    from reveil.grouping.groupers.sabre import Sabre as Sabre
    from reveil.grouping.groupers.safe_grid import SafeGrid as SafeGrid
    from reveil.grouping.groupers.stack_deal import StackDeal as StackDeal
    from reveil.guarantees.lifetime.global_guarantee import GlobalGuarantee as GlobalGuarantee
    from reveil.guarantees.lifetime.strategies import ConstantRatio as ConstantRatio
    from reveil.guarantees.lifetime.strategies import EvenSpread as EvenSpread
    from reveil.guarantees.lifetime.strategies import Geometric as Geometric
    from reveil.guarantees.refinement.refinement import Refinement as Refinement
    from reveil.guarantees.signatures.m_invariance import MInvariance as MInvariance
    from reveil.guarantees.signatures.tau_safety import TauSafety as TauSafety
    from reveil.guarantees.static.static import Static as Static
    from reveil.guarantees.worlds.possible_worlds import PossibleWorlds as PossibleWorlds
    from reveil.models.distinct_diversity import DistinctDiversity as DistinctDiversity
    from reveil.models.entropy_diversity import EntropyDiversity as EntropyDiversity
    from reveil.models.frequency_diversity import FrequencyDiversity as FrequencyDiversity
    from reveil.models.k_anonymity import KAnonymity as KAnonymity
    from reveil.models.m_uniqueness import MUniqueness as MUniqueness
    from reveil.models.recursive_diversity import RecursiveDiversity as RecursiveDiversity
    from reveil.models.t_closeness import TCloseness as TCloseness
    from reveil.releases.answers import Count as Count
    from reveil.releases.answers import Crosstab as Crosstab
    from reveil.releases.answers import Figure as Figure
    from reveil.releases.answers import ReleaseTrend as ReleaseTrend
    from reveil.releases.manifest import Manifest as Manifest
    from reveil.releases.promise import Promise as Promise
    from reveil.releases.release import Release as Release
    from reveil.reporting import report as report
    from reveil.reporting.exploring import explore as explore
    from reveil.series import Series as Series
    from reveil.series.indexing import BangIndex as BangIndex
    from reveil.series.publishing import anonymize as anonymize
    from reveil.tables.hierarchy import Taxonomy as Taxonomy
    from reveil.tables.schema import Schema as Schema

_HOME = {
    "Audit": "reveil.adversary",
    "audit": "reveil.adversary",
    "ConfigError": "reveil.core.errors",
    "DataError": "reveil.core.errors",
    "ExpressionError": "reveil.core.errors",
    "FileError": "reveil.core.errors",
    "InfeasibleError": "reveil.core.errors",
    "InputError": "reveil.core.errors",
    "RefusedError": "reveil.core.errors",
    "ReveilError": "reveil.core.errors",
    "VaultError": "reveil.core.errors",
    "VerificationError": "reveil.core.errors",
    "Anatomy": "reveil.grouping.groupers.anatomy",
    "BangA": "reveil.grouping.groupers.bang",
    "Fragmentation": "reveil.grouping.groupers.fragmentation",
    "Microaggregation": "reveil.grouping.groupers.microaggregation",
    "Sabre": "reveil.grouping.groupers.sabre",
    "Mondrian": "reveil.grouping.groupers.mondrian",
    "StackDeal": "reveil.grouping.groupers.stack_deal",
    "RPlusTree": "reveil.grouping.groupers.rplus_tree",
    "SafeGrid": "reveil.grouping.groupers.safe_grid",
    "ConstantRatio": "reveil.guarantees.lifetime.strategies",
    "EvenSpread": "reveil.guarantees.lifetime.strategies",
    "Geometric": "reveil.guarantees.lifetime.strategies",
    "GlobalGuarantee": "reveil.guarantees.lifetime.global_guarantee",
    "MInvariance": "reveil.guarantees.signatures.m_invariance",
    "PossibleWorlds": "reveil.guarantees.worlds.possible_worlds",
    "Refinement": "reveil.guarantees.refinement.refinement",
    "Static": "reveil.guarantees.static.static",
    "TauSafety": "reveil.guarantees.signatures.tau_safety",
    "Taxonomy": "reveil.tables.hierarchy",
    "BangIndex": "reveil.series.indexing",
    "DistinctDiversity": "reveil.models.distinct_diversity",
    "EntropyDiversity": "reveil.models.entropy_diversity",
    "FrequencyDiversity": "reveil.models.frequency_diversity",
    "KAnonymity": "reveil.models.k_anonymity",
    "MUniqueness": "reveil.models.m_uniqueness",
    "RecursiveDiversity": "reveil.models.recursive_diversity",
    "TCloseness": "reveil.models.t_closeness",
    "anonymize": "reveil.series.publishing",
    "measure": "reveil.analysis.measures",
    "Count": "reveil.releases.answers",
    "Crosstab": "reveil.releases.answers",
    "Figure": "reveil.releases.answers",
    "ReleaseTrend": "reveil.releases.answers",
    "trend": "reveil.analysis.trend",
    "Manifest": "reveil.releases.manifest",
    "Promise": "reveil.releases.promise",
    "Release": "reveil.releases.release",
    "explore": "reveil.reporting.exploring",
    "report": "reveil.reporting",
    "Schema": "reveil.tables.schema",
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
