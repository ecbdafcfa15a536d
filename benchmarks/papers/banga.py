"""BangA against the R+-tree, as in the thesis of Anjum (2013), section 3.7.

Time over sizes and dimensions; certainty penalty, discernibility and divergence over k and over dimensions; the error
of point and window queries over their dimensions and over k; and what the size of a block changes.
"""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass

from benchmarks.floor import coded
from benchmarks.papers.bang_trials import (
    COMPARED_K,
    CUSTOMER,
    FAST,
    FULL,
    QUERIED_K,
    Line,
    adult,
    quality,
    queried,
    times,
)
from benchmarks.papers.common import Cell, Experiment, Finding, Plot, Table, main, progress, short

BANG, NESTED, TREE, SCAN, GROWN = "BangA compact", "BangA nested", "R+-tree", "R+-tree, leaf scan", "R+-tree, grown"
PRINTED = {  # seconds of the R+-tree and of BangA in table 3.4
    ("voter list", 3): (360, 300),
    ("adults", 3): (1554, 1116),
    ("customer", 7): (1314, 906),
    ("customer", 15): (None, 2765),
}
CLAIMED = {"cp": ("certainty penalty", 5, "figure 3.10"), "dcp": ("discernibility", 8, "figure 3.11"),
           "kl": ("divergence", 9, "figure 3.9")}  # fmt: skip
WHYS = {
    "cp": "Against its own tree, grown record by record, the source is right. Neighbours in the order of the leaves "
    "make long groups, and merging by density is clearly better, by more than the source found. A tree packed "
    "for k itself is as good as compact BangA, and better from k = 100 up: merged clusters become long, too. "
    "Nested regions are not shrunk to their records.",
    "dcp": "A scan of leaves of 5 gives groups of k to k + 9, a packed leaf has k to 2k-1: near the least there is, k "
    "for each record. Merging blocks two by two overshoots k. Grown leaves are fuller than packed ones, as in the "
    "source's tree, and still nearer to k.",
    "kl": "It follows the shape of the groups and their sizes: BangA has the better shape, packed leaves are smaller. "
    "Where k is small the sizes decide.",
}
SETTING = (
    "The source's Adult has a million records with a zip code: UCI Adult has 48,842 and none.",
    "So quality is measured on UCI Adult (age, education, hours), where it is at hand, and on a generated table.",
    "That one has the source's size (age, income, town); the customers are generated, too.",
    "Block and fanout are 5, as there. BangA files a table once and is cut at each k.",
    (
        "The R+-tree is packed in bulk: for each k by itself, and once in leaves of 5 that are scanned in their order, "
        "neighbours put together up to k, which is how the source gets its releases."
    ),
    (
        "'Grown' is the source's own tree: it takes one record after the other, in a random sequence, splits a full "
        "leaf by comparing all pairs of its records, and its leaves are scanned in the same way."
    ),
    "Work is processor time of all threads, in floors: polars sorts the table. The machine was busy with other things.",
)
REASONS = {
    "point": "In few dimensions a point is a slab that cuts most boxes, while fewer and fewer records lie in it; only "
    "with many are few boxes left to meet. All of these errors are far too large to be of use.",
    "window": "Windows with the same share of the records are wider in each dimension, the more they have; each "
    "dimension also adds a border that is counted whole.",
}


@dataclass(frozen=True)
class Found:
    """All that was measured."""

    times: list[Line]
    by_k: dict[str, dict[str, list[Line]]]
    by_d: dict[int, dict[str, list[Line]]]
    by_block: dict[int, dict[str, list[Line]]]
    over_d: list[Line]
    over_k: list[Line]
    records: dict[str, int]


def told(found: Found, queries: int) -> Experiment:
    """Put the source's claims beside what was found."""
    curves = found.by_k["generated"]
    return Experiment(
        name="banga",
        title="BangA against the R+-tree",
        source="Anjum, thesis 2013, section 3.7",
        setting=[*SETTING, f"{queries} queries of each kind; windows hold about 5 % of the records."],
        findings=[
            *_timed(found),
            *(_lost(found, key) for key in CLAIMED),
            _widened(found),
            _blocks(found),
            *_asked(found),
        ],
        tables=_tables(found),
        plot=Plot(
            f"Certainty penalty over k, {found.records['generated']:,} generated records, 3 dimensions",
            [float(line["k"]) for line in curves[BANG]],
            {method: [short(line["cp"]) for line in own] for method, own in curves.items()},
            "k",
            "certainty penalty",
            log_x=True,
            log_y=True,
        ),
    )


