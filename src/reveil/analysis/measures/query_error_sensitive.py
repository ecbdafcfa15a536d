"""How wrong the answers to COUNT queries are that ask for sensitive values, too."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from reveil.analysis.measures.base import Meaning, Measure, Subject
from reveil.analysis.measures.query_error import AT_ONCE, estimates, in_blocks, summary, written_errors
from reveil.analysis.workload import Windows, windows
from reveil.core.arrays import sums_of
from reveil.models.encoding import encode_sensitive
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.arrays import BoolArray, CodeArray
    from reveil.core.json_values import JSON
    from reveil.models.encoding import FloatArray

COLUMNS = 2  # quasi columns in a question, unless the caller says how many


class SensitiveQueryError(Measure):
    """``query_error_sensitive``: relative error of COUNT windows that ask for a set of sensitive values, too.

    *Definition*: as ``query_error``; a question names two quasi columns (or as many as the caller says) and values of
    one sensitive column, a run of them where they have an order, else a set; each of the d columns has
    selectivity^(1/d) of the records. The estimate is the sum over rows of the share of the box in the window, times the
    share of the values asked for in the row's group where the values stand in a second table. *Range*: from 0 up;
    smaller is better. *Suppressed and withheld records* are in the truth only. *Counterfeits* are taken out, group by
    group, *dirty* rows from all groups alike. *Source*: utility as analysts have it: Xiao, Tao 2006.
    """

    meanings: ClassVar = {
        "query_error_sensitive": Meaning("the same with sensitive values asked for", "smaller"),
    }
    place: ClassVar = 101

    def of(self, subject: Subject) -> Mapping[str, JSON]:
        """Ask raw and published data the same questions."""
        workload = subject.workload
        if workload.written:
            return {"query_error_sensitive": written_errors(subject, sensitive=True)}
        published = subject.published_values[1].columns
        names = [name for name in subject.schema.sensitive if name in published]
        usable = sum(bool((column.attribute.codes < column.attribute.null_code).any()) for column in subject.columns)
        if not workload.queries or not names or not usable:
            return {"query_error_sensitive": None}
        many = min(workload.dimensionality or COLUMNS, usable)
        share = workload.selectivity ** (1 / (many + 1))
        quasi = [column.attribute for column in subject.columns]
        asked = windows(quasi, workload.queries, dimensionality=many, selectivity=share**many, seed=workload.seed)
        rng = np.random.default_rng([workload.seed, 1])
        questions = [_Values(subject, name) for name in names]
        chosen = [questions[at % len(questions)] for at in range(workload.queries)]
        wanted = [chosen_values.draw(share, rng) for chosen_values in chosen]
        guess, truth = [], []
        for first in range(0, workload.queries, AT_ONCE):
            part = slice(first, first + AT_ONCE)
            some = Windows(asked.lo[part], asked.hi[part], asked.used[part])
            records = np.stack(
                [chosen_values.records(want) for chosen_values, want in zip(chosen[part], wanted[part], strict=True)]
            )
            guess.append(np.maximum(estimates(subject.columns, records, some), 0.0))
        for at, (chosen_values, want) in enumerate(zip(chosen, wanted, strict=True)):
            inside = want[chosen_values.raw]
            for a in np.flatnonzero(asked.used[at]):
                inside = inside & (quasi[a].codes >= asked.lo[at, a]) & (quasi[a].codes <= asked.hi[at, a])
            truth.append(int(inside.sum()))
        return {"query_error_sensitive": summary(np.concatenate(guess), np.array(truth, np.int64))}


class _Values:
    """A sensitive column: the code of each raw record and of each published value, null and strangers the last one."""

    def __init__(self, subject: Subject, name: str) -> None:
        self.subject = subject
        column, frame = replace(subject.schema[name], bins=None), subject.snapshot.frame
        encoded = encode_sensitive(frame[name], column)
        self.ordered, self.size = encoded.ordered, encoded.domain
        missing = frame[name].is_null().to_numpy()
        self.raw: CodeArray = np.where(missing, self.size, encoded.codes).astype(np.int32)
        known = pl.DataFrame({"text": canonical_text(frame[name]), "code": self.raw}).drop_nulls("text").unique("text")
        self.group, values = subject.published_values
        texts = pl.DataFrame({"text": canonical_text(values[name])})
        joined = texts.join(known, on="text", how="left", maintain_order="left")["code"].fill_null(self.size)
        self.told = joined.to_numpy()
        self.counts = np.bincount(self.raw, minlength=self.size + 1)[:-1]

    def draw(self, share: float, rng: np.random.Generator) -> BoolArray:
        """Draw values that about so large a share of the records has; the last place is that of none."""
        found = np.zeros(self.size + 1, np.bool_)
        order = np.arange(self.size) if self.ordered else rng.permutation(self.size)
        before = np.cumsum(self.counts[order]) - self.counts[order]
        start = rng.random() * (1 - share) * self.counts.sum() if self.ordered else 0.0
        inside = (before + self.counts[order] > start) & (before < start + share * self.counts.sum())
        found[order[inside]] = True
        return found

    def records(self, wanted: BoolArray) -> FloatArray:
        """Return for each class how many of its records are expected to have one of the values."""
        subject = self.subject
        real = subject.clean * (1 - subject.group_fakes / np.maximum(subject.group_rows, 1))
        hit = wanted[self.told].astype(np.float64)
        if subject.release.batch is None:
            weight = hit * real[subject.groups]
        else:
            among = sums_of(self.group, hit, len(real)) / np.maximum(subject.group_rows, 1)
            weight = (among * real)[subject.groups]
        found = sums_of(subject.release.classes, weight, subject.n_classes)
        return found if subject.nesting is None else in_blocks(subject.nesting, subject.columns, found)
