"""Is what a tool wrote right, and what is left of the table? By code that is neither the tool's nor Reveil's.

It reads the written file as text and the raw table, counts classes, and looks which raw values each cell admits. Cells
are values, hierarchy labels, ranges (``[21, 23]`` or ``21-23``) or sets (``{a, b}`` or ``a,b``). Two certainty
penalties are taken, both averages over all cells of the table, 1 for each cell of a record that was left out:

* *cells*: the width of what the published cell admits, which is what a reader sees;
* *values*: the width of the original values in the class. It flatters tools that publish labels, whose cells admit
  more than their class holds, and is the one in which other tools' figures were taken.

The width is (largest - smallest)/(range of the table) for numbers and (values - 1)/(values of the table - 1) for
others; a column with one value has width 0.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.peers.job import Job

COUNT = "count"
CHUNK = 2_000
RANGE = re.compile(r"\[(-?[\d.]+), (-?[\d.]+)\]|(\d[\d.]*)-(\d[\d.]*)")
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Attribute:
    """A quasi column of the raw table: its values, the place of each record's among them, labels for sets of them."""

    name: str
    values: list[str]
    codes: IntArray
    numbers: FloatArray | None
    labels: Mapping[str, BoolArray]

    @classmethod
    def of(cls, raw: pl.Series, *, number: bool, hierarchy: str | None = None) -> Attribute:
        """Read a column; a value that could be taken for the notation of a set is refused."""
        values = raw.unique().sort()
        texts = values.cast(pl.String).to_list()
        if None in texts or (not number and any(re.search(r"[,{}\[\]]", text) for text in texts)):
            raise ValueError(f"column {raw.name!r} has values that this check cannot tell from notation")
        codes = values.search_sorted(raw).to_numpy().astype(np.int64)
        labels = {} if hierarchy is None else _labels(Path(hierarchy), texts)
        return cls(raw.name, texts, codes, values.to_numpy().astype(np.float64) if number else None, labels)

    def admitted(self, cell: str) -> BoolArray:
        """Return which values of the raw table a published cell admits."""
        cell = cell.removeprefix("['").removesuffix("']")  # a Python list with one text in it
        if cell in self.labels:
            return self.labels[cell]
        ends = RANGE.fullmatch(cell) if self.numbers is not None else None
        if self.numbers is not None and ends is not None:
            low, high = (float(end) for end in ends.groups() if end is not None)
            found: BoolArray = (low <= self.numbers) & (self.numbers <= high)
            return found
        parts = [part.strip() for part in cell.removeprefix("{").removesuffix("}").split(",")]
        if not set(parts) <= set(self.values):
            raise ValueError(f"column {self.name!r} has a cell that is neither a value, a range, a set nor a label")
        return np.isin(self.values, parts)

    def widths(self, admitted: BoolArray) -> FloatArray:
        """Return the width of each row of a matrix of admitted values; every row admits some."""
        many = len(self.values)
        if many == 1:
            return np.zeros(len(admitted))
        if self.numbers is None:
            share: FloatArray = (admitted.sum(1) - 1) / (many - 1)
            return share
        last = many - 1 - admitted[:, ::-1].argmax(1)
        span: FloatArray = (self.numbers[last] - self.numbers[admitted.argmax(1)]) / (
            self.numbers[-1] - self.numbers[0]
        )
        return span


def _labels(path: Path, values: Sequence[str]) -> dict[str, BoolArray]:
    """Return which values are below each label of a hierarchy; a label at two places stands for both."""
    found: dict[str, BoolArray] = {}
    place = {value: i for i, value in enumerate(values)}
    with path.open(encoding="utf-8", newline="") as lines:
        for leaf, *above in csv.reader(lines, delimiter=";"):
            for label in (leaf, *above):
                own = found.setdefault(label, np.zeros(len(values), np.bool_))
                if leaf in place:
                    own[place[leaf]] = True
    return {label: own for label, own in found.items() if own.any()}


