"""Codes that last: what a snapshot is in the words of the vault."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.core.errors import ConfigError
from reveil.tables.alike import spelled_as
from reveil.tables.notation import parsed
from reveil.tables.snapshot import Snapshot, canonical_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from reveil.core.arrays import BoolArray, CodeArray
    from reveil.models.encoding import Codes
    from reveil.vault import Vault


@dataclass(frozen=True)
class StableCodes:
    """The columns of a snapshot as codes of the vault's dictionaries; ``new`` are the values to be added to them.

    ``declared`` are the codes of the values that are known before any data, by column.
    """

    codes: Mapping[str, CodeArray] = field(repr=False)
    new: Mapping[str, pl.Series] = field(repr=False)
    declared: Mapping[str, CodeArray] = field(repr=False, default_factory=dict)


class LastingCodes(Mapping[str, "CodeArray"]):
    """Codes that last by column; those of quasi columns are made from the codes of the release when they are asked for.

    Kept for all columns at once they would be as large as the codes themselves.
    """

    def __init__(self) -> None:
        self._columns: dict[str, tuple[CodeArray, CodeArray | None]] = {}

    def add(self, name: str, codes: CodeArray, lasting: CodeArray | None = None) -> None:
        """Add a column of codes that last, or of codes with what lasts of each."""
        self._columns[name] = codes, lasting

    def __getitem__(self, name: str) -> CodeArray:
        codes, lasting = self._columns[name]
        return codes if lasting is None else lasting[codes]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


def find_stable_codes(
    vault: Vault, snapshot: Snapshot, codes: Codes, declared: Mapping[str, Iterable[str]]
) -> StableCodes:
    """Give every quasi and sensitive value the code that it has had, or the next one.

    ``declared`` are values of sensitive columns that are known before any data; they are added first.
    """
    occurring = {attribute.name: _occurring(attribute.null_code + 1, attribute.codes) for attribute in codes.quasi}
    domains = {attribute.name: attribute.domain for attribute in codes.quasi}
    texts = {name: canonical_text(snapshot.frame[name]) for name in snapshot.schema.sensitive}
    known = stable_meanings(
        vault, snapshot, domains, occurring, {name: values.unique() for name, values in texts.items()}, declared
    )
    found = LastingCodes()
    for attribute in codes.quasi:
        found.add(attribute.name, attribute.codes, known.quasi[attribute.name])
    for name, values in texts.items():
        found.add(name, known.code(name, values))
    return StableCodes(found, known.new, known.declared)


def _occurring(size: int, codes: CodeArray) -> BoolArray:
    occurs = np.zeros(size, np.bool_)
    occurs[codes] = True
    return occurs


@dataclass(frozen=True)
class StableMeanings:
    """What lasts of codes and of values, whoever has them.

    ``quasi`` has for each code of a release the one that lasts, -1 for a value that nobody has; ``sensitive`` has
    ``value`` (a text) and ``code``. ``new`` and ``declared``: see :class:`StableCodes`.
    """

    quasi: Mapping[str, CodeArray] = field(repr=False)
    sensitive: Mapping[str, pl.DataFrame] = field(repr=False)
    new: Mapping[str, pl.Series] = field(repr=False)
    declared: Mapping[str, CodeArray] = field(repr=False)

    def code(self, name: str, texts: pl.Series) -> CodeArray:
        """Return the code of each value of a sensitive column."""
        rows = texts.alias("value").to_frame()
        joined = rows.join(self.sensitive[name], on="value", how="left", maintain_order="left", nulls_equal=True)
        return joined["code"].to_numpy().astype(np.int32)


def stable_meanings(
    vault: Vault,
    snapshot: Snapshot,
    domains: Mapping[str, pl.Series],
    occurring: Mapping[str, BoolArray],
    values: Mapping[str, pl.Series],
    declared: Mapping[str, Iterable[str]],
) -> StableMeanings:
    """Give every value the code that it has had, or the next one; of the snapshot only its columns are looked at.

    ``domains`` are the values of quasi columns in the order of their codes, of which some are ``occurring`` (the last
    one stands for a missing value); ``values`` are the different texts of sensitive columns.
    """
    new: dict[str, pl.Series] = {}
    quasi: dict[str, CodeArray] = {}
    sensitive: dict[str, pl.DataFrame] = {}
    for name, domain in domains.items():
        texts = canonical_text(domain).cast(pl.String).extend(pl.Series([None], dtype=pl.String))
        occurs = occurring[name]
        quasi[name] = np.full(len(texts), -1, np.int32)
        quasi[name][occurs], new[name] = _look_up(vault, name, texts.filter(occurs))
    first_codes: dict[str, CodeArray] = {}
    for name, texts in values.items():
        first = _declared(snapshot.frame[name], list(declared.get(name, ())))
        if snapshot.schema[name].folds and snapshot.frame.schema[name] == pl.String:
            first = spelled_as(first, (*(snapshot.schema[name].labels or ()), *snapshot.schema[name].spellings))
        first = first.alias("value")
        distinct = pl.concat([first, texts.alias("value").sort()]).unique(maintain_order=True)
        code, new[name] = _look_up(vault, name, distinct)
        sensitive[name] = pl.DataFrame({"value": distinct, "code": code})
        if name in declared:
            first_codes[name] = code[: len(first)].astype(np.int32)
    return StableMeanings(quasi, sensitive, {name: texts for name, texts in new.items() if len(texts)}, first_codes)


def _declared(column: pl.Series, texts: list[str]) -> pl.Series:
    """Return declared values as canonical texts of the column's type; each must be a value, and another one."""
    given = pl.Series(texts, dtype=pl.String)
    if not len(given) or column.dtype == pl.String:
        return canonical_text(given)
    try:
        canonical = canonical_text(parsed(given, column.dtype))
    except ValueError:
        canonical = given.clear()
    if len(canonical) != len(given) or canonical.null_count() or canonical.is_duplicated().any():
        raise ConfigError(
            f"the declared values of column {column.name!r} are not {len(given)} different values of its type",
            column=column.name,
            hint="Write each value once, as it stands in the table.",
        )
    return canonical


