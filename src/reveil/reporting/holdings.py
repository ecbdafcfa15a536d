"""What a report is made of: the releases, where their files are, and the snapshots they came from."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reveil.config import Config, load_config
from reveil.errors import ConfigError, FileError, ReveilError
from reveil.foreign import read_release
from reveil.release import Release
from reveil.series import Series
from reveil.series.finding import is_release
from reveil.snapshot import Snapshot, read_snapshot
from reveil.vault.protocol import ADOPTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.groupers.base import Grouper
    from reveil.guarantees.base import Guarantee
    from reveil.schema import Schema
    from reveil.vault import ReleaseRow

Given = str | os.PathLike[str] | Release


@dataclass(frozen=True)
class Held:
    """One release as the vault knows it, as it lies on disk, and the snapshot it came from; any may be missing."""

    row: ReleaseRow | None
    source: Any = None
    name: str | None = None
    release: Release | None = field(default=None, repr=False)
    truth: Any = field(default=None, repr=False)
    snapshot: Snapshot | None = field(default=None, repr=False)
    missing: str | None = None

    @property
    def manifest(self) -> dict[str, Any]:
        """What was said of the release when it was published."""
        if self.row is not None and self.row.manifest is not None:
            known: dict[str, Any] = json.loads(self.row.manifest)
            return known
        return {} if self.release is None else self.release.manifest

    @property
    def adopted(self) -> bool:
        """Whether the release was made elsewhere."""
        return self.row is not None and self.row.state == ADOPTED


@dataclass(frozen=True)
class Holdings:
    """A series, or releases without one, with all that is at hand."""

    name: str | None
    schema: Schema
    guarantee: Guarantee
    method: Grouper | None
    series: Series | None
    releases: tuple[Held, ...]

    @property
    def at_hand(self) -> list[Held]:
        """The releases that can be read."""
        return [held for held in self.releases if held.release is not None]


def hold(
    about: Config | Series | str | os.PathLike[str], releases: Sequence[Given] | None, truth: Sequence[Any] | None
) -> Holdings:
    """Find the releases that a report is about, and read what is there.

    ``releases`` says where files are that the vault does not find, or names the releases where there is no vault.
    ``truth`` has one snapshot for each release, in the order of ``releases`` where these are given, else in that of
    the series; those of releases that are not at hand may be left out.
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
    found = _with_rows(rows, given) if rows else [_given(one) for one in given]
    held = [_read(one, config.schema) for one in found]
    if truth:
        held = _with_truth(held, list(truth), given, series, config.schema)
    return Holdings(config.name, config.schema, config.guarantee, config.method, series, tuple(held))


def _given(source: Given) -> Held:
    if isinstance(source, Release):
        return Held(None, source, str(source.manifest.get("release")))
    path = Path(source)
    if not path.is_file():
        raise FileError("there is no such file", file=path, hint="Check the path.")
    return Held(None, path, path.name)


def _with_rows(rows: list[tuple[ReleaseRow, Path | None]], given: list[Given]) -> list[Held]:
    """Return the releases that the vault knows, each with its file, and behind them those that it does not know."""
    files = [_given(one) for one in given]
    unused = list(range(len(files)))
    found = []
    for row, path in rows:
        name = None if row.path is None else Path(row.path).name
        place = next((n for n in unused if _is(files[n], row)), None)
        if place is not None:
            unused.remove(place)
            found.append(replace(files[place], row=row, name=name or files[place].name))
        elif path is not None:
            found.append(Held(row, path, name or path.name))
        else:
            why = "no copy of it is where it was written" if row.path is not None else "it was never written to a file"
            found.append(Held(row, None, name, missing=why))
    return found + [files[n] for n in unused]


def _is(held: Held, row: ReleaseRow) -> bool:
    """Return whether something given is this release."""
    if isinstance(held.source, Release):
        own = held.source.manifest
        known = {} if row.manifest is None else json.loads(row.manifest)
        return own.get("series_id") is not None and all(own.get(k) == known.get(k) for k in ("series_id", "release"))
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
    held: list[Held], truth: list[Any], given: list[Given], series: Series | None, schema: Schema
) -> list[Held]:
    """Give each release its snapshot, cut to the part that was asked for."""
    places = list(range(len(held)))
    ready = [n for n in places if held[n].release is not None]
    if given and len(truth) == len(given):
        order = [next(n for n in places if _same(held[n], one)) for one in given]
    else:
        order = next((some for some in (places, ready) if len(some) == len(truth)), [])
    if not order:
        raise ConfigError(
            f"{len(held)} releases, of which {len(ready)} are at hand, but {len(truth)} snapshots",
            hint="Give one snapshot for each release, in the same order.",
        )
    out = list(held)
    for place, source in zip(order, truth, strict=True):
        own = held[place]
        if own.release is None:
            continue
        known = series is not None and own.row is not None
        part = series.part_of(source, own.manifest) if known and series is not None else read_snapshot(source, schema)
        out[place] = replace(own, truth=source, snapshot=part)
    return out


def _same(held: Held, given: Given) -> bool:
    return held.source is given if isinstance(given, Release) else held.source == Path(given)
