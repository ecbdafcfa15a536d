"""Taking a release as told that was published before, by any tool."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import DataError, ReveilError
from reveil.guarantees.base import Adoption
from reveil.models.encoding import encode
from reveil.releases.foreign import read_release
from reveil.releases.linking import place
from reveil.releases.manifest import Manifest, now
from reveil.releases.manifest_files import digest_of_bytes, manifest_path, read_manifest
from reveil.releases.membership import membership
from reveil.releases.respelling import shown, with_spellings
from reveil.series.backups import refuse_if_out_of_order
from reveil.series.release_context import ReleaseContext, Submission, placements_of
from reveil.series.stable_codes import digest_of_snapshot
from reveil.tables.alike import one_spelling, spelled_as
from reveil.vault.protocol import ADOPTED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reveil.core.json_values import JSON
    from reveil.guarantees.assembly import Prepared
    from reveil.guarantees.base import Guarantee
    from reveil.releases.release import Release
    from reveil.tables.snapshot import Snapshot
    from reveil.vault import Vault
    from reveil.vault.protocol import Entries


@dataclass(frozen=True)
class Adopted:
    """What was found in a release that was taken as told.

    ``persons`` were recognised in it, ``unpublished`` were not. Of ``ambiguous`` persons nobody who holds the release
    can know in which group they were, or whether they were left out: what they were told is then all that they may have
    been told. ``unsafe_groups`` break the guarantee already. ``kept`` persons were in groups that have some values more
    often than others, and go on in groups of their own; ``held_back`` persons rest from now on. Under a guarantee that
    promises nothing nobody rests; they are ``renewed``. ``crossed`` were told some of these values before, and others:
    they rest, too. ``merged`` persons stay together from now on, in ``cells`` that are published whole or not at all.
    ``strangers`` are published rows that fit nobody of the snapshot. ``exact``: it is a release of this very series
    that the vault did not know, and nothing had to be guessed.
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
    merged: int = 0
    cells: int = 0

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
                f"{self.ambiguous:,} persons could be in more than one group, or have been left out: they count as "
                "told all that they may have been told"
            )
        if self.merged:
            found.append(
                f"{self.merged:,} persons of groups that cannot be told apart stay together from now on: each of "
                f"{self.cells:,} sets of them is published whole, or not at all"
            )
        if self.unsafe_groups:
            found.append(f"{self.unsafe_groups:,} groups were not safe when they were published")
        if self.kept:
            found.append(
                f"{self.kept:,} persons were in groups that have some values more often than others: from now on each "
                "of them is alone among made-up records"
            )
        if self.held_back:
            found.append(
                f"{self.held_back:,} persons are held back from now on: nothing more about them could be told safely"
            )
        if self.renewed:
            found.append(f"{self.renewed:,} persons were told too little or nobody knows what, and get others")
        if self.crossed:
            found.append(
                f"{self.crossed:,} persons were told some of their group's values before, beside others: what both say "
                "together is no longer safe, and they are held back from now on"
            )
        return found


def adopt(
    vault: Vault,
    submission: Submission,
    source: object,
    guarantee: Guarantee,
    settings: Mapping[str, JSON],
    remade: Callable[[Guarantee], tuple[Prepared, ReleaseContext]],
    *,
    archive: int | None,
) -> Adopted:
    """Find out who may be in which group, remember what they may have been told, and record the release.

    ``remade`` publishes the snapshot once more in memory: a release of this very series comes out as it was.
    """
    schema = submission.snapshot.schema
    if schema.person is None:
        raise DataError("a release can be adopted only where a person column is declared")
    types = {name: submission.snapshot.frame.schema[name] for name in schema.sensitive}
    release = read_release(source, schema, types=types)
    refuse_if_out_of_order(vault, release.manifest.to_json())
    release = _with_digest(release)
    path = Path(os.fspath(source)) if isinstance(source, str | os.PathLike) else None
    of_this_series = release.manifest.series_id == vault.series_id and guarantee.traits.remembers
    again = _remade(release, guarantee, remade) if of_this_series else None
    if again is not None:
        return _as_it_was(vault, release, *again, settings=settings, path=path, archive=archive)
    submission, release = _in_one_spelling(submission, release)
    codes = encode(submission.snapshot)
    context = ReleaseContext.of(vault, submission, codes, guarantee)
    # Values say whether this is the right snapshot, and count. Nothing that is remembered depends on them.
    placed = place(release, codes, submission.snapshot.frame.select(schema.sensitive)).placed
    if not placed:
        raise DataError(
            "nobody of this snapshot is in this release",
            hint="The snapshot must be the table that the release was made of, or the part of it (--where, --columns).",
        )
    members = membership(release, codes)
    found = guarantee.adopt(context.memory, submission.snapshot, release, members) or Adoption((), 0, 0)
    _record(
        vault,
        context,
        release,
        settings,
        path,
        told=found.told,
        entries=found.entries,
        replaces=found.replaces,
        more=found.more,
    )
    return Adopted(
        release=context.memory.release,
        persons=placed,
        unpublished=codes.n - placed,
        ambiguous=int(members.several.sum()),
        groups=members.n_groups,
        unsafe_groups=found.unsafe_groups,
        kept=found.kept,
        held_back=found.held_back,
        renewed=found.renewed,
        crossed=found.crossed,
        strangers=_strangers(release, placed),
        merged=found.merged,
        cells=found.cells,
    )


