"""A table of a series, read into shards: in the order of its pseudonyms, as the series reads it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import ConfigError
from reveil.engines.settings import LOCAL
from reveil.guarantees.refinement.refinement import Refinement
from reveil.guarantees.signatures.signature_based import SignatureGuarantee
from reveil.models.counting import COUNTS, counts_together, packed_counts
from reveil.series.column_types import with_known_edges, with_known_spellings, with_known_types
from reveil.series.in_shards.ordered import OrderedTable, in_pseudonym_order, read_bucket
from reveil.series.judging import JUDGED
from reveil.series.persons import KIND
from reveil.series.release_context import Submission
from reveil.tables.pieces import in_one_spelling, pieces_of, reason_against_pieces
from reveil.tables.schema import Role
from reveil.vault.protocol import ADOPTED
from reveil.vault.requests import COLUMNS, WHERE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reveil.core.json_values import JSON
    from reveil.engines.settings import EngineSettings
    from reveil.engines.shards import Engine
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.base import Guarantee
    from reveil.models.domains import ValueCounts
    from reveil.tables.pieces import TablePieces
    from reveil.tables.schema import Schema
    from reveil.tables.snapshot import Snapshot
    from reveil.vault import Vault

_MOST_TEXTS = 10_000_000  # different spellings that are held at once


@dataclass(frozen=True)
class LargeTable:
    """A table of so many rows that is to be worked on in shards, if nothing in the vault is against it."""

    settings: EngineSettings
    data: str | Path
    rows: int

    def check(self, reason: str | None) -> bool:
        """Return whether it is worked on in shards; an engine that was asked for by name is refused with the reason."""
        if reason is not None and self.settings.kind != LOCAL:
            raise cannot_be_used(self.settings.kind, reason)
        return reason is None


def cannot_be_used(kind: str, reason: str) -> ConfigError:
    """Return the refusal of an engine that cannot do what is asked for."""
    return ConfigError(
        f"engine = {kind!r} cannot be used here: {reason}",
        hint='kind = "local" under [engine], or --engine local, does it on this machine.',
    )


def reason_against_series(guarantee: Guarantee, method: Grouper | None, schema: Schema, vault: object) -> str | None:
    """Say why the releases of a series are made in one memory, or None where a table may be worked on in shards."""
    if not isinstance(vault, Path):
        return "only a vault in a plain folder is read and written part by part"
    if isinstance(guarantee, Refinement):
        reason = guarantee.reason_against_shards(method)
    elif isinstance(guarantee, SignatureGuarantee):
        reason = guarantee.reason_against_shards(schema)
        if reason is None and method is not None:
            reason = "groups that follow the regions of a BANG file look at all records at once"
    else:
        reason = f"under {guarantee.kind!r}, what a vault remembers of everybody is compared in one memory"
    if reason is not None:
        return reason
    changed = [column.name for column in schema.columns if column.coarse is not None or column.bins is not None]
    if changed:
        return f"column {changed[0]!r} is made coarser, and its values are compared with what they were before"
    return reason_against_pieces(schema)


def reason_against_vault(vault: Vault) -> str | None:
    """Say why the next release of a series is made in one memory, by what is in its vault."""
    if any(row.state == ADOPTED for row in vault.releases()):
        return "a release was adopted, and what it told is looked at for all people at once"
    if int(vault.setting(JUDGED) or 0) < vault.head():
        return "the judge has no record of the releases so far yet"
    return None


@dataclass(frozen=True)
class CountBuckets:
    """Work: which values the columns of some buckets have, and how often."""

    example: Snapshot

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count the buckets that a shard lists."""
        found: list[tuple[str, int, bytes]] = []
        for bucket in table.iter_rows(named=True):
            if bucket["rows"]:
                found += packed_counts(read_bucket(bucket, self.example)[0])
        return pl.DataFrame(found, schema=COUNTS, orient="row")


@dataclass(frozen=True)
class OpenedTable:
    """A large table in an engine: its buckets, what is submitted with it, and the folder for what is worked on."""

    engine: Engine
    settings: EngineSettings
    pieces: TablePieces = field(repr=False)
    ordered: OrderedTable
    submission: Submission
    folder: Path

    @classmethod
    def read(
        cls, engine: Engine, large: LargeTable, vault: Vault, schema: Schema, declared: Mapping[str, Iterable[str]]
    ) -> OpenedTable:
        """Read a table as the series reads it: known types and spellings, in the order of pseudonyms."""
        known = with_known_types(with_known_edges(schema, vault), vault.attributes())
        known = with_known_spellings(known, vault, declared)
        rows = min(large.settings.shard_rows, engine.shard_rows)
        pieces = pieces_of(large.data, known, rows)
        pieces = in_one_spelling(pieces, pieces.shards(engine), _MOST_TEXTS)
        folder = engine.scratch / "series"
        folder.mkdir()
        ordered = in_pseudonym_order(engine, pieces, vault.key, vault.setting(KIND), vault.attributes(), folder)
        names = sorted(ordered.schema.names(Role.QUASI, Role.SENSITIVE, Role.PLAIN))
        asked: dict[str, JSON] = {COLUMNS: None, WHERE: None}
        none = np.zeros(0, np.int64)
        submission = Submission(ordered.example, asked, asked, none, none, ordered.digest(names), ordered.kind)
        return cls(engine, large.settings, pieces, ordered, submission, folder)

    def counts(self) -> dict[str, ValueCounts]:
        """Return which values the columns have, and how often."""
        counted = self.ordered.shards(self.engine).map(CountBuckets(self.ordered.example), COUNTS)
        return counts_together(counted, self.settings.held_bytes)
