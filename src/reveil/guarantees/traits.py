"""What is true of a guarantee with its settings: facts that a series acts on, so that it asks for no kind by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reveil.core.errors import RefusedError
from reveil.core.json_values import list_in

if TYPE_CHECKING:
    from reveil.core.json_values import JSON
    from reveil.grouping.groupers.base import Grouper
    from reveil.tables.joint import Together
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

    def warning(self, **counts: int) -> str | None:
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
    erased without a tombstone. ``usual_method`` is what groups where no method is named; None where the guarantee does
    so by itself. ``worded_before`` are claims with which the same was promised by earlier versions. ``by_column``:
    every sensitive column is remembered by itself, and those that are ``together`` as one. ``usual`` are values of its
    settings, and methods, that are tried where somebody explores what it costs and does not say with which: few enough
    that a table of 50,000 records takes a minute.
    """

    settings: Mapping[str, JSON] = field(repr=False)
    remembers: bool = False
    whole_table: bool = False
    any_columns: bool = False
    making: frozenset[str] = frozenset()
    free: frozenset[str] = frozenset()
    grow: frozenset[str] = frozenset()
    declared: tuple[str, ...] | Mapping[str, tuple[str, ...]] | None = field(default=(), repr=False)
    caution: Caution | None = None
    parts: Refusal | None = None
    erasure: Refusal | None = None
    worded_before: tuple[str, ...] = ()
    usual_method: Grouper | None = None
    by_column: bool = False
    together: Together = ()
    usual: Mapping[str, tuple[JSON, ...]] = field(default_factory=dict, repr=False)

    def may_change(self, key: str, before: JSON, after: JSON) -> bool:
        """Return whether a setting may be another one from the next release on."""
        if not self.remembers or key in self.making | self.free:
            return True
        grows = key in self.grow and before is not None and after is not None
        if grows and isinstance(before, Mapping) and isinstance(after, Mapping):
            return all(set(list_in(earlier)) <= set(list_in(after.get(name, []))) for name, earlier in before.items())
        return grows and set(list_in(before)) <= set(list_in(after))

    def declared_in(self, schema: Schema) -> tuple[str, ...]:
        """Return the values of the first sensitive column that are known before any data; see :meth:`declared_for`."""
        return self.declared_for(schema, schema.sensitive[0])

    def declared_for(self, schema: Schema, name: str) -> tuple[str, ...]:
        """Return the values of a column that are known before any data, as texts; they are remembered first."""
        if isinstance(self.declared, Mapping):
            return self.declared[name] if name in self.declared else schema[name].declared
        return self.declared if self.declared is not None else schema[name].declared

    def declared_by(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """Return the values of the columns with signatures that are known before any data."""
        names = schema.sensitive if self.by_column else schema.sensitive[:1]
        return {name: self.declared_for(schema, name) for name in names}

    def check_parts(self) -> None:
        """Refuse to publish some of the people of a table, and others the next time, where that is no good."""
        if self.parts is not None:
            raise self.parts.error()

    def check_adoption(self, schema: Schema) -> None:
        """Refuse a release from elsewhere where several columns would have to be told apart in it."""
        if self.by_column and (len(schema.sensitive) > 1 or schema.plain):
            raise RefusedError(
                "a release from elsewhere cannot be adopted into a series with several sensitive columns, or with "
                "plain ones: who was in which group of which column cannot be told from it",
                hint="Adopt it into a series with one sensitive column, or begin one of other people.",
            )

    def check_erasure(self, *, tombstone: bool) -> None:
        """Refuse an erasure after which the rule of the series could not be kept."""
        if self.erasure is not None and not tombstone:
            raise self.erasure.error()