def _timed(found: Found) -> list[Finding]:
    made = []
    for line in found.times:
        tree, bang = PRINTED[line["table"], line["dimensions"]]
        less = "R+-tree out of memory" if tree is None else f"{1 - bang / tree:.0%} less than the R+-tree ({tree:,} s)"
        ratio = line["bang"] / line["grown"]
        made.append(
            Finding(
                f"time: {line['table']}, {line['records']:,} x {line['dimensions']}",
                f"{bang:,} s, {less}",
                f"BangA with dendrogram {line['bang']:.1f} floors, R+-tree grown record by record {line['grown']:.1f}, "
                f"packed {line['rtree']:.1f}",
                "yes" if ratio < 0.9 else "partly" if ratio < 1.1 else "no",
                "A packed tree is made by sorting and merges nothing. Of the grown tree it is the leaves that are "
                "timed: a split compares ten records, and there is one for every few records; no page is written to a "
                "disk.",
            )
        )
    return made


def _lost(found: Found, key: str) -> Finding:
    name, percent, figure = CLAIMED[key]
    words, better = [], []
    for table, own in found.by_k.items():
        at: Line = {m: next((one[key] for one in lines if one["k"] == COMPARED_K), None) for m, lines in own.items()}
        if None in at.values():
            continue
        for other, called in ((GROWN, "grown leaves"), (SCAN, "packed leaves"), (TREE, "leaves packed for k")):
            shares = {m: at[m] / at[other] - 1 for m in (BANG, NESTED)}
            wins = sum(a[key] < b[key] for a, b in zip(own[BANG], own[other], strict=True))
            words.append(
                f"{table}, {called}: compact {shares[BANG]:+.0%}, nested {shares[NESTED]:+.0%}, compact better at "
                f"{wins} of {len(own[other])} k"
            )
            better += [shares[BANG] < 0, shares[NESTED] < 0, wins == len(own[other])] if other == GROWN else []
    return Finding(
        f"{name} at k = {COMPARED_K} ({figure})",
        f"BangA {percent} % better than the R+-tree (leaves of 5, scanned), and better at every k",
        "; ".join(words),
        "yes" if all(better) else "partly" if any(better) else "no",
        WHYS[key],
    )


def _widened(found: Found) -> Finding:
    shares = {d: own[BANG][0]["cp"] / own[TREE][0]["cp"] - 1 for d, own in found.by_d.items()}
    nested = {d: own[NESTED][0]["cp"] / own[TREE][0]["cp"] - 1 for d, own in found.by_d.items()}
    k = next(iter(found.by_d.values()))[BANG][0]["k"]
    return Finding(
        f"certainty penalty over dimensions, k = {k}",
        "BangA outperforms the R+-tree whatever the number of dimensions",
        "compact against the tree: " + ", ".join(f"{d}: {one:+.0%}" for d, one in shares.items())
        + "; nested: " + ", ".join(f"{d}: {one:+.0%}" for d, one in nested.items()),
        "yes" if max([*shares.values(), *nested.values()]) < 0 else "partly" if min(shares.values()) < 0 else "no",
        "Regions that are not shrunk to their records are mostly empty in many dimensions.",
    )  # fmt: skip


def _blocks(found: Found) -> Finding:
    own = {block: lines[BANG][0] for block, lines in found.by_block.items()}
    first = next(iter(own.values()))
    off = max(abs(one[key] / first[key] - 1) for one in own.values() for key in CLAIMED)
    words = [
        f"M = {block}: " + ", ".join(f"{one[key] / first[key] - 1:+.0%}" for key in CLAIMED)
        for block, one in own.items()
        if one is not first
    ]
    return Finding(
        f"size of a block at k = {COMPARED_K}",
        "does not change the quality",
        "certainty penalty, discernibility and divergence of compact BangA against M = 5: " + "; ".join(words),
        "yes" if off < 0.05 else "no",
        "With fewer merges the groups are what the halving made, and tighter; but blocks of M to 2M records are larger "
        "than what small ones add up to.",
    )