def _record(
    vault: Vault,
    context: ReleaseContext,
    release: Release,
    settings: Mapping[str, JSON],
    path: Path | None,
    *,
    told: pl.DataFrame | None,
    entries: tuple[Entries, ...] = (),
    replaces: bool,
    more: pl.Series | None = None,
    facts: Mapping[str, JSON] | None = None,
    placements: pl.DataFrame | None = None,
) -> None:
    manifest, digest = _manifest(path, release, context.memory.release)
    change = context.change(
        vault,
        state=ADOPTED,
        manifest=manifest,
        told=told,
        entries=entries,
        replaces=replaces,
        placements=placements,
        facts={
            "counterfeits": release.manifest.counterfeits.total,
            "withheld": release.manifest.withheld,
            **(facts or {}),
            "guarantee": release.manifest.promise.guarantee(),
        },
        settings=settings,
        path=path,
        published=release,
        manifest_digest=digest,
        more=more,
    )
    vault.prepare(change)


def _with_digest(release: Release) -> Release:
    """Give a release that never was a file a digest of what it says: by it the anchor of the vault knows it again.

    The order of rows and columns makes no difference. It is no digest of a file, and is not written like one.
    """
    if release.manifest.digest is not None:
        return release
    tables = [release.text] if release.batch is None else [release.text, release.batch]
    digests = [digest_of_snapshot(table.sort(names), names) for table in tables if (names := sorted(table.columns))]
    content = digest_of_bytes("\n".join(digests).encode())
    return release.under(replace(release.manifest, digest=f"content-{content}"))


def _in_one_spelling(submission: Submission, release: Release) -> tuple[Submission, Release]:
    """Write the values of both alike: as was told before, else as the adopted release does, which tells them now."""
    schema, known = submission.snapshot.schema, {}
    _, values = release.group_values()
    for name in schema.sensitive:
        if schema[name].folds and submission.snapshot.frame.schema[name] == values.schema.get(name) == pl.String:
            told = one_spelling(shown(values[name]), missing=schema.null_values).drop_nulls().unique().sort()
            known[name] = (*(schema[name].labels or ()), *schema[name].spellings, *told)

    def written(snapshot: Snapshot) -> Snapshot:
        columns = (spelled_as(snapshot.frame[name], texts) for name, texts in known.items())
        return replace(snapshot, frame=snapshot.frame.with_columns(columns))

    whole = None if submission.whole is None else written(submission.whole)
    adopted = with_spellings(release, known, schema.null_values)
    return replace(submission, snapshot=written(submission.snapshot), whole=whole), adopted


def _strangers(release: Release, placed: int) -> int:
    """Return how many published rows are of nobody in the snapshot."""
    others = release.manifest.counterfeits.total + release.manifest.dirty
    return max(len(release.classes) - others - placed, 0)


def _groups(release: Release) -> int:
    return len(np.unique(release.classes if release.groups is None else release.groups))


def _remade(
    release: Release, guarantee: Guarantee, remade: Callable[[Guarantee], tuple[Prepared, ReleaseContext]]
) -> tuple[Prepared, ReleaseContext] | None:
    """Make a release of this series once more, with the settings its manifest names; None if it is not the same."""
    traits = guarantee.traits
    then = {key: value for key, value in release.manifest.promise.guarantee().items() if key in traits.settings}
    # What may change and goes without saying there follows from what is said: form from angelize.
    unsaid = dict.fromkeys(traits.free - then.keys())
    try:
        prepared, context = remade(replace(guarantee, **unsaid, **then))  # type: ignore[type-var]  # every guarantee is a dataclass
    except ReveilError:
        return None
    return (prepared, context) if same_content(prepared.release, release) else None


def _as_it_was(
    vault: Vault,
    release: Release,
    prepared: Prepared,
    context: ReleaseContext,
    *,
    settings: Mapping[str, JSON],
    path: Path | None,
    archive: int | None,
) -> Adopted:
    """Record a release of this series that came out the same once more: who is where is known, not guessed."""
    remembered = prepared.draft.remembered
    facts = {
        "counterfeits": release.manifest.counterfeits.total,
        "withheld": release.manifest.withheld,
        "exact": True,
    }
    _record(
        vault,
        context,
        release,
        settings,
        path,
        told=remembered.told,
        entries=remembered.entries,
        replaces=remembered.replaces,
        facts=facts,
        placements=placements_of(prepared) if archive != 0 else None,
    )
    persons = int((prepared.placement >= 0).sum())
    return Adopted(
        release=context.memory.release,
        persons=persons,
        unpublished=len(context.submission.high) - persons,
        ambiguous=0,
        groups=_groups(release),
        unsafe_groups=0,
        kept=0,
        held_back=0,
        exact=True,
    )


def same_content(one: Release, other: Release) -> bool:
    """Return whether two releases have the same tables."""
    if not one.text.equals(other.text, null_equal=True) or (one.batch is None) != (other.batch is None):
        return False
    return one.batch is None or other.batch is None or one.batch.equals(other.batch, null_equal=True)


def _manifest(path: Path | None, release: Release, number: int) -> tuple[Manifest, str | None]:
    """Return the manifest to remember, and the digest of the one on disk, if there is one of Reveil's."""
    if path is not None and release.manifest.promise.is_known and manifest_path(path).is_file():
        return read_manifest(path), digest_of_bytes(manifest_path(path).read_bytes())
    return replace(release.manifest, release=number, created=now()), None
