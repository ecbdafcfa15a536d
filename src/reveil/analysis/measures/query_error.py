"""How wrong the answers to COUNT queries are."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from reveil.analysis.measures.base import Meaning, Subject, Sum, SummedMeasure, Sums
from reveil.analysis.workload import Windows, true_counts, windows
from reveil.models.encoding import FloatArray, Kind
from reveil.tables.expressions import matches
from reveil.tables.expressions.blocks import THIN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reveil.analysis.measures.columns import MeasuredColumn
    from reveil.analysis.workload import WrittenQuery
    from reveil.core.arrays import IntArray
    from reveil.core.json_values import JSON
    from reveil.releases.nesting import Nesting

EDGES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)  # of the histogram, the last interval being open
AT_ONCE = 16  # windows whose shares are held in memory together


class QueryError(SummedMeasure):
    """``query_error``: relative error of random COUNT windows over the quasi attributes.

    *Definition*: |estimate - truth|/truth, with ``truth`` the raw records in the window and ``estimate`` the published
    ones, each counted with the share of its box that lies in the window; attributes multiply. Within a cell all values
    are alike: whole numbers and dates by number, floats by length, sets by members, taxonomy nodes by leaves, and a
    null among others is one more value (beside a cell of floats, decimals or times: beside as many values as the
    release has published ends inside it). Where boxes are nested, records are spread over the part of their box that no
    box further inside holds. ``mean``, ``median`` and a ``histogram`` over the windows; windows in which
    no raw record lies are ``skipped`` and counted. *Range*: from 0 up; smaller is better. *Suppressed and withheld
    records* are in the truth only. *Counterfeits* are taken out of the estimate, group by group, because the manifest
    tells how many there are; *dirty* rows from all groups alike. A workload of the caller's is asked as it is written;
    what names a sensitive column is ``query_error_sensitive``. *Source*: 000, 2.5.2; 004 (Xiao, Tao 2006).
    """

    meanings: ClassVar = {"query_error": Meaning("relative error of random COUNT queries", "smaller")}
    place: ClassVar = 100

    def of_classes(self, subject: Subject) -> Sums:
        """Ask the published data."""
        workload, columns = subject.workload, subject.columns
        if workload.written:
            return written_guesses(subject, sensitive=False)
        if not workload.queries:
            return {}
        records = subject.class_real * subject.clean
        if subject.nesting is not None:
            records = in_blocks(subject.nesting, columns, records)
        return {"guess": estimates(columns, records, self._asked(subject))}

    def of_records(self, subject: Subject) -> Sums:
        """Ask the raw data the same queries."""
        if subject.workload.written:
            return written_counts(subject, sensitive=False)
        if not subject.workload.queries:
            return {}
        attributes = [column.attribute for column in subject.columns]
        return {"truth": true_counts(attributes, self._asked(subject)).astype(np.float64)}

    @staticmethod
    def _asked(subject: Subject) -> Windows:
        workload, columns = subject.workload, subject.columns
        return windows(
            [column.attribute for column in columns],
            workload.queries,
            dimensionality=workload.dimensionality,
            selectivity=workload.selectivity,
            seed=workload.seed,
            counts=[column.counts for column in columns],
        )

    def figures(self, sums: Mapping[str, Sum], subject: Subject) -> Mapping[str, JSON]:  # noqa: ARG002
        """Compare the answers."""
        return {"query_error": compared(sums)}

    def reason_against_parts(self, subject: Subject) -> str | None:
        """Beside what stands next to a null, the published ends of the whole release count."""
        return reason_against_shares(subject)


def reason_against_shares(subject: Subject) -> str | None:
    """Say why what share of a cell lies in a window cannot be told part by part, or None."""
    if not subject.workload.queries:
        return None
    for column in subject.columns:
        attribute = column.attribute
        fine = not (attribute.domain.dtype.is_integer() or attribute.domain.dtype == pl.Date)
        if attribute.kind is Kind.INTERVAL and fine and column.counts[-1]:
            return f"how much a null counts in column {attribute.name!r} depends on all published ends"
    return None


def compared(sums: Mapping[str, Sum]) -> dict[str, JSON] | None:
    """Return how wrong the guesses are; None where nothing was asked."""
    if "guess" not in sums:
        return None
    guess, truth = np.maximum(np.asarray(sums["guess"]), 0.0), np.asarray(sums["truth"])
    return summary(guess, truth.astype(np.int64))


def summary(guess: FloatArray, truth: IntArray) -> dict[str, JSON]:
    """Return mean, median and histogram of relative errors; questions that no raw record satisfies are skipped."""
    filled = truth > 0
    errors = np.abs(guess[filled] - truth[filled]) / truth[filled]
    counts = np.bincount(np.searchsorted(EDGES, errors, "right") - 1, minlength=len(EDGES))
    return {
        "mean": float(errors.mean()) if len(errors) else None,
        "median": float(np.median(errors)) if len(errors) else None,
        "skipped": int((~filled).sum()),
        "histogram": {"from": list(EDGES), "queries": counts.tolist()},
    }


def written_guesses(subject: Subject, *, sensitive: bool) -> Sums:
    """Ask the release the caller's own questions: those that name a sensitive column, or those that do not."""
    guess = []
    for written in _chosen(subject, sensitive=sensitive):
        with written.named():
            guess.append(subject.release.count(written.expression, subject.schema).estimate)
    return {"guess": np.array(guess, np.float64)} if guess else {}


