"""How wrong the answers to COUNT queries are that ask for sensitive values, too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.analysis.measures.base import Meaning, RawValues, Subject, Sum, SummedMeasure, Sums
from reveil.analysis.measures.query_error import (
    AT_ONCE,
    compared,
    estimates,
    in_blocks,
    reason_against_shares,
    written_counts,
    written_guesses,
)
from reveil.analysis.workload import Windows, windows
from reveil.core.arrays import sums_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.arrays import BoolArray
    from reveil.core.json_values import JSON
    from reveil.models.encoding import FloatArray

COLUMNS = 2  # quasi columns in a question, unless the caller says how many


class SensitiveQueryError(SummedMeasure):
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

    def of_classes(self, subject: Subject) -> Sums:
        """Ask the published data."""
        if subject.workload.written:
            return written_guesses(subject, sensitive=True)
        drawn = self._drawn(subject)
        if drawn is None:
            return {}
        asked, chosen, wanted = drawn
        told = {values.name: values.raw.coded(subject.published_values[1][values.name]) for values in chosen}
        guess = []
        for first in range(0, len(asked), AT_ONCE):
            part = slice(first, first + AT_ONCE)
            some = Windows(asked.lo[part], asked.hi[part], asked.used[part])
            records = np.stack(
                [
                    records_with(subject, want[told[values.name]])
                    for values, want in zip(chosen[part], wanted[part], strict=True)
                ]
            )
            guess.append(np.maximum(estimates(subject.columns, records, some), 0.0))
        return {"guess": np.concatenate(guess)}

    def of_records(self, subject: Subject) -> Sums:
        """Ask the raw data the same questions."""
        if subject.workload.written:
            return written_counts(subject, sensitive=True)
        drawn = self._drawn(subject)
        if drawn is None:
            return {}
        truth = []
        quasi = [column.attribute for column in subject.columns]
        have = {values.name: values.raw.coded(subject.snapshot.frame[values.name]) for values in drawn[1]}
        for at, (asked_of, want) in enumerate(zip(drawn[1], drawn[2], strict=True)):
            asked, inside = drawn[0], want[have[asked_of.name]]
            for a in np.flatnonzero(asked.used[at]):
                inside = inside & (quasi[a].codes >= asked.lo[at, a]) & (quasi[a].codes <= asked.hi[at, a])
            truth.append(int(inside.sum()))
        return {"truth": np.array(truth, np.float64)}

    def figures(self, sums: Mapping[str, Sum], subject: Subject) -> Mapping[str, JSON]:  # noqa: ARG002
        """Compare the answers."""
        return {"query_error_sensitive": compared(sums)}

    def reason_against_parts(self, subject: Subject) -> str | None:
        """Beside what stands next to a null, the published ends of the whole release count."""
        return reason_against_shares(subject)

    @staticmethod
    def _drawn(subject: Subject) -> tuple[Windows, list[_Values], list[BoolArray]] | None:
        """Draw the questions: windows, the column that each asks for, and the values."""
        workload = subject.workload
        published = subject.release.batch if subject.release.batch is not None else subject.release.values
        names = [name for name in subject.schema.sensitive if name in published.columns]
        usable = sum(bool(column.counts[:-1].any()) for column in subject.columns)
        if not workload.queries or not names or not usable:
            return None
        many = min(workload.dimensionality or COLUMNS, usable)
        share = workload.selectivity ** (1 / (many + 1))
        asked = windows(
            [column.attribute for column in subject.columns],
            workload.queries,
            dimensionality=many,
            selectivity=share**many,
            seed=workload.seed,
            counts=[column.counts for column in subject.columns],
        )
        rng = np.random.default_rng([workload.seed, 1])
        questions = [_Values(name, subject.raw_values(name)) for name in names]
        chosen = [questions[at % len(questions)] for at in range(workload.queries)]
        return asked, chosen, [values.draw(share, rng) for values in chosen]


@dataclass(frozen=True)
class _Values:
    """A sensitive column that is asked for."""

    name: str
    raw: RawValues

    def draw(self, share: float, rng: np.random.Generator) -> BoolArray:
        """Draw values that about so large a share of the records has; the last place is that of none."""
        raw = self.raw
        found = np.zeros(raw.size + 1, np.bool_)
        order = np.arange(raw.size) if raw.ordered else rng.permutation(raw.size)
        before = np.cumsum(raw.counts[order]) - raw.counts[order]
        start = rng.random() * (1 - share) * raw.counts.sum() if raw.ordered else 0.0
        inside = (before + raw.counts[order] > start) & (before < start + share * raw.counts.sum())
        found[order[inside]] = True
        return found


def records_with(subject: Subject, among_values: BoolArray) -> FloatArray:
    """Return for each class how many of its records are expected to have one of the values that are asked for."""
    real = subject.clean * (1 - subject.group_fakes / np.maximum(subject.group_rows, 1))
    hit = among_values.astype(np.float64)
    if subject.release.batch is None:
        weight = hit * real[subject.groups]
    else:
        among = sums_of(subject.published_values[0], hit, len(real)) / np.maximum(subject.group_rows, 1)
        weight = (among * real)[subject.groups]
    found = sums_of(subject.release.classes, weight, subject.n_classes)
    return found if subject.nesting is None else in_blocks(subject.nesting, subject.columns, found)
