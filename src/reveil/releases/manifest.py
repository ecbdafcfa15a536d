"""The public manifest of a release: what was promised, to whom it applies, and the digest of the bytes.

It is made once (:func:`make_manifest`) and never changed: whoever knows more of it, a series or the writer of its
files, makes another with :func:`dataclasses.replace`. ``manifest.schema.json`` beside this file says how it is written.

Nothing in it comes from raw values that are not published, and the seed is never in it: who knows the seed can
undo the shuffle.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from reveil.core.errors import FileError
from reveil.core.json_values import JSON, FrozenObject, frozen_object, thawed
from reveil.releases.reading import ManifestObject, UnusableError, read_promise

if TYPE_CHECKING:
    from reveil.releases.promise import Promise

FORMAT = 2
READ = (1, FORMAT)  # formats that are understood; the first states a kind with parameters, and no limits
MANIFEST = ".manifest.json"
LARGEST = 1 << 26  # bytes of a manifest that is looked at in passing
SECOND = "sensitive"  # the second table of a release that has two


@cache
def version() -> str:
    """Return the version of the installed package."""
    from importlib.metadata import version as installed

    return installed("reveil")


@dataclass(frozen=True)
class PublishedColumn:
    """A column as a manifest describes it.

    ``form`` is how its cells are written, ``type`` that of its values. ``compare`` is set where spellings are taken for
    one value, ``hierarchy`` where cells list the leaves of one, and ``table`` where the column is in the second table.
    """

    name: str
    role: str
    form: str
    type: str
    compare: str | None = None
    hierarchy: str | None = None
    table: str | None = None

    def to_json(self) -> dict[str, JSON]:
        """Return it as a manifest has it; what is not set is left out."""
        said = {own.name: getattr(self, own.name) for own in fields(self)}
        return {key: value for key, value in said.items() if value is not None}


@dataclass(frozen=True)
class Counterfeits:
    """How many rows are made up, in all and by the number of their group; which ones they are nobody is told."""

    total: int = 0
    per_group: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "per_group", frozen_object(self.per_group))

    def to_json(self) -> dict[str, JSON]:
        """Return it as a manifest has it."""
        return {"total": self.total, "per_group": dict(self.per_group)}


@dataclass(frozen=True, eq=False)
class Manifest(Mapping[str, JSON]):
    """All that is told of a release beside its table; as a mapping it has the keys of the file.

    ``release`` and ``created`` are None where nobody knows them, ``suppressed`` where it is kept secret. ``stale`` rows
    show what their person was told with last. ``adopted`` are the releases of the series that came from elsewhere,
    ``selection`` the columns that decided who is in this one. ``digest`` is that of the bytes as they were written,
    ``digests`` has it for each format, ``previous`` is the digest of the manifest before. ``others`` are keys that this
    version does not know.
    """

    series: str | None
    release: int | None
    promise: Promise
    columns: tuple[PublishedColumn, ...]
    rows: int
    groups: int
    achieved: FrozenObject
    created: str | None = None
    suppressed: int | None = 0
    withheld: int = 0
    dirty: int = 0
    stale: int | None = None
    counterfeits: Counterfeits = field(default_factory=Counterfeits)
    series_id: str | None = None
    previous: str | None = None
    selection: tuple[str, ...] | None = None
    adopted: tuple[int, ...] = ()
    digest: str | None = None
    digests: Mapping[str, str] | None = None
    format: int = FORMAT
    reveil: str | None = field(default_factory=version)
    others: FrozenObject = field(default_factory=lambda: FrozenObject({}))

    def __post_init__(self) -> None:
        for name in ("achieved", "others"):
            object.__setattr__(self, name, frozen_object(getattr(self, name)))
        if self.digests is not None:
            object.__setattr__(self, "digests", frozen_object(self.digests))

    def __getitem__(self, key: str) -> JSON:
        return self.to_json()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_json())

    def __len__(self) -> int:
        return len(self.to_json())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and self.to_json() == (
            other.to_json() if isinstance(other, Manifest) else thawed(other)
        )

    __hash__ = None  # type: ignore[assignment]  # it may hold what has none

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive columns that are published."""
        return tuple(column.name for column in self.columns if column.role == "sensitive")

    @property
    def two_tables(self) -> bool:
        """Whether some columns are in a second table."""
        return any(column.table == SECOND for column in self.columns)

    def column(self, name: str) -> PublishedColumn:
        """Return the description of a column."""
        return next(column for column in self.columns if column.name == name)

    def to_json(self) -> dict[str, JSON]:
        """Return the manifest as it is written: a copy in plain lists and dicts."""
        promise = self.promise
        said: dict[str, JSON] = {
            "format": self.format,
            "reveil": self.reveil,
            "series": self.series,
            "series_id": self.series_id,
            "release": self.release,
            "created": self.created,
            "guarantee": promise.guarantee(),
            "claim": promise.claim,
            "assumes": list(promise.assumes),
            "promise": promise.to_json() if self.format > 1 else None,
            "columns": [column.to_json() for column in self.columns],
            "rows": self.rows,
            "groups": self.groups,
            "suppressed": self.suppressed,
            "withheld": self.withheld,
            "dirty": self.dirty,
            "stale": self.stale,
            "counterfeits": self.counterfeits.to_json(),
            "achieved": thawed(self.achieved),
            "selection": None if self.selection is None else {"columns": list(self.selection)},
            "adopted": list(self.adopted) or None,
            "digest": self.digest,
            "digests": thawed(self.digests),
            "previous": self.previous,
            **{key: thawed(value) for key, value in self.others.items()},
        }
        return {key: value for key, value in said.items() if value is not None or key not in OPTIONAL}

    @classmethod
    def from_json(cls, given: JSON) -> Manifest:
        """Read what :meth:`to_json` returned, in any format that is understood.

        What cannot be used raises :class:`~reveil.releases.reading.UnusableError`; a manifest that says two different
        things of what it promises raises :class:`~reveil.core.errors.VerificationError`.
        """
        told = ManifestObject.of(given, READ)
        told.check_keys([key for key in KEYS if key not in OPTIONAL])
        columns = told.objects("columns")
        return cls(
            series=told.text("series"),
            release=told.count("release"),
            promise=read_promise(told),
            columns=tuple(_column(own) for own in columns),
            rows=told.number("rows"),
            groups=told.number("groups"),
            achieved=frozen_object(told.object("achieved")),
            created=told.text("created"),
            suppressed=told.count("suppressed"),
            withheld=told.number("withheld"),
            dirty=told.number("dirty"),
            stale=told.count("stale"),
            counterfeits=_counterfeits(told),
            series_id=told.text("series_id"),
            previous=told.text("previous"),
            selection=_selection(told),
            adopted=told.counts("adopted"),
            digest=told.text("digest"),
            digests=_digests(told),
            format=told.number("format"),
            reveil=told.text("reveil"),
            others=FrozenObject({key: value for key, value in told.given.items() if key not in KEYS}),
        )


