"""What a report is made of: the releases, where their files are, and the snapshots they came from."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reveil.core.errors import ConfigError, FileError, ReveilError
from reveil.releases.domains import with_told_edges
from reveil.releases.foreign import read_release
from reveil.releases.release import Release
from reveil.reporting.placing import placements_in
from reveil.series import Series
from reveil.series.backups import manifest_of
from reveil.series.config import Config, load_config
from reveil.series.finding import is_release
from reveil.tables.snapshot import Snapshot, read_snapshot
from reveil.vault.protocol import ABANDONED, ADOPTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.base import Guarantee
    from reveil.releases.manifest import Manifest
    from reveil.tables.schema import Schema
    from reveil.vault import ReleaseRow

Given = str | os.PathLike[str] | Release


@dataclass(frozen=True)
class Held:
    """One release as the vault knows it, as it lies on disk, and the snapshot it came from; any may be missing.

    ``snapshot`` has the records and columns that were asked for, ``truth`` the same records with all columns: an
    adversary who knows who is in which release knows this of a part of the table, too. ``strange``: the snapshot is
    not the one of which the vault knows that the release was made, so that nothing can be measured against it.
    """

    row: ReleaseRow | None
    source: Any = None
    name: str | None = None
    number: int = 0
    release: Release | None = field(default=None, repr=False)
    truth: pl.DataFrame | None = field(default=None, repr=False)
    snapshot: Snapshot | None = field(default=None, repr=False)
    strange: bool = False
    missing: str | None = None

    @property
    def manifest(self) -> Manifest | None:
        """What was said of the release when it was published."""
        known = None if self.row is None else manifest_of(self.row)
        return known if known is not None or self.release is None else self.release.manifest

    @property
    def adopted(self) -> bool:
        """Whether the release was made elsewhere."""
        return self.row is not None and self.row.state == ADOPTED


@dataclass(frozen=True)
class Holdings:
    """A series, or releases without one, with all that is at hand.

    ``schema`` is for the tables at hand, whose rows are put together already; ``declared`` is that of the config.
    """

    name: str | None
    schema: Schema
    guarantee: Guarantee
    method: Grouper | None
    series: Series | None
    releases: tuple[Held, ...]
    declared: Schema

    @property
    def at_hand(self) -> list[Held]:
        """The releases that can be read."""
        return [held for held in self.releases if held.release is not None]

    @cached_property
    def placements(self) -> dict[int, pl.DataFrame]:
        """Where everybody is in the releases of which the vault kept it, by their numbers."""
        return placements_in(self.series, self.schema.person, self.at_hand)


def hold(
    about: Config | Series | str | os.PathLike[str],
    releases: Sequence[Given] | None,
    truth: Sequence[object] | None,
    where: Sequence[str] = (),
) -> Holdings:
    """Find the releases that a report is about, and read what is there.

    ``releases`` says where files are that the vault does not find, or names the releases where there is no vault.
    ``truth`` has one snapshot for each release, in the order of ``releases`` where these are given, else in that of
    the series; those of releases that are not at hand may be left out. ``where`` are the expressions of releases of a
    part of a table.
    """
    config = about if isinstance(about, Config | Series) else load_config(Path(about))
    series = config if isinstance(config, Series) else Series.of(config) if config.in_series else None
    if series is not None and not series.vault.exists():
        series = None
    rows = [] if series is None else series.releases()
    if not rows and not releases:
        raise ConfigError(
            "nothing was published yet, as far as this config knows",
            hint="Name the releases: --releases a.csv b.csv. (A config with a vault remembers them by itself.)",
        )
    given = [] if releases is None else list(releases)
    if len({id(one) if isinstance(one, Release) else Path(one).resolve() for one in given}) < len(given):
        raise ConfigError("a release is given twice", hint="Name each release once.")
    found = _with_rows(rows, given) if rows else [_given(one) for one in given]
    held = _numbered([_read(one, config.schema) for one in found])
    told = with_told_edges(config.schema, *(each.manifest for each in held if each.manifest is not None))
    if truth:
        held = _with_truth(held, list(truth), given, series, told, where)
    made = config if series is None else series  # a series has filled in what its config does not name
    return Holdings(config.name, told.of_records(), made.guarantee, made.method, series, tuple(held), config.schema)


def _given(source: Given) -> Held:
    if isinstance(source, Release):
        return Held(None, source, str(source.manifest.release))
    path = Path(source)
    if not path.exists():
        raise FileError("there is no such file", file=path, hint="Check the path.")
    return Held(None, path, path.name)


def _numbered(held: list[Held]) -> list[Held]:
    """Number the releases: as their series does where that tells them apart, else by their places here."""
    known = [each.row.release if each.row is not None else each.manifest and each.manifest.release for each in held]
    numbers = [number for number in known if isinstance(number, int)]
    if len(set(numbers)) < len(held):
        numbers = list(range(1, len(held) + 1))
    return [replace(each, number=number) for each, number in zip(held, numbers, strict=True)]


def _with_rows(rows: list[tuple[ReleaseRow, Path | None]], given: list[Given]) -> list[Held]:
    """Return the releases that the vault knows, each with its file, and behind them those that it does not know."""
    files = [_given(one) for one in given]
    unused = list(range(len(files)))
    found = []
    for row, path in rows:
        name = None if row.path is None else Path(row.path).name
        fitting = [n for n in unused if _is(files[n], row)]
        if len(fitting) > 1:
            raise ConfigError(f"release {row.release} is given twice", hint="Name each release once.")
        if fitting:
            unused.remove(fitting[0])
            found.append(replace(files[fitting[0]], row=row, name=name or files[fitting[0]].name))
        elif path is not None:
            found.append(Held(row, path, name or path.name))
        else:
            why = "no copy of it is where it was written" if row.path is not None else "it was never written to a file"
            found.append(Held(row, None, name, missing=why))
    return found + [files[n] for n in unused]


def _is(held: Held, row: ReleaseRow) -> bool:
    """Return whether something given is this release."""
    if isinstance(held.source, Release):
        manifest, known = held.source.manifest, manifest_of(row)
        if manifest.series_id is None or known is None:
            return False
        return (manifest.series_id, manifest.release) == (known.series_id, known.release)
    return is_release(held.source, row)


def _read(held: Held, schema: Schema) -> Held:
    """Read a release; what cannot be read is missing, with the reason."""
    if held.source is None:
        return held
    if isinstance(held.source, Release):
        return replace(held, release=held.source)
    try:
        release = read_release(held.source, schema)
    except ReveilError as error:
        if held.row is None:
            raise
        return replace(held, missing=error.message)
    return replace(held, release=release)


def _with_truth(
    held: list[Held],
    truth: list[object],
    given: list[Given],
    series: Series | None,
    schema: Schema,
    where: Sequence[str],
) -> list[Held]:
    """Give each release its snapshot, cut to the part that was asked for."""
    places = list(range(len(held)))
    ready = [n for n in places if held[n].release is not None]
    if given and len(truth) == len(given):
        order = [next(n for n in places if _same(held[n], one)) for one in given]
    else:
        order = next((some for some in (places, ready) if len(some) == len(truth)), [])
    if not order:
        abandoned = " Abandoned releases count: they may have left." if any(map(_abandoned, held)) else ""
        raise ConfigError(
            f"{len(held)} releases, of which {len(ready)} are at hand, but {len(truth)} snapshots",
            hint=f"Give one snapshot for each release, in the same order.{abandoned}",
        )
    out = list(held)
    for place, source in zip(order, truth, strict=True):
        if held[place].release is not None:
            out[place] = _with_snapshot(held[place], source, series, schema, held, where)
    return out


def _with_snapshot(
    release: Held, source: object, series: Series | None, schema: Schema, held: Sequence[Held], where: Sequence[str]
) -> Held:
    """Read the snapshot of one release, and see whether it is that of another one."""
    if series is None or release.row is None:
        snapshot = read_snapshot(source, schema)
        return replace(release, truth=snapshot.frame, snapshot=snapshot)
    submission = series.submission_of(source, release.row, where)
    strange = (
        submission.digest != release.row.snapshot
    )  # the expression may be written otherwise, or the table be cut already
    others = [other.number for other in held if other.row is not None and submission.is_that_of(other.row)]
    if strange and others:
        raise ConfigError(
            f"the snapshot given for release {release.number} is that of release {others[0]}",
            hint="Give the snapshots in the order of the releases.",
        )
    whole = submission.snapshot if submission.whole is None else submission.whole
    return replace(release, truth=whole.frame, snapshot=submission.snapshot, strange=strange)


def _abandoned(held: Held) -> bool:
    return held.row is not None and held.row.state == ABANDONED


def _same(held: Held, given: Given) -> bool:
    return held.source is given if isinstance(given, Release) else held.source == Path(given)
