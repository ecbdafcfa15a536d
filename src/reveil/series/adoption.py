"""Taking a release as told that was published before, by any tool."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from reveil.alike import one_spelling, spelled_as
from reveil.codes import encode
from reveil.errors import DataError, ReveilError
from reveil.foreign import read_release
from reveil.linking import place
from reveil.manifest import digest_of_bytes, manifest_path
from reveil.respelling import with_spellings
from reveil.series.backups import refuse_if_out_of_order
from reveil.series.telling import Job, Telling
from reveil.signatures.sets import Sets
from reveil.snapshot import canonical_text
from reveil.vault.protocol import ADOPTED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reveil.guarantees.base import Guarantee, Prepared
    from reveil.release import Release
    from reveil.snapshot import Snapshot
    from reveil.statistics import BoolArray, CodeArray
    from reveil.vault import Vault
    from reveil.vault.protocol import Entries


@dataclass(frozen=True)
class Adopted:
    """What was found in a release that was taken as told.

    ``persons`` were recognised in it, ``unpublished`` were not; ``ambiguous`` could be in more than one group: they
    rest from then on. ``unsafe_groups`` break the guarantee already: of their persons, ``kept`` go on with the values
    they were told, and ``held_back`` rest, because they were told fewer than the guarantee needs; under a guarantee in
    which nobody rests, they are ``renewed``. ``crossed`` were told some of these values before, and others: they rest,
    too. ``strangers`` are published rows that fit nobody of the snapshot. ``exact``: it is a release of this very
    series that the vault did not know, and nothing had to be guessed.
    """

    release: int
    persons: int
    unpublished: int
    ambiguous: int
    groups: int
    unsafe_groups: int
    kept: int
    held_back: int
    renewed: int = 0
    crossed: int = 0
    strangers: int = 0
    exact: bool = False

    def sentences(self) -> list[str]:
        """Say it in words."""
        found = [
            f"adopted as release {self.release}: {self.persons:,} persons recognised in {self.groups:,} groups"
            + (f", {self.unpublished:,} not published" if self.unpublished else "")
        ]
        if self.strangers:
            found.append(
                f"{self.strangers:,} published rows fit nobody of this snapshot: is it the one that was published?"
            )
        if self.ambiguous:
            found.append(
                f"{self.ambiguous:,} persons could be in more than one group"
                + ("; one that fits was taken" if self.renewed else ", and are held back from now on")
            )
        if self.unsafe_groups:
            found.append(
                f"{self.unsafe_groups:,} groups were not safe when they were published: of their persons, "
                f"{self.kept:,} go on with the values they were told, and "
                + (f"{self.renewed:,} get others" if self.renewed else f"{self.held_back:,} are held back from now on")
            )
        if self.crossed:
            found.append(
                f"{self.crossed:,} persons were told some of their group's values before, beside others: what both say "
                "together is no longer safe, and they are held back from now on"
            )
        return found


def adopt(
    vault: Vault,
    job: Job,
    source: object,
    guarantee: Guarantee,
    settings: Mapping[str, Any],
    remade: Callable[[Guarantee], tuple[Prepared, Telling]],
) -> Adopted:
    """Find everybody's group, remember its values as told, and record the release.

    ``remade`` publishes the snapshot once more in memory: a release of this very series comes out as it was.
    """
    schema = job.snapshot.schema
    if schema.person is None:
        raise DataError("a release can be adopted only where a person column is declared")
    types = {name: job.snapshot.frame.schema[name] for name in schema.sensitive}
    release = read_release(source, schema, types=types)
    refuse_if_out_of_order(vault, release.manifest)
    path = Path(os.fspath(source)) if isinstance(source, str | os.PathLike) else None
    own = release.manifest.get("series_id") == vault.series_id and guarantee.remembers
    again = _remade(release, guarantee, remade) if own else None
    if again is not None:
        return _as_it_was(vault, release, *again, settings=settings, path=path)
    job, release = _in_one_spelling(job, release)
    codes = encode(job.snapshot)
    telling = Telling.of(vault, job, codes, guarantee)
    placed = place(release, codes, job.snapshot.frame.select(schema.sensitive))
    if not placed.placed:
        raise DataError(
            "nobody of this snapshot is in this release",
            hint="The snapshot must be the table that the release was made of.",
        )
    there = placed.groups >= 0
    own_books = guarantee.adopted(telling.memory, job.snapshot, release, placed.groups, placed.several)
    if own_books is not None:
        entries, more = own_books.entries, own_books.more
        _record(vault, telling, release, settings, path, told=None, entries=entries, replaces=False, more=more)
        return Adopted(
            release=telling.memory.release,
            persons=int(there.sum()),
            unpublished=int((~there).sum()),
            ambiguous=placed.ambiguous,
            groups=_groups(release),
            unsafe_groups=own_books.unsafe_groups,
            kept=0,
            held_back=own_books.held_back,
            strangers=_strangers(release, placed.placed),
        )
    found = _Found.of(release, placed.groups, telling, schema.sensitive[0]) if guarantee.remembers else None
    last_only = bool(getattr(guarantee, "last_only", False))
    least = getattr(guarantee, "m", 1)
    counts = _counts(release, found, least) if found is not None else (0, 0, 0)
    told, crossed = None, 0
    if found is not None:
        told = found.told.filter(found.own_sizes >= least) if last_only else found.told
        if not last_only:
            narrow = found.crossed(telling)
            told, crossed = pl.concat([told, narrow, found.guessed(placed.several)]), narrow.height
    _record(
        vault,
        telling,
        release,
        settings,
        path,
        told=told,
        replaces=last_only,
        more=None if found is None else found.more,
    )
    return Adopted(
        release=telling.memory.release,
        persons=int(there.sum()),
        unpublished=int((~there).sum()),
        ambiguous=placed.ambiguous,
        groups=_groups(release),
        unsafe_groups=counts[0],
        kept=counts[1],
        held_back=0 if last_only else counts[2],
        renewed=counts[2] if last_only else 0,
        crossed=crossed,
        strangers=_strangers(release, placed.placed),
    )


def _record(
    vault: Vault,
    telling: Telling,
    release: Release,
    settings: Mapping[str, Any],
    path: Path | None,
    *,
    told: pl.DataFrame | None,
    entries: tuple[Entries, ...] = (),
    replaces: bool,
    more: pl.Series | None = None,
    facts: Mapping[str, Any] | None = None,
) -> None:
    manifest, digest = _manifest(path, release, telling.memory.release)
    change = telling.change(
        vault,
        state=ADOPTED,
        manifest=manifest,
        told=told,
        entries=entries,
        replaces=replaces,
        placements=None,
        facts={
            "counterfeits": release.manifest["counterfeits"]["total"],
            "withheld": release.manifest["withheld"],
            **(facts or {}),
            "guarantee": release.manifest["guarantee"],
        },
        settings=settings,
        path=path,
        manifest_digest=digest,
        more=more,
    )
    vault.prepare(change)


def _in_one_spelling(job: Job, release: Release) -> tuple[Job, Release]:
    """Write the values of both alike: as was told before, else as the adopted release does, which tells them now."""
    schema, known = job.snapshot.schema, {}
    _, values = release.group_values()
    for name in schema.sensitive:
        if schema[name].folds and job.snapshot.frame.schema[name] == values.schema.get(name) == pl.String:
            told = one_spelling(values[name]).drop_nulls().unique().sort()
            known[name] = (*(schema[name].labels or ()), *schema[name].spellings, *told)

    def written(snapshot: Snapshot) -> Snapshot:
        columns = (spelled_as(snapshot.frame[name], texts) for name, texts in known.items())
        return replace(snapshot, frame=snapshot.frame.with_columns(columns))

    whole = None if job.whole is None else written(job.whole)
    return replace(job, snapshot=written(job.snapshot), whole=whole), with_spellings(release, known)


def _strangers(release: Release, placed: int) -> int:
    """Return how many published rows are of nobody in the snapshot."""
    others = release.manifest["counterfeits"]["total"] + release.manifest["dirty"]
    return max(len(release.classes) - int(others) - placed, 0)


def _groups(release: Release) -> int:
    return len(np.unique(release.classes if release.groups is None else release.groups))


def _remade(
    release: Release, guarantee: Guarantee, remade: Callable[[Guarantee], tuple[Prepared, Telling]]
) -> tuple[Prepared, Telling] | None:
    """Make a release of this series once more, with the settings its manifest names; None if it is not the same."""
    known = guarantee.settings()
    then = {key: value for key, value in release.manifest["guarantee"].items() if key in known}
    try:
        prepared, telling = remade(replace(guarantee, **then))  # type: ignore[type-var]  # every guarantee is a dataclass
    except ReveilError:
        return None
    return (prepared, telling) if same_content(prepared.release, release) else None


def _as_it_was(
    vault: Vault,
    release: Release,
    prepared: Prepared,
    telling: Telling,
    *,
    settings: Mapping[str, Any],
    path: Path | None,
) -> Adopted:
    """Record a release of this series that came out the same once more: who is where is known, not guessed."""
    facts = {
        "counterfeits": release.manifest["counterfeits"]["total"],
        "withheld": release.manifest["withheld"],
        "exact": True,
    }
    _record(
        vault,
        telling,
        release,
        settings,
        path,
        told=prepared.told,
        entries=prepared.entries,
        replaces=prepared.replaces,
        facts=facts,
    )
    persons = int((prepared.placement >= 0).sum())
    return Adopted(
        release=telling.memory.release,
        persons=persons,
        unpublished=len(telling.job.high) - persons,
        ambiguous=0,
        groups=_groups(release),
        unsafe_groups=0,
        kept=0,
        held_back=0,
        exact=True,
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

    @property
    def own_sizes(self) -> pl.Series:
        """How many values each told set has."""
        return self.told["members"].str.count_matches(",") + 1

    def guessed(self, several: BoolArray) -> pl.DataFrame:
        """Return who could be in more than one group, and one value of the group that was taken: they rest, too.

        Whoever holds the release finds them in all these groups at once, and no signature keeps that as it is.
        """
        own = self.told.filter(several[self.told["record"].to_numpy()])
        return own.with_columns(pl.col("members").str.split(",").list.first())

    def crossed(self, telling: Telling) -> pl.DataFrame:
        """Return whose group shares some values, not all, with what they were told before, and one common value.

        Told by itself it is fewer than any guarantee needs: whoever was told so little rests.
        """
        memory = telling.memory
        numbers, place = np.unique(self.told["members"].to_numpy(), return_inverse=True)
        now = Sets.of_texts(pl.Series(numbers, dtype=pl.String))
        before = pl.DataFrame({"record": memory.block_records, "block": memory.block_sets.astype(np.int64)})
        met = self.told.select("record", set=pl.Series(place.astype(np.int64))).join(before, on="record")
        pairs = met.select("set", "block").unique()
        common = (
            pairs.join(pl.DataFrame({"set": now.of_member, "code": now.members}), on="set")
            .join(pl.DataFrame({"block": memory.sets.of_member, "code": memory.sets.members}), on=["block", "code"])
            .group_by("set", "block")
            .agg(shared=pl.len(), code=pl.col("code").min())
        )
        sizes = now.sizes[common["set"].to_numpy()], memory.sets.sizes[common["block"].to_numpy()]
        shared = common["shared"].to_numpy()
        bad = common.filter((shared != sizes[0]) | (shared != sizes[1]))
        found = met.join(bad, on=["set", "block"]).group_by("record").agg(pl.col("code").min()).sort("record")
        return found.select("record", members=pl.col("code").cast(pl.String)).cast(dict(self.told.schema))  # type: ignore[arg-type]


def _counts(release: Release, found: _Found, m: int) -> tuple[int, int, int]:
    """Count the groups that are not m-unique, and their persons who go on or rest."""
    groups, _ = release.group_values()
    rows = np.bincount(np.searchsorted(found.groups, groups), minlength=len(found.sets))
    unsafe = (rows != found.sets.sizes) | (found.sets.sizes < m)
    own = np.searchsorted(found.groups, found.of_record[found.of_record >= 0])
    few = found.sets.sizes[own] < m
    return int(unsafe.sum()), int((unsafe[own] & ~few).sum()), int(few.sum())


def same_content(one: Release, other: Release) -> bool:
    """Return whether two releases have the same tables."""
    if not one.text.equals(other.text, null_equal=True) or (one.batch is None) != (other.batch is None):
        return False
    return one.batch is None or other.batch is None or one.batch.equals(other.batch, null_equal=True)


def _manifest(path: Path | None, release: Release, number: int) -> tuple[dict[str, Any], str | None]:
    """Return the manifest to remember, and the digest of the one on disk, if there is one of Reveil's."""
    if path is not None and "reveil" in release.manifest and manifest_path(path).is_file():
        raw = manifest_path(path).read_bytes()
        described = json.loads(raw)
        if "created" in described:
            return described, digest_of_bytes(raw)
    return {**release.manifest, "release": number, "created": datetime.now(UTC).isoformat(timespec="seconds")}, None