KEYS = (
    *("format", "reveil", "series", "series_id", "release", "created", "guarantee", "claim", "assumes", "promise"),
    *("columns", "rows", "groups", "suppressed", "withheld", "dirty", "stale", "counterfeits", "achieved"),
    *("selection", "adopted", "digest", "digests", "previous"),
)
OPTIONAL = frozenset(["reveil", "series_id", "promise", "stale", "selection", "adopted", "digests"])
_FORMS = ("interval", "set", "label", "value", "foreign")  # of cells, as reveil.tables.notation has them


def _column(given: Mapping[str, JSON]) -> PublishedColumn:
    known = [own.name for own in fields(PublishedColumn)]
    said = {key: value for key, value in given.items() if isinstance(value, str)}
    if said.keys() != given.keys() or not set(known[:4]) <= said.keys() <= set(known) or said["form"] not in _FORMS:
        raise UnusableError("columns")
    return PublishedColumn(**said)


def _counterfeits(told: ManifestObject) -> Counterfeits:
    counterfeits = ManifestObject(told.object("counterfeits"), "counterfeits")
    places = ManifestObject(
        counterfeits.object("per_group") if "per_group" in counterfeits.given else {}, "counterfeits"
    )
    if counterfeits.given.keys() - {"total", "per_group"}:
        raise UnusableError("counterfeits")
    return Counterfeits(counterfeits.number("total"), {group: places.number(group) for group in places.given})


def _selection(told: ManifestObject) -> tuple[str, ...] | None:
    if told.given.get("selection") is None:
        return None
    selection = ManifestObject(told.object("selection"), "selection")
    selection.check_keys(["columns"])
    return selection.texts("columns")


