"""Workloads: random COUNT queries, windows over the quasi attributes, and how many raw records each holds; or a file.

A window asks for a run of codes in some of the attributes: numbers, dates and declared orders from one value to
another, neighbouring leaves of a taxonomy, and of other categories values that are about equally frequent (their codes
are in that order). It never asks for null.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reveil.core.errors import ConfigError, FileError, InputError
from reveil.core.kernels import windows as kernel
from reveil.tables.expressions import parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reveil.core.arrays import BoolArray, CodeArray, IntArray
    from reveil.models.encoding import Attribute
    from reveil.tables.expressions import Expression

SELECTIVITY = 0.05
CHUNK = 1 << 16  # records that one thread takes at a time


@dataclass(frozen=True)
class Windows:
    """Queries, one per row: a record is inside if its code is in ``lo..hi`` for every attribute that is ``used``."""

    lo: CodeArray
    hi: CodeArray
    used: BoolArray

    def __len__(self) -> int:
        return len(self.lo)


@dataclass(frozen=True)
class WrittenQuery:
    """An expression of a workload that somebody wrote, and the line it stands in."""

    expression: Expression
    file: Path
    line: int

    @contextmanager
    def named(self) -> Iterator[None]:
        """Name the file and the line in whatever is wrong with it."""
        try:
            yield
        except InputError as error:
            raise _in_line(error, self.file, self.line) from None


def _in_line(error: InputError, file: Path, line: int) -> InputError:
    return InputError(error.message, file=file, line=line, hint=error.hint)


def written_queries(path: str | os.PathLike[str]) -> tuple[WrittenQuery, ...]:
    """Read a workload: one expression a line; empty lines and those that begin with # are left out."""
    file = Path(path)
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise FileError("this file is not UTF-8", file=file, hint="Save it as UTF-8.") from None
    except OSError:
        raise FileError(
            "this workload cannot be read", file=file, hint="Pass a number of random queries, or a file of expressions."
        ) from None
    found = []
    for number, text in enumerate(lines, 1):
        if text.strip() and not text.lstrip().startswith("#"):
            try:
                found.append(WrittenQuery(parse(text), file, number))
            except InputError as error:
                raise _in_line(error, file, number) from None
    if not found:
        raise InputError("this workload has no expressions", file=file, hint="Write one in each line: age >= 40")
    return tuple(found)


def windows(
    attributes: Sequence[Attribute],
    number: int,
    *,
    dimensionality: int | None = None,
    selectivity: float = SELECTIVITY,
    seed: int = 0,
    counts: Sequence[IntArray] | None = None,
) -> Windows:
    """Draw queries over coded attributes; the same seed gives the same queries.

    ``dimensionality`` is the number of attributes that a query names (None: from one to all of them, at random). Each
    of d attributes gets a run of codes that holds selectivity^(1/d) of its values, counted with their frequency, so
    that about that ``selectivity`` of all records would be inside if attributes were independent. Codes that many
    records share make it more. ``counts`` are the records of each code, null last, where not all of them are here.
    """
    if counts is None:
        counts = [np.bincount(a.codes, minlength=a.null_code + 1).astype(np.int64) for a in attributes]
    usable = np.array([bool(column_counts[:-1].any()) for column_counts in counts], np.bool_)
    _check(number, dimensionality, selectivity, seed, int(usable.sum()))
    rng = np.random.default_rng(seed)
    shape = (number, len(attributes))
    most = max(int(usable.sum()), 1)
    dimensions = rng.integers(1, most + 1, number) if dimensionality is None else np.full(number, dimensionality)
    rank = np.where(usable, rng.random(shape), 2.0).argsort(axis=1).argsort(axis=1)
    used: BoolArray = (rank < dimensions[:, None]) & usable
    share = selectivity ** (1 / dimensions)
    lo, hi = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    for a, column_counts in enumerate(counts):
        begin = rng.random(number) * (1 - share)
        if not usable[a]:
            continue
        until = np.cumsum(column_counts[:-1])
        first = np.minimum(begin * until[-1], until[-1] - 1).astype(np.int64)
        last = np.clip(np.ceil((begin + share) * until[-1]).astype(np.int64) - 1, first, until[-1] - 1)
        lo[:, a], hi[:, a] = np.searchsorted(until, first, "right"), np.searchsorted(until, last, "right")
    return Windows(lo, hi, used)


def true_counts(attributes: Sequence[Attribute], asked: Windows) -> IntArray:
    """Return how many records lie in each window."""
    records = len(attributes[0].codes)

    def run(first: int) -> IntArray:
        part = np.stack([a.codes[first : first + CHUNK] for a in attributes])
        found = np.zeros(len(asked), np.int64)
        kernel.count(part, asked.lo, asked.hi, asked.used, found)
        return found

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        parts = list(pool.map(run, range(0, records, CHUNK)))
    total: IntArray = np.stack(parts).sum(axis=0)
    return total


def _check(number: int, dimensionality: int | None, selectivity: float, seed: int, most: int) -> None:
    for name, value in (("the number of queries", number), ("seed", seed)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise ConfigError(f"{name} must be a whole number from 0 up, not {value!r}")
    if dimensionality is not None and not 1 <= dimensionality <= most:
        raise ConfigError(
            f"a query cannot name {dimensionality} attributes",
            hint=f"From 1 to {most} have values that can be asked for.",
        )
    if not 0 < selectivity <= 1:
        raise ConfigError(f"selectivity must be a share above 0 and up to 1, not {selectivity!r}")