def _look_up(vault: Vault, name: str, texts: pl.Series) -> tuple[CodeArray, pl.Series]:
    """Return the code of each of some distinct texts, and the texts that are new."""
    codes = vault.lookup(name, texts).copy()
    unknown = codes < 0
    codes[unknown] = vault.next_code(name) + np.arange(int(unknown.sum()))
    return codes, texts.filter(unknown).alias(name)


def texts_of(vault: Vault, name: str, stable: StableCodes) -> pl.Series:
    """Return what the codes of a column stand for, by code; null where a value is missing or erased."""
    known = vault.values(name)
    size = vault.next_code(name)
    texts = pl.DataFrame({"code": np.arange(size, dtype=np.int32)}).join(
        known, on="code", how="left", maintain_order="left"
    )["value"]
    more = stable.new.get(name)
    return texts if more is None else pl.concat([texts.rename(name), more.rename(name)])


def digest_of_snapshot(frame: pl.DataFrame, names: Iterable[str], *persons: npt.NDArray[np.int64]) -> str:
    """Return a digest of what the table says in some columns, in the order of its rows; and of its pseudonyms.

    Made from values, not from the layout of a file or of a library's memory: it stays the same over versions.
    """
    columns = {name: lambda name=name: iter([frame[name]]) for name in names}
    return digest_of_columns(frame.height, columns, *(iter([pl.Series(numbers)]) for numbers in persons))


def digest_of_columns(
    rows: int, columns: Mapping[str, Callable[[], Iterator[pl.Series]]], *persons: Iterator[pl.Series]
) -> str:
    """Return the digest of a table whose columns come in pieces, each as often as it is asked for."""
    total = hashlib.sha256()
    for numbers in persons:
        for piece in numbers:
            total.update(piece.to_numpy().astype("<i8").tobytes())
    for name, pieces in columns.items():
        total.update(f"{name}\0{rows}\0".encode())
        left, dtype = np.zeros(0, np.bool_), None
        for series in pieces():
            dtype = series.to_physical().dtype
            missing = np.concatenate([left, _missing(series)])
            whole = len(missing) // 8 * 8
            total.update(np.packbits(missing[:whole]).tobytes())
            left = missing[whole:]
        total.update(np.packbits(left).tobytes())
        if dtype is not None and dtype.is_signed_integer() and str(dtype) != "Int128":
            for series in pieces():
                physical = series.to_physical()
                physical = physical.fill_null(0) if physical.null_count() else physical
                total.update(physical.cast(pl.Int64).to_numpy().astype("<i8").tobytes())
            continue
        for series in pieces():
            total.update(canonical_text(series).fill_null("").str.len_bytes().to_numpy().astype("<u4").tobytes())
        for series in pieces():
            total.update(str(canonical_text(series).fill_null("").str.join("").item()).encode())
    return "sha256:" + total.hexdigest()


def _missing(series: pl.Series) -> BoolArray:
    return series.is_null().to_numpy() if series.null_count() else np.zeros(len(series), np.bool_)


def in_order(snapshot: Snapshot, order: npt.NDArray[np.integer]) -> Snapshot:
    """Return the snapshot with its records in another order."""
    return replace(snapshot, frame=snapshot.frame[order])