def _digests(told: ManifestObject) -> dict[str, str] | None:
    if told.given.get("digests") is None:
        return None
    digests = told.object("digests")
    found = {key: value for key, value in digests.items() if isinstance(value, str)}
    if len(found) != len(digests):
        raise UnusableError("digests")
    return found


def make_manifest(
    *,
    series: str | None,
    release: int | None,
    promise: Promise,
    columns: Iterable[PublishedColumn],
    rows: int,
    groups: int,
    achieved: Mapping[str, JSON],
    suppressed: int | None = 0,
    withheld: int = 0,
    dirty: int = 0,
    stale: int | None = None,
    counterfeits: Counterfeits | None = None,
) -> Manifest:
    """Make a manifest of now; ``digest`` is known when the table is written, ``previous`` to a series."""
    described = tuple(columns)
    if promise.claim:
        promise = replace(promise, assumes=(*promise.assumes, *_several(described)))
    return Manifest(
        series=series,
        release=release,
        promise=promise,
        columns=described,
        rows=rows,
        groups=groups,
        achieved=frozen_object(achieved),
        created=now(),
        suppressed=suppressed,
        withheld=withheld,
        dirty=dirty,
        stale=stale,
        counterfeits=counterfeits or Counterfeits(),
    )


def now() -> str:
    """Return the time as a manifest tells it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _several(columns: Iterable[PublishedColumn]) -> tuple[str, ...]:
    """Return what a release with several sensitive columns in a row rests on."""
    many = sum(column.role == "sensitive" for column in columns)
    if many < 2:
        return ()
    words = (
        f"Nobody knows a sensitive value of whom they look for: each of the {many} sensitive columns is protected by "
        "itself, and whoever knows one may find the row by it and read the others."
    )
    return (words,)


def manifest_path(table: str | Path) -> Path:
    """Return where the manifest of a table lies."""
    return Path(table).with_suffix(MANIFEST)


def manifest_bytes(manifest: Manifest) -> bytes:
    """Return a manifest as it is written."""
    return (json.dumps(manifest.to_json(), indent=2, ensure_ascii=False) + "\n").encode()


def manifest_at(path: Path) -> dict[str, JSON] | None:
    """Return what a file says if it looks like a manifest of Reveil's; None for anything else."""
    try:
        if path.stat().st_size > LARGEST:
            return None
        manifest = read_json(path)
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) and "reveil" in manifest and "release" in manifest else None


def read_manifest(table: str | Path) -> Manifest:
    """Read the manifest beside a table."""
    path = manifest_path(table)
    unreadable = FileError("this manifest cannot be read", file=path, hint="It must be the JSON that Reveil wrote.")
    try:
        given = read_json(path)
    except FileNotFoundError:
        raise FileError(
            "this release has no manifest",
            file=table,
            hint=f"Reveil writes {path.name} beside each table; keep the two together.",
        ) from None
    except (OSError, ValueError):
        raise unreadable from None
    if not isinstance(given, dict) or given.get("format") not in READ:
        raise FileError(
            "this manifest has a format that this version does not know",
            file=path,
            hint=f"This is Reveil {version()}; it reads the formats {' and '.join(map(str, READ))}.",
        )
    try:
        manifest = Manifest.from_json(given)
        if manifest.digest is None:
            raise UnusableError("digest")
    except RecursionError:
        raise unreadable from None
    except UnusableError as wrong:
        raise FileError(
            f"this manifest has no usable {wrong.key!r}", file=path, hint="Use the one that Reveil wrote."
        ) from None
    return manifest


def read_json(path: Path) -> JSON:
    """Read a JSON file; what is not JSON, or nested without end, raises ValueError."""
    try:
        content: JSON = json.loads(path.read_bytes())
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return content


def digest_of(*files: str | Path) -> str:
    """Return the digest of the bytes of the given files, in order."""
    total = hashlib.sha256()
    for file in files:
        with Path(file).open("rb") as stream:
            while block := stream.read(1 << 20):
                total.update(block)
    return "sha256:" + total.hexdigest()


def digest_of_bytes(content: bytes) -> str:
    """Return the digest of some bytes."""
    return "sha256:" + hashlib.sha256(content).hexdigest()
