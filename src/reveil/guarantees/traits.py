"""What is true of a guarantee with its settings: facts that a series acts on, so that it asks for no kind by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reveil.core.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.tables.schema import Schema


@dataclass(frozen=True)
class Refusal:
    """Why something cannot be done under a guarantee, and what can."""

    message: str
    hint: str

    def error(self) -> RefusedError:
        """Return it to be raised."""
        return RefusedError(self.message, hint=self.hint)


@dataclass(frozen=True)
class Caution:
    """A word to the owner when what happened since the last release is not what a guarantee is for.

    It is said when there is any of what it is ``about``: persons who were published ``before``, who ``returned`` after
    they were gone, or whose sensitive value ``changed``. In ``words`` these names stand for how many there are.
    """

    about: tuple[str, ...]
    words: str

    def said(self, **counts: int) -> str | None:
        """Return the words with the numbers of today; None where there is nothing to say."""
        return self.words.format(**counts) if any(counts[name] for name in self.about) else None


@dataclass(frozen=True)
class Traits:
    """The facts of one guarantee.

    ``settings`` are its parameters under their config names, as the vault keeps them. ``remembers``: a release depends
    on those before it, and needs a vault and persons. ``whole_table``: columns that are not published now matter, and
    are remembered. ``any_columns``: a release may leave out the sensitive column.

    ``making``: settings that say how a release is made and not what it promises. They may change from the next release
    on, and so may ``free`` ones; values may be added to lists that ``grow``. Where nothing is remembered, all may.

    ``declared`` are the sensitive values that are known before any data, as texts; None: those that the schema declares
    for the column. ``parts`` is why some of the people cannot be published by themselves, ``erasure`` why nobody can be
    erased without a tombstone. ``worded_before`` are claims with which the same was promised by earlier versions.
    """

    settings: Mapping[str, Any] = field(repr=False)
    remembers: bool = False
    whole_table: bool = False
    any_columns: bool = False
    making: frozenset[str] = frozenset()
    free: frozenset[str] = frozenset()
    grow: frozenset[str] = frozenset()
    declared: tuple[str, ...] | None = field(default=(), repr=False)
    caution: Caution | None = None
    parts: Refusal | None = None
    erasure: Refusal | None = None
    worded_before: tuple[str, ...] = ()

    def may_change(self, key: str, before: Any, after: Any) -> bool:
        """Return whether a setting may be another one from the next release on."""
        if not self.remembers or key in self.making | self.free:
            return True
        return key in self.grow and before is not None and after is not None and set(before) <= set(after)

    def declared_in(self, schema: Schema) -> tuple[str, ...]:
        """Return the sensitive values that are known before any data, as texts; they are remembered first."""
        if self.declared is not None:
            return self.declared
        column = schema[schema.sensitive[0]]
        return tuple(column.taxonomy.leaves) if column.taxonomy is not None else column.order or ()

    def check_parts(self) -> None:
        """Refuse to publish some of the people of a table, and others the next time, where that is no good."""
        if self.parts is not None:
            raise self.parts.error()

    def check_erasure(self, *, tombstone: bool) -> None:
        """Refuse an erasure after which the rule of the series could not be kept."""
        if self.erasure is not None and not tombstone:
            raise self.erasure.error()