def _asked(found: Found) -> list[Finding]:
    made = []
    for kind, figure in (("point", "3.12"), ("window", "3.13")):
        own = {
            m: [one for one in found.over_d if (one["kind"], one["method"]) == (kind, m)] for m in (BANG, NESTED, TREE)
        }
        met = {m: [one["met"] for one in lines] for m, lines in own.items()}
        always = all(a > b for values in met.values() for a, b in itertools.pairwise(values))
        falls = [values[-1] < values[0] for values in met.values()]
        wins = {
            what: {m: sum(a[what] < b[what] for a, b in zip(own[m], own[TREE], strict=True)) for m in (BANG, NESTED)}
            for what in ("met", "shared")
        }
        made.append(
            Finding(
                f"{kind} queries over their dimensions, error as the source counts (figure {figure})",
                "falls as queries have more dimensions",
                f"1 to {CUSTOMER} dimensions: "
                + "; ".join(f"{m} {', '.join(f'{one:.3g}' for one in values)}" for m, values in met.items()),
                "yes" if always else "partly" if any(falls) else "no",
                "The source counts every record whose region meets the query. " + REASONS[kind],
            )
        )
        made.append(
            Finding(
                f"{kind} queries: which is nearer to the truth",
                "BangA at every dimension",
                f"as the source counts: compact better than the tree at {wins['met'][BANG]} of {CUSTOMER} dimensions, "
                f"nested at {wins['met'][NESTED]}; with the share of each box: compact at {wins['shared'][BANG]}, "
                f"nested at {wins['shared'][NESTED]}",
                "yes" if wins["met"][BANG] == CUSTOMER else "partly" if any(wins["shared"].values()) else "no",
                "Counting whole groups favours small ones, which packed leaves are. A reader who counts the share of a "
                "box inside the query is favoured by tight boxes, which compact BangA has, and is nearer to the truth.",
            )
        )
    return made


def _tables(found: Found) -> list[Table]:
    made = [
        Table(
            "Work",
            ["table", "records", "dimensions", "BangA, floors", "R+-tree, grown, floors", "R+-tree, packed, floors"],
            [[one["table"], one["records"], one["dimensions"],
              *(short(one[key], 3) for key in ("bang", "grown", "rtree"))] for one in found.times],
        )
    ]  # fmt: skip
    for name, own in found.by_k.items():
        made.append(Table(f"Loss over k, {name}, {found.records[name]:,} records", ["k", *HEAD], _losses(own)))
    wide: list[list[Cell]] = [[d, *row[1:]] for d, own in found.by_d.items() for row in _losses(own)]
    made.append(Table("Loss over dimensions", ["dimensions", *HEAD], wide))
    blocks: list[list[Cell]] = [
        [block, *row[1:]] for block, own in found.by_block.items() for row in _losses(own) if row[1] != TREE
    ]
    made.append(Table(f"Loss over the size of a block, k = {COMPARED_K}", ["M", *HEAD], blocks))
    for lines, key, title in ((found.over_d, "d", f"over dimensions, k = {QUERIED_K}"), (found.over_k, "k", "over k")):
        made.append(_errors(lines, key, f"Mean relative error of queries {title}"))
    return made


HEAD = ["method", "CP (gcp)", "DCP", "KL, bits", "groups"]


def _losses(own: dict[str, list[Line]]) -> list[list[Cell]]:
    """Return a row for each k and method."""
    return [
        [line["k"], method, short(line["cp"]), short(line["dcp"]), short(line["kl"]), line["groups"]]
        for place in range(len(next(iter(own.values()))))
        for method, lines in own.items()
        for line in (lines[place],)
    ]


def _errors(lines: list[Line], key: str, title: str) -> Table:
    """Return a row for each kind and place, and two numbers for each method."""
    methods = list(dict.fromkeys(one["method"] for one in lines))
    head = [f"{method}: {what}" for method in methods for what in ("as the source", "shares")]
    rows: list[list[Cell]] = []
    for kind, place in dict.fromkeys((one["kind"], one[key]) for one in lines):
        own = {one["method"]: one for one in lines if (one["kind"], one[key]) == (kind, place)}
        rows.append([kind, place, *(short(own[m][what], 3) for m in methods for what in ("met", "shared"))])
    return Table(title, ["query", {"d": "dimensions", "k": "k"}[key], *head], rows)


def run(fast: bool = False) -> Experiment:  # noqa: FBT001, FBT002
    """Run everything, on a small table if ``fast``."""
    sizes = FAST if fast else FULL
    real = adult()
    if real is None:
        progress("adult_uci_full is not beside the repository: left out")
    tables = {} if real is None else {"adult": real.head(2_000) if fast else real}
    tables["generated"] = coded(sizes.records, 3)
    by_k = {name: quality(frame, sizes.ks) for name, frame in tables.items()}
    k = sizes.ks[1]
    by_d = {d: quality(coded(sizes.wide_records, d), (k,)) for d in sizes.wide}
    by_block = {block: quality(tables["generated"], (COMPARED_K,), block) for block in sizes.blocks}
    over_d, over_k = queried(sizes)
    records = {name: frame.height for name, frame in tables.items()}
    return told(Found(times(sizes), by_k, by_d, by_block, over_d, over_k, records), sizes.queries)


if __name__ == "__main__":
    sys.exit(main(run))
