"""A hierarchy that somebody asks for: of which column of which table, and made how."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from reveil.core.errors import ConfigError, DataError, FileError, InputError, shown
from reveil.tables import column_hints as hints
from reveil.tables import making_hierarchies as making
from reveil.tables.detection import detect
from reveil.tables.hierarchy import Taxonomy, value_text
from reveil.tables.schema import Role
from reveil.tables.settings import load_schema
from reveil.tables.snapshot import canonical_text, read_snapshot
from reveil.tables.snapshot.types import infer_type

if TYPE_CHECKING:
    import polars as pl

    from reveil.tables.making_hierarchies import Path_

_WAYS = "Give one of --dates, --prefix, --bins, --order and --cluster."
_SIZES = "2,4,8"  # of the runs of an order


@dataclass(frozen=True)
class MadeHierarchy:
    """A path for each value, from the value to the root, read back as a taxonomy; ``show``: labels may be seen."""

    paths: list[Path_] = field(repr=False)
    taxonomy: Taxonomy = field(repr=False)
    show: bool


@dataclass(frozen=True)
class HierarchyRequest:
    """A column of a table, and one way of making its hierarchy; an order may have the sizes of its runs (``bins``)."""

    data: str
    column: str
    config: str | None = None
    dates: str | None = None
    prefix: str | None = None
    bins: str | None = None
    order: str | None = None
    cluster: int | None = None

    def __post_init__(self) -> None:
        ways = (self.dates, self.prefix, None if self.order else self.bins, self.order, self.cluster)
        if sum(way is not None for way in ways) != 1:
            raise InputError("one way of making a hierarchy is needed", hint=_WAYS)

    def made(self, where: str) -> MadeHierarchy:
        """Make it, and read it back: what does not load, or does not cover a value, is no hierarchy."""
        if self.config is None:
            if self.cluster is not None:
                raise ConfigError(
                    "--cluster needs to know which columns are published beside this one",
                    hint="Give the config with -c: the sensitive column must not decide what is near.",
                )
            frame, beside, show = _found(self.data, self.column)
        else:
            frame, beside, show = _declared(self.data, self.column, self.config, clustering=self.cluster is not None)
        paths = _paths(frame[self.column], beside, self, show=show)
        if not paths:
            raise DataError(
                f"column {self.column!r} has no values", column=self.column, hint="Every cell of it is empty."
            )
        taxonomy = Taxonomy.from_paths([tuple(reversed(path)) for path in paths], where=where, show=show)
        values = canonical_text(frame[self.column].drop_nulls().unique())
        lost = [value for value in values if value not in taxonomy.leaf_code]
        if lost:
            raise DataError(
                f"column {self.column!r}: {len(lost):,} values have no place" + (f": {shown(lost)}" if show else ""),
                column=self.column,
            )
        return MadeHierarchy(paths, taxonomy, show)


def _paths(column: pl.Series, beside: pl.DataFrame, asked: HierarchyRequest, *, show: bool) -> list[Path_]:
    """Make a path for each value."""
    values = column.drop_nulls().unique().sort()
    if asked.dates is not None:
        return making.by_periods(values, [level.strip() for level in asked.dates.split(",")])
    if asked.prefix is not None:
        return making.by_prefix(values, [int(n) for n in _numbers(asked.prefix, "--prefix")])
    if asked.order is not None:
        listed = _lines(Path(asked.order))
        sizes = [int(n) for n in _numbers(asked.bins or _SIZES, "--bins")]
        if asked.bins is None:
            sizes = [size for size in sizes if size < len(listed)] or [2]
        return making.by_order(values, listed, sizes, show=show)
    if asked.bins is not None:
        return making.by_bins(values, _numbers(asked.bins, "--bins"))
    return making.by_clusters(column, beside, int(asked.cluster or 0))


def _found(data: str, column: str) -> tuple[pl.DataFrame, pl.DataFrame, bool]:
    """Read a column of a table that nobody has described; its values are shown unless its name speaks of a secret."""
    frame = detect(Path(data)).table.frame
    _check(column, frame.columns, data)
    series = frame[column]
    series = infer_type(series) if str(series.dtype) == "String" else series
    return series.to_frame(), frame.clear().select(), hints.topic(column, hints.SENSITIVE) is None


def _declared(data: str, column: str, config_path: str, *, clustering: bool) -> tuple[pl.DataFrame, pl.DataFrame, bool]:
    """Read the table as a config says; return the column, the quasi columns beside it, and whether values are shown."""
    schema = load_schema(config_path)
    _check(column, [each.name for each in schema.columns], config_path)
    role = schema[column].role
    if role not in (Role.QUASI, Role.SENSITIVE) or (clustering and role is Role.SENSITIVE):
        raise ConfigError(
            f"column {column!r} is {role.value}, and cannot be "
            + ("clustered: the groups would tell who has what" if role is Role.SENSITIVE else "given a hierarchy"),
            file=config_path,
            column=column,
            hint="Hierarchies are for quasi columns, and for sensitive ones by their own values alone.",
        )
    # The one that it has now need not cover the table: another one is to be made.
    columns = [replace(each, taxonomy=None, order=None) if each.name == column else each for each in schema.columns]
    frame = read_snapshot(data, schema.with_columns(columns)).frame
    beside = frame.select(name for name in schema.quasi if name != column)
    return frame, beside, role is Role.QUASI


def _check(column: str, names: list[str], file: str) -> None:
    if column not in names:
        raise DataError(f"there is no column {column!r}", file=file, column=column, hint=f"There are {shown(names)}.")


def _numbers(text: str, option: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{option} must be numbers, separated by commas", hint=f"{option} 5,10,20") from None


def _lines(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, ValueError):
        raise FileError(
            "cannot read this order", file=path, hint="It is a text in UTF-8, a value on each line."
        ) from None
    return [value_text(line.strip()) for line in lines if line.strip()]
