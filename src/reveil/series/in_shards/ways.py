"""Which way a guarantee has whose people are not in one memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reveil.guarantees.refinement.refinement import Refinement
from reveil.guarantees.signatures.signature_based import SignatureGuarantee
from reveil.series.in_shards.refining import LargeRefinement
from reveil.series.in_shards.release import LargeSignatures

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.base import Guarantee
    from reveil.series.alarms import Alarms
    from reveil.series.in_shards.reading import OpenedTable
    from reveil.series.in_shards.way import LargeRelease
    from reveil.vault import DuckDBVault


def large_release(
    vault: DuckDBVault,
    table: OpenedTable,
    name: str | None,
    settings: Mapping[str, JSON],
    archive: int | None,
    alarms: Alarms,
    guarantee: Guarantee,
    method: Grouper | None,
) -> LargeRelease:
    """Return the way of the next release; its guarantee was asked whether it can be."""
    if isinstance(guarantee, Refinement):
        return LargeRefinement(vault, table, name, settings, archive, alarms, guarantee, method)
    assert isinstance(guarantee, SignatureGuarantee)  # noqa: S101
    return LargeSignatures(vault, table, name, settings, archive, alarms, guarantee)