class Published:
    """A table as a tool wrote it, every cell as text; a column ``count`` says for how many records a row stands."""

    def __init__(self, table: pl.DataFrame, job: Job) -> None:
        self.table, self.job = table, job
        self.classes = table.select(job.quasi).unique(maintain_order=True)
        index = self.classes.with_row_index("class")
        self.of_row = table.join(index, on=job.quasi, how="left", maintain_order="left")["class"].to_numpy()
        counts = table[COUNT].cast(pl.Int64).to_numpy() if COUNT in table.columns else np.ones(table.height, np.int64)
        self.counts: IntArray = counts

    @classmethod
    def read(cls, path: str, job: Job) -> Published:
        """Read a written file; an empty cell is text like other text."""
        return cls(pl.read_csv(path, infer_schema=False, empty_string_is_null=False), job)

    @cached_property
    def sizes(self) -> IntArray:
        """Published records per class."""
        return np.bincount(self.of_row, self.counts, self.classes.height).astype(np.int64)

    @cached_property
    def histogram(self) -> IntArray:
        """Published records per class and sensitive value, values in the order of their text."""
        values = self.table[self.job.sensitive]
        place = values.unique().sort().search_sorted(values).to_numpy().astype(np.int64)
        wide = int(place.max()) + 1
        keys = self.of_row.astype(np.int64) * wide + place
        return np.bincount(keys, self.counts, len(self.sizes) * wide).astype(np.int64).reshape(-1, wide)

    def diversity(self) -> int:
        """Return the smallest number of different sensitive values in a class."""
        return int((self.histogram > 0).sum(1).min())

    def distance(self) -> Fraction:
        """Return the largest distance of a class to the table, all values equally far apart, exactly."""
        whole = self.histogram.sum(0)
        total = int(whole.sum())
        apart = np.abs(self.histogram * total - whole * self.sizes[:, None]).sum(1)
        worst = int((apart / self.sizes).argmax())
        return Fraction(int(apart[worst]), 2 * total * int(self.sizes[worst]))

    def extra(self) -> list[str]:
        """Return published columns that nobody asked for."""
        known = {*self.job.quasi, self.job.sensitive, COUNT, self.job.link}
        return [name for name in self.table.columns if name not in known]


@dataclass(frozen=True)
class Verdict:
    """What was found; ``truthful`` and ``gcp_values`` are None where no record can be told from the table alone."""

    rows: int
    groups: int
    left_out: int
    k: int
    l: int
    t: Fraction
    dcp: int
    gcp_cells: float
    gcp_values: float | None
    truthful: bool | None
    extra: list[str]

    def faults(self, job: Job) -> list[str]:
        """Return in words what is not as it was asked for; nothing where all is right."""
        found = [f"k is {self.k}"] if self.k < job.k else []
        found += [f"l is {self.l}"] if job.l is not None and self.l < job.l else []
        found += [f"t is {float(self.t):.3f}"] if job.t is not None and self.t > Fraction(str(job.t)) else []
        share = self.left_out / (self.rows + self.left_out)
        found += [f"{share:.1%} left out"] if share > job.suppress else []
        found += [] if self.truthful is not False else ["cells that do not hold their records"]
        return found + [f"publishes a column {name!r}" for name in self.extra]


