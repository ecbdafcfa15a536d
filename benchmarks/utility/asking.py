"""How wrong counts are that name two quasi columns and a set of sensitive values, on any form of release.

The answer of a reader: over all rows, the chance that the row lies in the window (its box spread evenly, column by
column) times the share of its group's values that were asked for, less what is counterfeit
or dirty: the manifest tells how many such rows there are. Where values stand in a second table, ``release.count`` has
another estimate for the same questions, ``fitted``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.analysis.measures.base import Subject, Workload
from reveil.analysis.measures.query_error import cell_shares
from reveil.analysis.workload import windows
from reveil.models.encoding import Kind, encode_sensitive
from reveil.releases.respelling import respelled
from reveil.tables.snapshot import canonical_text, read_snapshot

if TYPE_CHECKING:
    import reveil as rv
    from reveil.models.encoding import Attribute

QUERIES = 400
SELECTIVITY = 0.05
COLUMNS = 2


def query_error(frame: pl.DataFrame, release: rv.Release, schema: rv.Schema, seed: int = 0) -> float:
    """Return the mean relative error of random counts; those without any record in truth are left out.

    A window of d columns has selectivity^(1/d) of the records in each: with two quasi columns and the sensitive one,
    d is three.
    """
    snapshot = read_snapshot(frame, schema)
    subject = Subject(snapshot, respelled(release, snapshot), Workload())
    name = schema.sensitive[0]
    columns = subject.columns
    quasi = [column.attribute for column in columns]
    side = SELECTIVITY ** (1 / (COLUMNS + 1))
    asked = windows(quasi, QUERIES, dimensionality=COLUMNS, selectivity=side**COLUMNS, seed=seed)
    own = encode_sensitive(snapshot.frame[name], schema[name])
    wanted = _sets(np.bincount(own.codes, minlength=own.domain), side, seed + 1)
    texts = canonical_text(snapshot.frame[name])
    code_of = dict(zip(texts.to_list(), own.codes.tolist(), strict=True))
    groups, values = subject.published_values
    codes = np.array([code_of.get(text, own.domain) for text in canonical_text(values[name]).to_list()])
    counts = values["count"].to_numpy() if "count" in values.columns else np.ones(len(codes))
    size = len(subject.group_rows)
    total = np.bincount(groups, counts, size)
    real = subject.clean * (1 - subject.group_fakes / np.maximum(subject.group_rows, 1))
    index = [column.index.astype(np.intp) for column in columns]
    errors = []
    for q in range(QUERIES):
        inside = np.ones(subject.n_classes)
        truth = wanted[q][own.codes]
        for a in np.flatnonzero(asked.used[q]):
            low, high = asked.lo[q, a], asked.hi[q, a]
            inside *= cell_shares(columns[a], np.array([low]), np.array([high]))[0][index[a]]
            truth = truth & (quasi[a].codes >= low) & (quasi[a].codes <= high)
        if not truth.any():
            continue
        among = np.bincount(groups, counts * np.append(wanted[q], False)[codes], size) / np.maximum(total, 1)
        guess = float((inside[subject.release.classes] * (real * among)[subject.groups]).sum())
        errors.append(abs(guess - truth.sum()) / truth.sum())
    return float(np.mean(errors))


def fitted_error(frame: pl.DataFrame, release: rv.Release, schema: rv.Schema, seed: int = 0) -> float | None:
    """Return the mean relative error of the other estimate of the same counts; None for releases of one table."""
    if release.batch is None:
        return None
    snapshot = read_snapshot(frame, schema)
    name = schema.sensitive[0]
    quasi = [column.attribute for column in Subject(snapshot, respelled(release, snapshot), Workload()).columns]
    side = SELECTIVITY ** (1 / (COLUMNS + 1))
    asked = windows(quasi, QUERIES, dimensionality=COLUMNS, selectivity=side**COLUMNS, seed=seed)
    own = encode_sensitive(snapshot.frame[name], schema[name])
    wanted = _sets(np.bincount(own.codes, minlength=own.domain), side, seed + 1)
    errors = []
    for q in range(QUERIES):
        truth = wanted[q][own.codes]
        parts = [_words(snapshot.frame[name].filter(truth))]
        for a in np.flatnonzero(asked.used[q]):
            inside = (quasi[a].codes >= asked.lo[q, a]) & (quasi[a].codes <= asked.hi[q, a])
            parts.append(_window(quasi[a], snapshot.frame[quasi[a].name].filter(inside)))
            truth = truth & inside
        if truth.any():
            fitted = release.count(" and ".join(parts), schema).fitted
            if fitted is None:
                raise AssertionError("every question here names values of the second table")
            errors.append(abs(fitted - truth.sum()) / truth.sum())
    return float(np.mean(errors))


def _window(attribute: Attribute, values: pl.Series) -> str:
    """Write a range of the values that lie in a window, or the set of them."""
    if attribute.kind is Kind.INTERVAL:
        low, high = canonical_text(pl.Series([values.min(), values.max()], dtype=values.dtype)).to_list()
        return f"`{values.name}` in [{low}, {high}]"
    return _words(values)


def _words(values: pl.Series) -> str:
    words = ["'" + word.replace("'", "''") + "'" for word in canonical_text(values.unique().drop_nulls()).to_list()]
    return f"`{values.name}` in {{{', '.join(words)}}}"


def _sets(counts: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Draw for each query a set of values that so large a share of the records has, one value after the other."""
    rng = np.random.default_rng(seed)
    found = np.zeros((QUERIES, len(counts)), np.bool_)
    for row in found:
        order = rng.permutation(len(counts))
        before = np.cumsum(counts[order]) - counts[order]
        row[order[before < share * counts.sum()]] = True
    return found
