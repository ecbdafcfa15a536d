"""A column: its role, its type, and how its values are handled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from reveil.core.defaults import in_force, kept_default
from reveil.core.errors import ConfigError
from reveil.tables.alike import alike
from reveil.tables.binning import Edges, edges_of, labels_of
from reveil.tables.cell_notation import check_date_format
from reveil.tables.coarsening import Coarsening
from reveil.tables.hierarchy import Taxonomy, value_text


class Role(StrEnum):
    """What a column is, and therefore what happens to it."""

    PERSON = "person"  # the stable identity: never published
    IDENTIFIER = "identifier"  # dropped
    QUASI = "quasi"  # published in generalised form
    SENSITIVE = "sensitive"  # published; what must not be linked to a person
    PLAIN = "plain"  # published as it is


class Type(StrEnum):
    """How the cells of a column are read. Without one, the type is inferred (files) or kept (frames)."""

    NUMBER = "number"
    DATE = "date"
    DATETIME = "datetime"
    TIME = "time"
    TEXT = "text"
    BOOLEAN = "boolean"


LEAST_WEIGHT, MOST_WEIGHT = 0.01, 100.0
FOLDED, EXACT = "folded", "exact"
TIGHTEST, LABEL = "tightest", "label"
HierarchySource = str | Path | Mapping[str, object] | Taxonomy


@dataclass(frozen=True)
class Column:
    """One column: its role and how its values are handled.

    ``steady``: how a cell is read and stored depends on the declared type and on the cell alone, on no other cell.
    ``compare``: whether texts of a sensitive column that look alike are one value (``folded``, also where nothing is
    said) or not (``exact``); ``spellings`` are those that were fixed before, the first of which wins. ``weight``: how
    much the width of a quasi column counts beside that of the others, 1 where nothing is said. ``cells``: whether
    a cell of a quasi column with a hierarchy is the set of the values that occur (``tightest``, also where nothing is
    said) or one label over all of them (``label``). ``coarse``: what its values become before anything else sees them.
    ``bins`` of a sensitive number are how many, or their edges, and then the bins are what is read: ``order`` has their
    names afterwards, and ``cut`` the edges. ``dates`` is the format of its dates in text, ``null_values`` are marks for
    its missing cells, beside those for all columns. ``tell``: whether manifests tell its declared order or
    hierarchy. ``relation``: people with the same cell of an identifier belong together (a household).
    """

    name: str
    role: Role
    type: Type | None = None
    taxonomy: Taxonomy | None = None
    order: tuple[str, ...] | None = None
    bins: int | Edges | None = None
    steady: bool = False
    compare: str | None = None
    weight: float | None = None
    cells: str | None = kept_default(TIGHTEST, before=LABEL, only_where="has_labels")
    spellings: tuple[str, ...] = field(default=(), repr=False, compare=False)
    coarse: Coarsening | None = None
    dates: str | None = None
    null_values: tuple[str, ...] = ()
    tell: bool = True
    relation: bool = False
    cut: Edges | None = None

    def __post_init__(self) -> None:
        self._check_compare()
        self._check_coarse()
        self._check_weight()
        self._check_cells()
        if self.relation and self.role is not Role.IDENTIFIER:
            raise ConfigError(
                f"column {self.name!r} is {self.role.value} and cannot have relation",
                column=self.name,
                hint="relation = true is for an identifier (the number of a household) that says who belongs together.",
            )
        handled = [key for key, value in (("hierarchy", self.taxonomy), ("order", self.order)) if value is not None]
        if handled and self.role not in (Role.QUASI, Role.SENSITIVE):
            raise ConfigError(
                f"column {self.name!r} is {self.role.value} and cannot have {' and '.join(handled)}",
                column=self.name,
                hint="Hierarchies and orders belong to quasi and sensitive columns.",
            )
        if len(handled) == 2:
            raise ConfigError(
                f"column {self.name!r} has both a hierarchy and an order", column=self.name, hint="Keep one of the two."
            )
        if not handled and not self.tell:
            raise ConfigError(
                f"column {self.name!r} has neither a hierarchy nor an order, and cannot have tell",
                column=self.name,
                hint="It says whether manifests tell the one that is declared.",
            )
        if self.order is not None and len(set(self.order)) != len(self.order):
            raise ConfigError(f"the order of column {self.name!r} names a value twice", column=self.name)
        if self.bins is not None:
            if self.role is not Role.SENSITIVE:
                raise ConfigError(
                    f"column {self.name!r} is {self.role.value} and cannot have bins",
                    column=self.name,
                    hint="Bins are for sensitive numbers; quasi numbers are generalised by the method.",
                )
            if isinstance(self.bins, bool) or not isinstance(self.bins, int) or self.bins < 2:
                object.__setattr__(self, "bins", edges_of(self.name, self.bins))
            if self.coarse is not None and isinstance(self.bins, tuple):
                handled = ["top, bottom or round"]
            if handled:
                raise ConfigError(
                    f"column {self.name!r} has bins and {handled[0]}",
                    column=self.name,
                    hint="Bins are for plain numbers.",
                )

    def _check_compare(self) -> None:
        if self.compare is not None:
            if self.compare not in (FOLDED, EXACT):
                raise ConfigError(
                    f"column {self.name!r}: compare must be {FOLDED!r} or {EXACT!r}",
                    column=self.name,
                    hint="folded: texts that look alike are one value (the default). exact: every spelling is one.",
                )
            if self.role is not Role.SENSITIVE:
                raise ConfigError(
                    f"column {self.name!r} is {self.role.value} and cannot have compare",
                    column=self.name,
                    hint="It is for sensitive texts; all others are compared exactly.",
                )
        if self.folds and self.labels is not None and (many := alike(self.labels)):
            raise looks_alike(self.name, f"its {'hierarchy' if self.order is None else 'order'}", many)

    def _check_coarse(self) -> None:
        if self.coarse is None:
            return
        kinds = (Type.DATE, Type.DATETIME) if self.coarse.dates else (Type.NUMBER,)
        fits = self.type is None or self.type in kinds
        if self.role not in (Role.QUASI, Role.SENSITIVE, Role.PLAIN) or not fits or self.labels is not None:
            what = self.role.value if fits and self.labels is None else "declared as something else"
            raise ConfigError(
                f"column {self.name!r} is {what} and cannot have top, bottom or round",
                column=self.name,
                hint="They are for published numbers and dates; orders and hierarchies say themselves what is coarse.",
            )

    def _check_weight(self) -> None:
        if self.weight is None:
            return
        if self.role is not Role.QUASI:
            raise ConfigError(
                f"column {self.name!r} is {self.role.value} and cannot have weight",
                column=self.name,
                hint="It says how much the width of a quasi column counts.",
            )
        given: object = self.weight
        if isinstance(given, bool) or not isinstance(given, int | float) or not LEAST_WEIGHT <= given <= MOST_WEIGHT:
            raise ConfigError(
                f"column {self.name!r}: weight must be a number from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}",
                column=self.name,
                hint="1 is what every column has; weight = 3 makes the width of this one count three times.",
            )

    def _check_cells(self) -> None:
        if self.cells is None:
            return
        if self.cells not in (TIGHTEST, LABEL):
            raise ConfigError(
                f"column {self.name!r}: cells must be {TIGHTEST!r} or {LABEL!r}",
                column=self.name,
                hint="tightest: the set of the values that occur (the default). label: one label over them.",
            )
        if not self.has_labels:
            raise ConfigError(
                f"column {self.name!r} is no quasi column with a hierarchy and cannot have cells",
                column=self.name,
                hint="It says how cells with labels of a hierarchy are written.",
            )

    @property
    def tight(self) -> bool:
        """Whether its cells hold just the leaves of its hierarchy that occur."""
        return self.taxonomy is not None and in_force(self, "cells") != LABEL

    @property
    def has_labels(self) -> bool:
        """Whether its cells may be labels of a hierarchy."""
        return self.role is Role.QUASI and self.taxonomy is not None

    @property
    def folds(self) -> bool:
        """Whether texts that look alike are one value."""
        return self.role is Role.SENSITIVE and self.compare != EXACT

    @property
    def labels(self) -> tuple[str, ...] | None:
        """The values that its hierarchy or order lists; None where it has neither."""
        return self.order if self.taxonomy is None else tuple(self.taxonomy.leaves)

    @property
    def declared(self) -> tuple[str, ...]:
        """The values that are known before any data: of an order, a hierarchy or declared bins."""
        return self.in_bins.labels or ()

    @property
    def in_bins(self) -> Column:
        """The column as it is once its numbers are in declared bins; the same where it has none."""
        if not isinstance(self.bins, tuple):
            return self
        return replace(self, type=Type.TEXT, order=labels_of(self.bins), bins=None, cut=self.bins)

    @property
    def typed(self) -> bool:
        """Whether nothing about its type is left to the table: it is declared, or an order or a hierarchy is."""
        return self.type is not None or self.order is not None or self.taxonomy is not None


def make_column(
    name: str,
    role: Role,
    *,
    type: str | None = None,  # noqa: A002  (the config's own word)
    hierarchy: HierarchySource | None = None,
    order: Sequence[object] | None = None,
    bins: int | Sequence[float] | None = None,
    compare: str | None = None,
    weight: float | None = None,
    coarse: Mapping[str, object] | None = None,
    dates: str | None = None,
    null_values: Sequence[str] = (),
    cells: str | None = None,
    tell: bool = True,
    relation: bool = False,
) -> Column:
    """Build a column from what a user wrote, with errors that name the column."""
    kind: Type | None = None
    if type is not None:
        try:
            kind = Type(type)
        except ValueError:
            raise ConfigError(
                f"column {name!r} has the unknown type {type!r}", column=name, hint=f"Known types: {', '.join(Type)}."
            ) from None
    if compare is not None and kind not in (None, Type.TEXT):
        raise ConfigError(
            f"column {name!r} is declared as {type} and cannot have compare",
            column=name,
            hint="It is for texts; numbers, dates and truth values are compared by what they are.",
        )
    if dates is not None:
        check_date_format(dates, f"column {name!r}")
    if order is not None and (isinstance(order, str) or not isinstance(order, Sequence)):
        raise ConfigError(f"the order of column {name!r} must be a list of values", column=name)
    return Column(
        name,
        role,
        kind,
        None if hierarchy is None else Taxonomy.load(hierarchy, show=role is not Role.SENSITIVE),
        None if order is None else tuple(value_text(v) for v in order),
        bins,  # type: ignore[arg-type]  # edges are made of a list, or refused
        compare=compare,
        weight=weight,
        coarse=_coarsening(name, coarse or {}),
        cells=cells,
        dates=dates,
        null_values=tuple(null_values),
        tell=tell,
        relation=relation,
    )


def _coarsening(name: str, given: Mapping[str, object]) -> Coarsening | None:
    unknown = [key for key in given if key not in ("top", "bottom", "round")]
    if unknown:
        raise ConfigError(
            f"column {name!r} cannot be made coarser by {unknown[0]!r}", column=name, hint="Known: top, bottom, round."
        )
    return Coarsening.of(name, given.get("top"), given.get("bottom"), given.get("round"))


def looks_alike(name: str, where: str, many: int) -> ConfigError:
    """Return the refusal of declared values that are one value when texts are folded."""
    some = "1 value looks like another one" if many == 1 else f"{many:,} values look like others"
    return ConfigError(
        f"column {name!r}: {some} in {where}",
        column=name,
        hint="Case, white space and forms of letters do not count in sensitive texts: keep one spelling of each value, "
        'or tell them apart with compare = "exact".',
    )
