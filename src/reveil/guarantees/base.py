"""What a guarantee is: it prepares a release from a snapshot and says what the release promises.

To add one: a file in this folder, a line under ``[project.entry-points."reveil.guarantees"]``, its judge
(``reveil.verification.judges``, ``[project.entry-points."reveil.judges"]``), its cases under ``tests/guarantees`` and
its sabotages under ``tests/sabotage``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

from reveil.core import registry
from reveil.core.errors import ConfigError
from reveil.core.json_values import frozen_object
from reveil.core.settings import Section, build
from reveil.guarantees.explained import Explained
from reveil.models.limits import Limit, at_most
from reveil.releases.limits import stated
from reveil.releases.promise import Promise

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    import numpy.typing as npt
    import polars as pl

    from reveil.core.arrays import BoolArray, CodeArray
    from reveil.core.json_values import JSON
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.signatures.sets import Sets
    from reveil.models.base import Model
    from reveil.models.encoding import Codes
    from reveil.releases.manifest import Manifest
    from reveil.releases.membership import Membership
    from reveil.releases.promise import Against, Signatures
    from reveil.releases.release import Release
    from reveil.tables.expressions import Expression
    from reveil.tables.schema import Schema
    from reveil.tables.snapshot import Snapshot
    from reveil.vault.protocol import Book, Entries


@dataclass(frozen=True)
class Memory:
    """What the world was told so far about the persons of a snapshot, and what is told of them now.

    ``values`` is the sensitive value of each record as a code that lasts, ``texts`` what the codes stand for (null: a
    missing value), ``known`` the codes in use, of which those below ``seen`` were known before this
    snapshot, and ``declared`` those of values that are known before any data.
    ``present``: in the last release; ``changed``: with another sensitive value than when the person was last seen.
    ``sets`` are signatures, and the person of record ``block_records[i]`` was in the signature ``block_sets[i]``.
    ``lasting`` has the codes that last of each quasi and sensitive column, and ``book`` are the ledgers. ``whole`` is
    the snapshot with all its columns, its records in the same order, where only some are published. ``layout`` is what
    the method kept of how it divided the space, None before it did; ``part``: only some columns or records of the table
    are published; ``where``: which records, where not all of the table were asked for.
    """

    release: int
    values: CodeArray = field(repr=False)
    texts: pl.Series = field(repr=False)
    known: CodeArray = field(repr=False)
    declared: CodeArray = field(repr=False)
    seen: int
    present: BoolArray = field(repr=False)
    changed: BoolArray = field(repr=False)
    sets: Sets
    block_records: CodeArray = field(repr=False)
    block_sets: CodeArray = field(repr=False)
    book: Book = field(repr=False)
    lasting: Mapping[str, CodeArray] = field(repr=False)
    whole: Snapshot | None = field(default=None, repr=False)
    layout: Mapping[str, JSON] | None = field(default=None, repr=False)
    part: bool = False
    where: Expression | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Prepared:
    """A release that nobody has seen yet, and what verification needs: whose record each row is.

    ``placement`` is the record of each row, -1 for counterfeits. ``told`` are the signatures that the vault has to
    remember, as pairs of a record and the codes of the set (``3,17,22``), ``entries`` what goes into ledgers; ``facts``
    is for the owner's eyes only. ``snapshot`` is what was published, where that is more than was asked for: the
    records asked for come first, then *dirty* ones, of persons who are not in the table. ``layout`` is what the method
    wants to find again at the next release: regions and cut points, no record.
    """

    release: Release
    placement: npt.NDArray[np.int32]
    codes: Codes
    model: Model
    told: pl.DataFrame | None = None
    facts: Mapping[str, JSON] = field(default_factory=dict)
    entries: tuple[Entries, ...] = ()
    snapshot: Snapshot | None = None
    dirty: CodeArray | None = None  # the persons behind the dirty records of the snapshot, in their order
    replaces: bool = False  # what is told now takes the place of all that was remembered of these persons
    layout: Mapping[str, JSON] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Adoption:
    """What a guarantee makes of a release from elsewhere: what goes into ledgers, and whom it cannot go on with.

    ``unsafe_groups`` break the promise already, and so many persons are ``held_back`` from now on. ``more`` are values
    that the release shows and the snapshot does not have; they have the next codes. ``told`` are the signatures that
    persons may have been told, as in :class:`Prepared`. ``kept`` persons go on in groups of their own,
    ``renewed`` ones as if they were new, and ``crossed`` were told something before that does not go with it.
    ``merged`` persons are in ``cells`` from now on that are published whole or not at all.
    """

    entries: tuple[Entries, ...]
    unsafe_groups: int
    held_back: int
    more: pl.Series | None = None
    told: pl.DataFrame | None = None
    replaces: bool = False
    kept: int = 0
    renewed: int = 0
    crossed: int = 0
    merged: int = 0
    cells: int = 0


class Guarantee(ABC):
    """A bound, with the parameters that the config gives it."""

    kind: ClassVar[str]
    whole_table: ClassVar[bool] = False  # whether columns that are not published now matter, and are remembered
    any_columns: ClassVar[bool] = False  # whether a release may leave out the sensitive column
    against: ClassVar[Against] = "presence"  # what the adversary knows of people whom the bound is meant for
    explained: ClassVar[Explained] = Explained("value", (), ())  # what is bounded, and what it means, for everybody
    paths: ClassVar[tuple[str, ...]] = ()  # settings that are paths, which a config means relative to itself
    remembers: ClassVar[bool] = False  # whether a release depends on those before it, and needs a vault and persons

    @classmethod
    def from_config(cls, table: dict[str, Any]) -> Self:
        """Build from the ``[guarantee]`` table of a config, without its ``kind``."""
        return build(cls, table, Section("[guarantee]", f"the guarantee {cls.kind!r}"))

    @abstractmethod
    def check(self, schema: Schema, method: Grouper | None) -> None:
        """Refuse, before any data is read, what cannot work."""

    @abstractmethod
    def model_for(self, schema: Schema) -> Model:
        """Return the model that every group of every release of this guarantee satisfies."""

    def for_release(self, manifest: Manifest) -> Guarantee:  # noqa: ARG002
        """Return the guarantee with the settings that a release was left to choose, as its manifest promises them."""
        return self

    def state(
        self,
        claim: str,
        assumes: Iterable[str],
        *,
        grade: str,
        settings: Mapping[str, JSON],
        signatures: Signatures | None = None,
    ) -> Promise:
        """Return the promise of these settings, with its claim in one sentence and what that assumes."""
        return Promise(
            self.kind,
            claim,
            grade,
            frozen_object(settings),
            tuple(assumes),
            self.bound,
            self.explained.about,
            self.against,
            stated(self.limits()),
            self.explained.not_covered,
            signatures,
        )

    @abstractmethod
    def check_promise(self, manifest: Manifest, schema: Schema, records: int) -> None:
        """Refuse a manifest that does not promise what these settings ask for, of a snapshot of so many records."""

    def check_made_by(self, manifest: Manifest, method: Grouper | None) -> None:  # noqa: B027
        """Refuse a release that another method made than the config names, where the promise rests on the method."""

    @property
    def bound(self) -> float | None:
        """How strongly a value may be believed at most over the whole series; None where no number is promised."""
        return None

    def limits(self) -> tuple[Limit, ...]:
        """Return of which attacks the promise speaks, and how far they may get: what an audit judges releases by.

        By default the bound, on what is believed of a value by comparing any releases.
        """
        return at_most(self.bound, "value")

    def settings(self) -> dict[str, JSON]:
        """Return the parameters under their config names, as the vault keeps them."""
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]

    def may_change(self, key: str, before: object, after: object) -> bool:  # noqa: ARG002
        """Return whether this setting of the guarantee may be another one from the next release on."""
        return False

    def caution(self, before: int, returned: int, changed: int) -> str | None:  # noqa: ARG002
        """Return a word to the owner when what happened since the last release is not what this guarantee is for.

        So many persons were published ``before``, so many ``returned`` after they were gone, and so many have a
        sensitive value that ``changed``.
        """
        return None

    def declared(self, schema: Schema) -> tuple[str, ...]:  # noqa: ARG002
        """Return the sensitive values that are known before any data, as texts; they are remembered first."""
        return ()

    @abstractmethod
    def prepare(
        self,
        snapshot: Snapshot,
        method: Grouper | None,
        rng: np.random.Generator,
        *,
        series: str | None,
        memory: Memory | None = None,
        codes: Codes | None = None,
    ) -> Prepared:
        """Group, recode and describe; nothing is written. A guarantee that remembers needs what was told before.

        ``codes`` may be handed over where the caller has them.
        """

    def adopted(
        self,
        memory: Memory,  # noqa: ARG002
        snapshot: Snapshot,  # noqa: ARG002
        release: Release,  # noqa: ARG002
        members: Membership,  # noqa: ARG002
    ) -> Adoption | None:
        """Return what to remember of a release that was made elsewhere; None where nothing is.

        ``members`` says who may be in which group, as far as whoever holds the release can know. What is decided must
        be the same for every table that agrees with the release: nothing may depend on a person's own value.
        """
        return None

    def may_select(self) -> None:  # noqa: B027
        """Refuse to publish some of the people of a table, and others the next time."""

    def may_forget(self, *, tombstone: bool) -> None:  # noqa: B027
        """Refuse an erasure after which the rule of the series could not be kept."""

    def budget(self, book: Book, schema: Schema, releases: int) -> list[dict[str, JSON]]:  # noqa: ARG002
        """Return what is left of whose budget for which values after so many releases, for the owner's eyes."""
        known = registry.everything("guarantees").items()
        able = " or ".join(f'"{name}"' for name, own in known if own.budget is not Guarantee.budget)
        raise ConfigError(
            f"the guarantee {self.kind!r} spends no budget", hint=f"kind = {able} bounds what adds up over releases."
        )

    def loose_rows(self, release: Release) -> int:  # noqa: ARG002
        """Return how many rows of a release may show another value than the snapshot has, by the rule of the series."""
        return 0
