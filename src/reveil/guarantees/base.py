"""What a guarantee is: it decides what a release of a snapshot is like, and says what it promises.

To add one: a file in this folder, a line under ``[project.entry-points."reveil.guarantees"]``, its judge
(``reveil.verification.judges``, ``[project.entry-points."reveil.judges"]``), its cases under ``tests/guarantees`` and
its sabotages under ``tests/sabotage``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from reveil.core.arrays import BoolArray, CodeArray
    from reveil.core.json_values import JSON
    from reveil.core.randomness import Dice
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.draft import Draft, Request
    from reveil.guarantees.explained import Explained
    from reveil.guarantees.signatures.sets import Sets
    from reveil.guarantees.traits import Traits
    from reveil.models.base import Model
    from reveil.releases.membership import Membership
    from reveil.releases.promise import Promise
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
    ``stable_codes`` are the codes that last of quasi and sensitive columns, and ``book`` are the ledgers. ``whole`` is
    the snapshot with all its columns, its records in the same order, where only some are published. ``layout`` is what
    the method kept of how it divided the space, None before it did; ``part``: only some columns or records of the table
    are published; ``where``: which records, where not all of the table were asked for. ``columns`` has the same for
    each sensitive column, where several have signatures.
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
    stable_codes: Mapping[str, CodeArray] = field(repr=False)
    whole: Snapshot | None = field(default=None, repr=False)
    layout: Mapping[str, JSON] | None = field(default=None, repr=False)
    part: bool = False
    where: Expression | None = field(default=None, repr=False)
    columns: Mapping[str, Memory] = field(default_factory=dict, repr=False)

    def of(self, column: str) -> Memory:
        """Return the memory of one sensitive column, where several have signatures."""
        return self.columns.get(column, self)


@dataclass(frozen=True)
class Adoption:
    """What a guarantee makes of a release from elsewhere: what goes into ledgers, and whom it cannot go on with.

    ``unsafe_groups`` break the promise already, and so many persons are ``held_back`` from now on. ``more`` are values
    that the release shows and the snapshot does not have; they have the next codes. ``told`` are the signatures that
    persons may have been told, as in :class:`~reveil.guarantees.draft.Remembered`. ``kept`` persons go on in groups of
    their own, ``renewed`` ones as if they were new, and ``crossed`` were told something before that does not go
    with it. ``merged`` persons are in ``cells`` from now on that are published whole or not at all.
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
    """A bound, with the parameters that the config gives it: the fields of a frozen dataclass.

    It decides, and hands over what it decided (:class:`~reveil.guarantees.draft.Draft`). Shuffling, numbering, writing,
    verifying and remembering are not its business (:mod:`reveil.guarantees.assembly`).
    """

    kind: ClassVar[str]
    explained: ClassVar[Explained]  # what is bounded, and what it means, in words for everybody

    @property
    @abstractmethod
    def traits(self) -> Traits:
        """What a series has to know of it."""

    @abstractmethod
    def check(self, schema: Schema, method: Grouper | None) -> None:
        """Refuse, before any data is read, what cannot work."""

    @abstractmethod
    def model_for(self, schema: Schema) -> Model:
        """Return the model that every group of every release of this guarantee satisfies."""

    @abstractmethod
    def promise(self, schema: Schema, method: Grouper | None) -> Promise:
        """Return what every release promises that this method makes of tables with this schema."""

    @abstractmethod
    def decide(self, request: Request, rng: Dice) -> Draft:
        """Decide who is published in which group; nothing is put together. Who remembers needs what was told before."""

    def adopt(
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


@runtime_checkable
class Budgeted(Protocol):
    """A guarantee that spends a budget from release to release."""

    def budget(self, book: Book, schema: Schema, releases: int) -> list[dict[str, JSON]]:
        """Return what is left of whose budget for which values after so many releases, for the owner's eyes."""