def check(raw: pl.DataFrame, written: Published, linked: Published | None = None) -> Verdict:
    """Check a written table against the raw one it came from.

    ``linked`` is the same publication with the number of each record, which says whose row is whose; without it every
    record must lie in exactly one class to be told.
    """
    job = written.job
    own = [
        Attribute.of(raw[name], number=name in job.numbers, hierarchy=job.hierarchies.get(name)) for name in job.quasi
    ]
    admitted = [np.array([a.admitted(cell) for cell in written.classes[a.name].to_list()]) for a in own]
    rows = int(written.sizes.sum())
    left_out, cells = raw.height - rows, raw.height * len(own)
    lost = left_out * len(own)
    seen = sum(float((a.widths(admits) * written.sizes).sum()) for a, admits in zip(own, admitted, strict=True))
    placed = _placed(own, admitted) if linked is None else _told(raw, written, linked)
    inside = None if placed is None else placed >= 0
    values = None
    if placed is not None and inside is not None and inside.any():
        values = (sum(_spread(a, placed, written.sizes) for a in own) + lost) / cells
    return Verdict(
        rows=rows,
        groups=written.classes.height,
        left_out=left_out,
        k=int(written.sizes.min()),
        l=written.diversity(),
        t=written.distance(),
        dcp=int((written.sizes**2).sum()) + left_out * raw.height,
        gcp_cells=(seen + lost) / cells,
        gcp_values=values,
        truthful=None if placed is None else _truthful(raw, written, own, admitted, placed),
        extra=written.extra(),
    )


def _placed(own: Sequence[Attribute], admitted: Sequence[BoolArray]) -> IntArray | None:
    """Return the only class that admits each record, -1 where none does; None where two admit one."""
    codes = np.stack([a.codes for a in own], 1)
    distinct, index = np.unique(codes, axis=0, return_inverse=True)
    place = np.empty(len(distinct), np.int64)
    for start in range(0, len(distinct), CHUNK):
        part = distinct[start : start + CHUNK]
        fits = np.ones((len(admitted[0]), len(part)), np.bool_)
        for column, admits in enumerate(admitted):
            fits &= admits[:, part[:, column]]
        many = fits.sum(0)
        if (many > 1).any():
            return None
        place[start : start + CHUNK] = np.where(many == 1, fits.argmax(0), -1)
    return place[index.reshape(-1)]


def _told(raw: pl.DataFrame, written: Published, linked: Published) -> IntArray:
    """Return the class of each record as a linked publication says, -1 for those left out."""
    shared = [*written.job.quasi, written.job.sensitive]
    if not written.table.select(shared).sort(shared).equals(linked.table.select(shared).sort(shared)):
        raise ValueError("the publication with record numbers is not the one that was timed")
    records = linked.table[str(linked.job.link)].cast(pl.Int64).to_numpy()
    if len(np.unique(records)) < len(records):
        raise ValueError("a record was published twice")
    index = written.classes.with_row_index("class")
    classes = linked.table.join(index, on=linked.job.quasi, how="left", maintain_order="left")["class"].to_numpy()
    place = np.full(raw.height, -1, np.int64)
    place[records] = classes
    return place


def _spread(own: Attribute, placed: IntArray, sizes: IntArray) -> float:
    """Return the widths of the original values in each class, summed over the published records."""
    present = np.zeros((len(sizes), len(own.values)), np.bool_)
    present[placed[placed >= 0], own.codes[placed >= 0]] = True
    filled = present.any(1)
    return float((own.widths(present[filled]) * sizes[filled]).sum())


def _truthful(
    raw: pl.DataFrame, written: Published, own: Sequence[Attribute], admitted: Sequence[BoolArray], placed: IntArray
) -> bool:
    """Return whether every class holds records that its cells admit, with the sensitive values that it shows."""
    inside = placed >= 0
    for a, admits in zip(own, admitted, strict=True):
        if not admits[placed[inside], a.codes[inside]].all():
            return False
    values: Any = raw[written.job.sensitive].cast(pl.String).filter(inside)
    truth = pl.DataFrame({"class": placed[inside], "value": values}).group_by("class", "value").len("n")
    shown = pl.DataFrame(
        {"class": written.of_row.astype(np.int64), "value": written.table[written.job.sensitive], "n": written.counts}
    )
    shown = shown.group_by("class", "value").agg(pl.col("n").sum())
    both = truth.join(shown, on=["class", "value"], how="full", coalesce=True).fill_null(0)
    return bool((both["n"].cast(pl.Int64) == both["n_right"].cast(pl.Int64)).all())
