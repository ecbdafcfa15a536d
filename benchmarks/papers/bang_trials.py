"""Trials for BangA and the R+-tree: what they take, what their releases lose, and how wrong queries are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

import reveil as rv
from benchmarks.floor import coded, least_work, quasi_of
from benchmarks.papers.common import SHARED, progress
from benchmarks.papers.grown_leaves import grown
from reveil.analysis.measures.base import Subject
from reveil.analysis.measures.query_error import cell_shares, estimates, in_blocks
from reveil.analysis.workload import Windows, true_counts, windows
from reveil.core.randomness import Dice
from reveil.grouping.bang.index import Filed
from reveil.models.encoding import encode
from reveil.models.statistics import Partition
from reveil.tables.snapshot import read_snapshot

if TYPE_CHECKING:
    from reveil.models.base import Model
    from reveil.models.encoding import Attribute, Codes

ADULT = ["age", "education-num", "hours-per-week"]
Line = dict[str, Any]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class LeafScan(rv.RPlusTree):
    """The R+-tree as the source cuts it: leaves of ``block`` records, neighbours put together until there are k."""

    name: ClassVar[str] = "leaf-scan"
    block: int = 5

    def leaves(self, codes: Codes, rng: Dice) -> Partition:
        """Return the leaves: packed in bulk."""
        return super().group(codes, rv.KAnonymity(self.block), rng)

    def group(self, codes: Codes, model: Model, rng: Dice) -> Partition:
        """Scan small leaves in their order; what is left over at the end joins the last group."""
        small = self.leaves(codes, rng)
        k, ends, starts = model.minimum_size, small.offsets[1:], [0]
        while small.n - starts[-1] >= 2 * k:
            end = int(ends[np.searchsorted(ends, starts[-1] + k)])
            if small.n - end < k:
                break
            starts.append(end)
        return Partition(small.order, np.array([*starts, small.n], np.int64), small.n)


@dataclass(frozen=True, kw_only=True)
class GrownScan(LeafScan):
    """The same with leaves that grew record by record, split by comparing all pairs: the source's own tree."""

    name: ClassVar[str] = "grown-scan"

    def leaves(self, codes: Codes, rng: Dice) -> Partition:  # noqa: ARG002  (it has its own sequence)
        """Insert the records in a random sequence; every column counts alike."""
        order, starts = grown(shares_of(codes), self.block)
        return Partition(order.astype(np.int32), starts, codes.n)


def shares_of(codes: Codes) -> FloatArray:
    """Return the place of each record in each column as a share of the column."""
    return np.stack([a.codes / max(int(a.codes.max(initial=0)), 1) for a in codes.quasi], axis=1)


@dataclass(frozen=True)
class Sizes:
    """What is run: tables to time (records, dimensions), all the k, records and queries, dimensions, blocks."""

    timed: tuple[tuple[str, int, int], ...]
    ks: tuple[int, ...]
    records: int
    wide: tuple[int, ...]
    wide_records: int
    queries: int
    query_ks: tuple[int, ...]
    blocks: tuple[int, ...]
    times: int


FULL = Sizes(
    (
        ("voter list", 54_803, 3), ("adults", 1_000_000, 3), ("customer", 1_000_000, 7),
        ("customer", 1_000_000, 15),
    ),
    (5, 10, 20, 50, 100, 1_000, 10_000), 1_000_000, (3, 5, 7, 10, 15), 200_000, 300, (5, 10, 50, 100, 1_000),
    (5, 10, 20, 50, 100), 3,
)  # fmt: skip
FAST = Sizes((("voter list", 2_000, 3),), (5, 100), 2_000, (3, 5), 1_000, 10, (5, 50), (5, 50), 1)
CUSTOMER = 7  # dimensions of the table that is queried
QUERIED_K = 10  # where the dimensions of queries vary; the source does not say its k
COMPARED_K = 100  # at which the source gives numbers


def schema_of(frame: pl.DataFrame) -> rv.Schema:
    """Return the schema of a table whose last column is sensitive."""
    return rv.Schema(quasi=frame.columns[:-1], sensitive=frame.columns[-1])


def methods(block: int = 5) -> dict[str, Any]:
    """Return what is compared."""
    return {
        "BangA compact": rv.BangA(block=block),
        "BangA nested": rv.BangA(block=block, form="nested"),
        "R+-tree": rv.RPlusTree(fanout=5),
        "R+-tree, leaf scan": LeafScan(fanout=5, block=block),
        "R+-tree, grown": GrownScan(fanout=5, block=block),
    }


def adult() -> pl.DataFrame | None:
    """Return three columns of UCI Adult and a sensitive one; None where it is not at hand."""
    path = SHARED / "adult_uci_full.parquet"
    return pl.read_parquet(path, columns=[*ADULT, "occupation"]) if path.is_file() else None


def times(sizes: Sizes) -> list[Line]:
    """Time the index with its dendrogram and the packed tree, both from the codes, block and fanout 5."""
    found = []
    for name, rows, columns in sizes.timed:
        frame = coded(rows, columns)
        codes = encode(read_snapshot(frame, schema_of(frame)))

        def filed(codes: Codes = codes) -> None:
            Filed.of(codes, 5).dendrogram()

        def packed(codes: Codes = codes) -> None:
            rv.RPlusTree(fanout=5).group(codes, rv.KAnonymity(5), Dice.of_seed(0))

        def inserted(codes: Codes = codes) -> None:
            grown(shares_of(codes), 5)

        def sort(frame: pl.DataFrame = frame) -> None:
            frame.sort(quasi_of(frame))

        one, bang, tree, insert = (least_work(run, sizes.times) for run in (sort, filed, packed, inserted))
        progress(f"{name}, {rows:,} x {columns}: {bang:.1f}, {tree:.1f} and {insert:.1f} s of work")
        ratios = {"bang": bang / one, "rtree": tree / one, "grown": insert / one}
        found.append({"table": name, "records": rows, "dimensions": columns, **ratios})
    return found


