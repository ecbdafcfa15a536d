"""Taking a release as told that was published before, by any tool."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from reveil.codes import encode
from reveil.errors import DataError
from reveil.foreign import read_release
from reveil.linking import place
from reveil.manifest import digest_of_bytes, manifest_path
from reveil.series.backups import refuse_if_out_of_order
from reveil.series.telling import Job, Telling
from reveil.signatures.sets import Sets
from reveil.snapshot import canonical_text
from reveil.vault.protocol import ADOPTED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.guarantees.base import Guarantee
    from reveil.release import Release
    from reveil.statistics import CodeArray
    from reveil.vault import Vault


@dataclass(frozen=True)
class Adopted:
    """What was found in a release that was taken as told.

    ``persons`` were recognised in it, ``unpublished`` were not; ``ambiguous`` could be in more than one group, and one
    was chosen. ``unsafe_groups`` break the guarantee already: of their persons, ``kept`` go on with the values they
    were told, and ``held_back`` rest, because they were told fewer than the guarantee needs.
    """

    release: int
    persons: int
    unpublished: int
    ambiguous: int
    groups: int
    unsafe_groups: int
    kept: int
    held_back: int

    def sentences(self) -> list[str]:
        """Say it in words."""
        found = [
            f"adopted as release {self.release}: {self.persons:,} persons recognised in {self.groups:,} groups"
            + (f", {self.unpublished:,} not published" if self.unpublished else "")
        ]
        if self.ambiguous:
            found.append(f"{self.ambiguous:,} persons could be in more than one group; one that fits was taken")
        if self.unsafe_groups:
            found.append(
                f"{self.unsafe_groups:,} groups were not safe when they were published: of their persons, "
                f"{self.kept:,} go on with the values they were told, and {self.held_back:,} are held back from now on"
            )
        return found


def adopt(vault: Vault, job: Job, source: object, guarantee: Guarantee, settings: Mapping[str, Any]) -> Adopted:
    """Find everybody's group, remember its values as told, and record the release."""
    schema = job.snapshot.schema
    if schema.person is None:
        raise DataError("a release can be adopted only where a person column is declared")
    types = {name: job.snapshot.frame.schema[name] for name in schema.sensitive}
    release = read_release(source, schema, types=types)
    refuse_if_out_of_order(vault, release.manifest)
    codes = encode(job.snapshot)
    telling = Telling.of(vault, job, codes, guarantee)
    placed = place(release, codes, job.snapshot.frame.select(schema.sensitive))
    if not placed.placed:
        raise DataError(
            "nobody of this snapshot is in this release",
            hint="The snapshot must be the table that the release was made of.",
        )
    found = _Found.of(release, placed.groups, telling, schema.sensitive[0]) if guarantee.remembers else None
    path = Path(os.fspath(source)) if isinstance(source, str | os.PathLike) else None
    manifest, digest = _manifest(path, release, telling.memory.release)
    least = getattr(guarantee, "m", 1)
    counts = _counts(release, found, least) if found is not None else (0, 0, 0)
    change = telling.change(
        vault,
        state=ADOPTED,
        manifest=manifest,
        told=None if found is None else found.told,
        replaces=False,
        placements=None,
        facts={"counterfeits": 0, "withheld": 0, "guarantee": release.manifest["guarantee"]},
        settings=settings,
        path=path,
        manifest_digest=digest,
        more=None if found is None else found.more,
    )
    vault.prepare(change)
    there = placed.groups >= 0
    groups = release.classes if release.groups is None else release.groups
    return Adopted(
        release=telling.memory.release,
        persons=int(there.sum()),
        unpublished=int((~there).sum()),
        ambiguous=placed.ambiguous,
        groups=len(np.unique(groups)),
        unsafe_groups=counts[0],
        kept=counts[1],
        held_back=counts[2],
    )


@dataclass(frozen=True)
class _Found:
    """The groups of a release as sets of lasting codes; ``more`` are published values that the vault never saw."""

    told: pl.DataFrame
    more: pl.Series
    sets: Sets
    groups: CodeArray
    of_record: CodeArray

    @classmethod
    def of(cls, release: Release, of_record: CodeArray, telling: Telling, sensitive: str) -> _Found:
        """Give the values of each group their codes, new ones behind all that are known."""
        groups, values = release.group_values()
        texts = canonical_text(values[sensitive]).rename("value")
        known = pl.DataFrame(
            {"value": telling.memory.texts.gather(telling.memory.known).rename("value"), "code": telling.memory.known}
        )
        joined = texts.to_frame().join(known, on="value", how="left", maintain_order="left", nulls_equal=True)
        more = texts.filter(joined["code"].is_null()).unique().sort()
        first = len(telling.memory.texts)
        added = pl.DataFrame({"value": more, "code": np.arange(first, first + len(more), dtype=np.int32)})
        every = pl.concat([known, added.cast(dict(known.schema))])  # type: ignore[arg-type]
        code = texts.to_frame().join(every, on="value", how="left", maintain_order="left", nulls_equal=True)["code"]
        pairs = pl.DataFrame({"group": groups, "code": code}).unique().sort("group", "code")
        numbers, starts = np.unique(pairs["group"].to_numpy(), return_index=True)
        sets = Sets(np.append(starts, pairs.height).astype(np.int64), pairs["code"].to_numpy().astype(np.int32))
        there = np.flatnonzero(of_record >= 0).astype(np.int32)
        own = np.searchsorted(numbers, of_record[there])
        told = pl.DataFrame({"record": there, "members": sets.texts().gather(own)})
        return cls(told, more, sets, numbers.astype(np.int32), of_record)


def _counts(release: Release, found: _Found, m: int) -> tuple[int, int, int]:
    """Count the groups that are not m-unique, and their persons who go on or rest."""
    groups, _ = release.group_values()
    rows = np.bincount(np.searchsorted(found.groups, groups), minlength=len(found.sets))
    unsafe = (rows != found.sets.sizes) | (found.sets.sizes < m)
    own = np.searchsorted(found.groups, found.of_record[found.of_record >= 0])
    few = found.sets.sizes[own] < m
    return int(unsafe.sum()), int((unsafe[own] & ~few).sum()), int(few.sum())


def _manifest(path: Path | None, release: Release, number: int) -> tuple[dict[str, Any], str | None]:
    """Return the manifest to remember, and the digest of the one on disk, if there is one of Reveil's."""
    if path is not None and "reveil" in release.manifest and manifest_path(path).is_file():
        raw = manifest_path(path).read_bytes()
        described = json.loads(raw)
        if "created" in described:
            return described, digest_of_bytes(raw)
    return {**release.manifest, "release": number, "created": datetime.now(UTC).isoformat(timespec="seconds")}, None
