"""The public manifest of a release: what was promised, to whom it applies, and the digest of the bytes.

It is made once (:func:`make_manifest`) and never changed: whoever knows more of it, a series or the writer of its
files, makes another with :func:`dataclasses.replace`. ``manifest.schema.json`` beside this file says how it is written.

Nothing in it comes from raw values that are not published, and the seed is never in it: who knows the seed can
undo the shuffle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING

from reveil.core.json_values import JSON, FrozenObject, frozen_object, thawed
from reveil.releases.assumptions import OF_RELATIVES, RELATED, of_several
from reveil.releases.domains import check_domains
from reveil.releases.manifest_parts import (
    VISITS,
    Counterfeits,
    PublishedColumn,
    TablePart,
    read_column,
    read_counterfeits,
    read_digests,
    read_parts,
    read_records,
    read_selection,
)
from reveil.releases.reading import ManifestObject, read_promise

if TYPE_CHECKING:
    from reveil.releases.promise import Promise

FORMAT = 2
READ = (1, FORMAT)  # formats that are understood; the first states a kind with parameters, and no limits
SECOND = "sensitive"  # the second table of a release that has two


@cache
def version() -> str:
    """Return the version of the installed package."""
    from importlib.metadata import version as installed

    return installed("reveil")


@dataclass(frozen=True, eq=False)
class Manifest(Mapping[str, JSON]):
    """All that is told of a release beside its table; as a mapping it has the keys of the file.

    ``release`` and ``created`` are None where nobody knows them, ``suppressed`` where it is kept secret. ``stale`` rows
    show what their person was told with last. ``adopted`` are the releases of the series that came from elsewhere,
    ``selection`` the columns that decided who is in this one, ``domains`` the declared orders and hierarchies
    (:mod:`reveil.releases.domains`). ``records`` says, where rows of the table were visits, by which rule a person's
    rows became one value of each column (``*``: of all others). ``digest`` is that of the bytes as they were written,
    ``digests`` has it for each format, ``previous`` is the digest of the manifest before. ``parts`` are those of a
    release in a folder, whose digest is one over theirs. ``engine`` is which one worked, where it was not this
    machine's memory, and with how many rows at once: groups depend on it. ``others`` are keys that this
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
    domains: Mapping[str, JSON] | None = None
    records: Mapping[str, str] | None = None
    digest: str | None = None
    digests: Mapping[str, str] | None = None
    parts: tuple[TablePart, ...] | None = None
    engine: Mapping[str, JSON] | None = None
    format: int = FORMAT
    reveil: str | None = field(default_factory=version)
    others: FrozenObject = field(default_factory=lambda: FrozenObject({}))

    def __post_init__(self) -> None:
        for name in ("achieved", "others"):
            object.__setattr__(self, name, frozen_object(getattr(self, name)))
        for name in ("digests", "domains", "records", "engine"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen_object(getattr(self, name)))

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

    @property
    def second_tables(self) -> dict[str, tuple[str, ...]]:
        """The tables of sensitive columns, each with groups of its own: what is in each, in the order of the config."""
        found: dict[str, tuple[str, ...]] = {}
        for column in self.columns:
            if column.table is not None and column.table.startswith(f"{SECOND}/"):
                name = column.table.removeprefix(f"{SECOND}/")
                found[name] = (*found.get(name, ()), column.name)
        return found

    @property
    def real_rows(self) -> int:
        """How many rows are about somebody: where each sensitive column has a table, counterfeits are in those only."""
        return self.rows - (0 if self.second_tables else self.counterfeits.total)

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
            "domains": thawed(self.domains),
            "records": None if self.records is None else {"of": VISITS, "rules": thawed(self.records)},
            "digest": self.digest,
            "digests": thawed(self.digests),
            "parts": None if self.parts is None else [part.to_json() for part in self.parts],
            "engine": thawed(self.engine),
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
            columns=tuple(read_column(column) for column in columns),
            rows=told.number("rows"),
            groups=told.number("groups"),
            achieved=frozen_object(told.object("achieved")),
            created=told.text("created"),
            suppressed=told.count("suppressed"),
            withheld=told.number("withheld"),
            dirty=told.number("dirty"),
            stale=told.count("stale"),
            counterfeits=read_counterfeits(told),
            series_id=told.text("series_id"),
            previous=told.text("previous"),
            selection=read_selection(told),
            adopted=told.counts("adopted"),
            domains=check_domains(told.given.get("domains"), columns),
            records=read_records(told),
            digest=told.text("digest"),
            digests=read_digests(told),
            parts=read_parts(told),
            engine=None if told.given.get("engine") is None else told.object("engine"),
            format=told.number("format"),
            reveil=told.text("reveil"),
            others=FrozenObject({key: value for key, value in told.given.items() if key not in KEYS}),
        )


KEYS = (
    *("format", "reveil", "series", "series_id", "release", "created", "guarantee", "claim", "assumes", "promise"),
    *("columns", "rows", "groups", "suppressed", "withheld", "dirty", "stale", "counterfeits", "achieved"),
    *("selection", "adopted", "domains", "records", "digest", "digests", "parts", "engine", "previous"),
)
OPTIONAL = frozenset(
    [
        "reveil",
        "series_id",
        "promise",
        "stale",
        "selection",
        "adopted",
        "domains",
        "records",
        "digests",
        "parts",
        "engine",
    ]
)


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
    domains: Mapping[str, JSON] | None = None,
    related: bool = False,
) -> Manifest:
    """Make a manifest of now; ``digest`` is known when the table is written, ``previous`` to a series.

    ``related``: the owner declared who belongs together.
    """
    described = tuple(columns)
    if promise.claim:
        promise = replace(promise, assumes=(*promise.assumes, *of_several(described)))
    if promise.claim and related:
        promise = replace(
            promise, assumes=(*promise.assumes, RELATED), not_covered=(*promise.not_covered, OF_RELATIVES)
        )
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
        domains=domains,
    )


def now() -> str:
    """Return the time as a manifest tells it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