def measured(frame: pl.DataFrame, release: rv.Release) -> Line:
    """Return what a release loses: certainty penalty, discernibility, divergence."""
    found: Any = rv.measure(frame, release, schema_of(frame))
    return {"cp": found["gcp"], "dcp": found["dcp"], "kl": found["kl"], "groups": release.manifest.groups}


def published(frame: pl.DataFrame, method: Any, ks: tuple[int, ...]) -> dict[int, rv.Release]:
    """Publish at each k; BangA files the table once and cuts."""
    if isinstance(method, rv.BangA):
        index = method.fit(frame, schema_of(frame))
        return {k: index.cut(k, seed=1) for k in ks}
    return {k: rv.anonymize(frame, schema_of(frame), rv.KAnonymity(k), method, seed=1) for k in ks}


def quality(frame: pl.DataFrame, ks: tuple[int, ...], block: int = 5) -> dict[str, list[Line]]:
    """Return for each method what each k loses."""
    ks = tuple(k for k in ks if 2 * k <= frame.height)
    found = {}
    for name, method in methods(block).items():
        releases = published(frame, method, ks)
        found[name] = [{"k": k} | measured(frame, release) for k, release in releases.items()]
        progress(name, f"{frame.height:,} x {frame.width - 1}, block {block}")
    return found


def points(attributes: list[Attribute], number: int, dimensions: int, seed: int) -> Windows:
    """Ask for the values that some record has in some of the attributes."""
    rng = np.random.default_rng(seed)
    who = rng.integers(0, len(attributes[0].codes), number)
    place = np.stack([a.codes[who] for a in attributes], axis=1).astype(np.int32)
    used = rng.random(place.shape).argsort(axis=1).argsort(axis=1) < dimensions
    return Windows(place, place, used)


def errors(subject: Subject, asked: Windows) -> tuple[float, float]:
    """Return the mean relative error of queries on a release: as the source counts, and with shares of boxes.

    The source counts every record whose region meets the query, and of nested regions around a point the innermost.
    """
    attributes = [column.attribute for column in subject.columns]
    truth = true_counts(attributes, asked)
    records = subject.class_real
    if subject.nesting is not None:
        records = in_blocks(subject.nesting, subject.columns, records)
    guess = np.maximum(estimates(subject.columns, records, asked), 0.0)
    met = np.array([_met(subject, asked, number) for number in range(len(asked))])
    filled = truth > 0
    found = [np.abs(answer[filled] - truth[filled]) / truth[filled] for answer in (met, guess)]
    return float(found[0].mean()), float(found[1].mean())


def _met(subject: Subject, asked: Windows, number: int) -> float:
    """Return the records whose box meets one query."""
    inside = np.ones(subject.n_classes, np.bool_)
    one = slice(number, number + 1)
    for a in np.flatnonzero(asked.used[number]):
        column = subject.columns[a]
        share = cell_shares(column, asked.lo[one, a].astype(np.intp), asked.hi[one, a].astype(np.intp))
        inside &= (share[0] > 0)[column.index]
    levels, point = subject.release.levels, bool((asked.used[number] & (asked.lo[number] == asked.hi[number])).all())
    if levels is not None and point and inside.any():
        inside &= levels == levels[inside].max()  # the regions around a point lie in each other
    return float(subject.class_real[inside].sum())


def queried(sizes: Sizes) -> tuple[list[Line], list[Line]]:
    """Return the errors over the dimensions of queries, and over k for queries of three dimensions."""
    frame = coded(sizes.records, CUSTOMER)
    snapshot = read_snapshot(frame, schema_of(frame))
    attributes = list(encode(snapshot).quasi)
    over_d: list[Line] = []
    over_k: list[Line] = []
    for name, method in methods().items():
        if name in {"R+-tree, leaf scan", "R+-tree, grown"}:
            continue  # where k is small its groups are nearly those of the tree
        releases = published(frame, method, tuple(sorted({QUERIED_K, *sizes.query_ks})))
        subjects = {k: Subject(snapshot, release) for k, release in releases.items()}
        for kind in ("point", "window"):
            for d in range(1, CUSTOMER + 1):
                met, shared = errors(subjects[QUERIED_K], _asked(kind, attributes, sizes.queries, d))
                over_d.append({"kind": kind, "method": name, "d": d, "met": met, "shared": shared})
            for k in sizes.query_ks:
                met, shared = errors(subjects[k], _asked(kind, attributes, sizes.queries, 3))
                over_k.append({"kind": kind, "method": name, "k": k, "met": met, "shared": shared})
        progress(name, "queried")
    return over_d, over_k


def _asked(kind: str, attributes: list[Attribute], number: int, dimensions: int) -> Windows:
    if kind == "point":
        return points(attributes, number, dimensions, seed=dimensions)
    return windows(attributes, number, dimensionality=dimensions, seed=dimensions)