def written_counts(subject: Subject, *, sensitive: bool) -> Sums:
    """Ask the records the same questions."""
    frame, schema, truth = subject.snapshot.frame, subject.schema, []
    for written in _chosen(subject, sensitive=sensitive):
        with written.named():
            truth.append(int(matches(written.expression, frame, schema).sum()))
    return {"truth": np.array(truth, np.float64)} if truth else {}


def _chosen(subject: Subject, *, sensitive: bool) -> list[WrittenQuery]:
    names = {*subject.schema.sensitive}
    return [asked for asked in subject.workload.written if bool(asked.expression.columns() & names) == sensitive]


def estimates(columns: Sequence[MeasuredColumn], records: FloatArray, asked: Windows) -> FloatArray:
    """Return what a reader would answer: per class the records times the share of the box inside the window.

    ``records`` are those of each class, or for each query (rows) those of each class.
    """
    index = [column.index.astype(np.intp) for column in columns]

    def run(first: int) -> list[float]:
        part = slice(first, first + AT_ONCE)
        lo, hi, used = asked.lo[part].astype(np.intp), asked.hi[part].astype(np.intp), asked.used[part]
        inside = np.repeat(records[None, :], len(lo), axis=0) if records.ndim == 1 else records[part].copy()
        for a, column in enumerate(columns):
            rows = np.flatnonzero(used[:, a])
            if len(rows):
                shares = cell_shares(column, lo[rows, a], hi[rows, a])
                for row, share in zip(rows, shares, strict=True):
                    inside[row] *= share[index[a]]
        return [float(row.sum()) for row in inside]

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        parts = pool.map(run, range(0, len(asked), AT_ONCE))
        return np.array([answer for part in parts for answer in part], np.float64)


def in_blocks(nesting: Nesting, columns: Sequence[MeasuredColumn], records: FloatArray) -> FloatArray:
    """Spread the records of each box over its block, as records of nested boxes, of which some are taken away.

    With d records in each unit of a block's volume, a box counts for its volume times its own d less its parent's:
    then every point counts for the d of the innermost box around it. A block without volume has its box.
    """
    inner = np.flatnonzero(nesting.parent >= 0)
    around = nesting.parent[inner]
    share = np.ones(len(inner))  # of the box around, that the inner one has
    for column in columns:
        cells, outer, null = column.index[inner], column.index[around], column.admitted.null
        if column.attribute.kind is Kind.INTERVAL:
            line = column.line
            beside = np.where(line.only_null, 1.0, np.where(null, 1 / (1 + line.beside_null), 0.0))[outer]
            length = line.lengths[outer]
            part = np.where(length > 0, line.lengths[cells] / np.where(length > 0, length, 1.0), 1.0)
            share *= np.where(line.only_null[cells], 0.0, part) * (1 - beside) + null[cells] * beside
        else:
            values = np.maximum(column.published_values + null, 1)
            share *= values[cells] / values[outer]
    left = 1 - np.bincount(around, share, len(records))
    thin = left < THIN
    dense = records / np.where(thin, 1.0, left)
    found = dense.copy()
    found[inner] -= np.where(thin[around], 0.0, dense[around] * share)
    return np.asarray(found, np.float64)


def cell_shares(column: MeasuredColumn, first: IntArray, last: IntArray) -> FloatArray:
    """Return for each run of codes (rows) and distinct cell (columns) the share of the cell inside the run."""
    null = column.admitted.null
    if column.attribute.kind is Kind.INTERVAL:
        line = column.line
        not_null = np.where(null, 1 - 1 / (1 + line.beside_null), 1.0)
        return line.parts(first, last) * np.where(line.only_null, 0.0, not_null)
    # A set of a fake may hold values that the snapshot does not have: they are in no window, but they are values.
    values = column.published_values
    if column.admitted.members is not None:
        codes = np.arange(column.attribute.null_code)[:, None]
        asked = ((codes >= first) & (codes <= last)).astype(np.float64)
        cell, code = column.member_cells
        from scipy.sparse import csr_array  # takes a while to load, and most commands ask nothing

        sets = csr_array((np.ones(len(cell)), (cell, code)), shape=(len(values), len(asked)))
        inside = np.asarray(sets @ asked).T
    else:
        start = np.maximum(column.admitted.lo, first[:, None])
        inside = np.maximum(np.minimum(column.admitted.hi, last[:, None]) - start + 1, 0)
    return np.asarray(inside / np.maximum(values + null, 1), np.float64)
