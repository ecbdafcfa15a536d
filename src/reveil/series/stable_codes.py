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
    from collections.abc import Iterable, Iterator

    from reveil.core.arrays import CodeArray
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
    found = LastingCodes()
    new: dict[str, pl.Series] = {}
    for attribute in codes.quasi:
        texts = canonical_text(attribute.domain).cast(pl.String).extend(pl.Series([None], dtype=pl.String))
        occurs = np.zeros(len(texts), np.bool_)
        occurs[attribute.codes] = True
        code_of = np.full(len(texts), -1, np.int32)
        code_of[occurs], new[attribute.name] = _look_up(vault, attribute.name, texts.filter(occurs))
        found.add(attribute.name, attribute.codes, code_of)
    first_codes: dict[str, CodeArray] = {}
    for name in snapshot.schema.sensitive:
        values = canonical_text(snapshot.frame[name]).alias("value")
        first = _declared(snapshot.frame[name], list(declared.get(name, ())))
        if snapshot.schema[name].folds and snapshot.frame.schema[name] == pl.String:
            first = spelled_as(first, (*(snapshot.schema[name].labels or ()), *snapshot.schema[name].spellings))
        first = first.alias("value")
        distinct = pl.concat([first, values.unique().sort()]).unique(maintain_order=True)
        code, new[name] = _look_up(vault, name, distinct)
        known = pl.DataFrame({"value": distinct, "code": code})
        if name in declared:
            first_codes[name] = code[: len(first)].astype(np.int32)
        joined = values.to_frame().join(known, on="value", how="left", maintain_order="left", nulls_equal=True)
        found.add(name, joined["code"].to_numpy().astype(np.int32))
    return StableCodes(found, {name: values for name, values in new.items() if len(values)}, first_codes)


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
    total = hashlib.sha256()
    for numbers in persons:
        total.update(numbers.astype("<i8").tobytes())
    for name in names:
        series = frame[name]
        missing = series.is_null().to_numpy()
        total.update(f"{name}\0{len(series)}\0".encode())
        total.update(np.packbits(missing).tobytes())
        physical = series.to_physical()
        if physical.dtype.is_integer() and physical.dtype.is_signed_integer() and str(physical.dtype) != "Int128":
            total.update(physical.fill_null(0).cast(pl.Int64).to_numpy().astype("<i8").tobytes())
            continue
        texts = canonical_text(series).fill_null("")
        total.update(texts.str.len_bytes().to_numpy().astype("<u4").tobytes())
        total.update(str(texts.str.join("").item()).encode())
    return "sha256:" + total.hexdigest()


def in_order(snapshot: Snapshot, order: npt.NDArray[np.integer]) -> Snapshot:
    """Return the snapshot with its records in another order."""
    return replace(snapshot, frame=snapshot.frame[order])
