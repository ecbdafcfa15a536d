"""Trials for Stack & Deal: tables with given counts, deals, and partitions drawn at random."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

import reveil as rv
from benchmarks.closeness_quality import HEART_COUNTS, asked, measured, methods, tables
from benchmarks.papers.common import progress
from reveil.core.randomness import Dice
from reveil.models.encoding import encode
from reveil.tables.snapshot import read_snapshot
from reveil.testing import hospital

if TYPE_CHECKING:
    from collections.abc import Callable

Ints = npt.NDArray[np.int64]
Counts = tuple[int, ...]
Line = dict[str, Any]
DATASETS: dict[str, Counts] = {"dataset 1": (167, 153, 127, 103, 91, 89), "heart": HEART_COUNTS}
SALARIES: Counts = (42, 39, 37, 31, 24, 20, 17, 16, 15, 9)
TOLERANCE = 1e-9
DEALS = ("source", "local")


def bell(counts: Counts) -> Counts:
    """Return the counts as a reading has them: the most frequent value in the middle, rarer ones to both sides."""
    return (*counts[1::2][::-1], *counts[::2])


def people(counts: Counts) -> pl.DataFrame:
    """Return people with a value each, as often as given; higher values are those of older people, more often."""
    rest = hospital.month(sum(counts)).select("age", "sex", "income", "ward").sort("age", "income")
    noisy = np.random.default_rng(1).normal(np.arange(rest.height), rest.height / 2).argsort()
    value = np.empty(rest.height, np.int64)
    value[noisy] = np.repeat(np.arange(len(counts)), counts)
    return rest.with_columns(value=pl.Series(value))


def patients(number: int = sum(HEART_COUNTS)) -> pl.DataFrame:
    """Return people with two readings that depend on age and on each other, in 10 and 8 steps."""
    rest = hospital.month(number).select("age", "sex", "income", "ward").sort("age", "income")
    rng = np.random.default_rng(2)
    old = (np.arange(number) - number / 2) / number * 2
    pressure = old + rng.normal(size=number)
    cholesterol = old / 2 + pressure / 2 + rng.normal(size=number)
    steps = {"pressure": (pressure, 10), "cholesterol": (cholesterol, 8)}
    return rest.with_columns(
        **{n: pl.Series(np.clip((v + 3) / 6 * many, 0, many - 1).astype(int)) for n, (v, many) in steps.items()}
    )


def losses(groups: Ints, values: Ints, domain: int) -> npt.NDArray[np.float64]:
    """Return the earth mover's distance of each group to the table, values in their order."""
    table = np.zeros((int(groups.max()) + 1, domain))
    np.add.at(table, (groups, values), 1)
    table = table[table.sum(axis=1) > 0]
    own = table / table.sum(axis=1, keepdims=True) - table.sum(axis=0) / len(values)
    return np.asarray(np.abs(np.cumsum(own, axis=1)[:, :-1]).sum(axis=1) / max(domain - 1, 1))


def dealt(frame: pl.DataFrame, sensitive: list[str], k: int, deal: Any) -> Ints:
    """Return the group that Stack & Deal gives each record."""
    schema = rv.Schema(quasi=["age", "sex", "income", "ward"], sensitive=sensitive)
    codes = encode(read_snapshot(frame.select(*schema.quasi, *sensitive), schema))
    found = rv.StackDeal(deal=deal).group(codes, rv.KAnonymity(k), Dice.of_seed(0))
    groups = np.empty(codes.n, np.int64)
    groups[found.order] = np.repeat(np.arange(len(found.sizes)), found.sizes)
    return groups


def sizes_from(rng: np.random.Generator, records: int, k: int) -> Ints:
    """Draw how large groups of at least k are: their number first, then one of all ways to share the rest."""
    many = int(rng.integers(2, records // k + 1))
    rest = records - many * k
    bars = np.sort(rng.choice(rest + many - 1, many - 1, replace=False))
    return np.diff(np.concatenate([[-1], bars, [rest + many - 1]])) - 1 + k


def any_groups(rng: np.random.Generator, values: Ints, k: int) -> Ints:
    """Give each record any of the floor(n/k) groups: neither property, and some groups are below k."""
    return rng.integers(0, len(values) // k, len(values))


def any_sizes(rng: np.random.Generator, values: Ints, k: int) -> Ints:
    """Draw groups of any size from k up: neither property."""
    own = sizes_from(rng, len(values), k)
    return rng.permutation(np.repeat(np.arange(len(own)), own))


def equal_sizes(rng: np.random.Generator, values: Ints, k: int) -> Ints:
    """Draw groups of equal size: property 1 alone."""
    return rng.permutation(len(values)) % (len(values) // k)


def equal_both(rng: np.random.Generator, values: Ints, k: int) -> Ints:
    """Deal each value evenly, what is over to the smallest groups, ties by lot: both properties."""
    return _evenly(rng, values, len(values) // k, level=True)


def equal_values(rng: np.random.Generator, values: Ints, k: int) -> Ints:
    """Deal each value evenly among a drawn number of groups, what is over by lot: property 2 alone, k kept."""
    while True:
        groups = _evenly(rng, values, int(rng.integers(2, len(values) // k + 1)), level=False)
        if np.bincount(groups).min() >= k:
            return groups


def _evenly(rng: np.random.Generator, values: Ints, many: int, *, level: bool) -> Ints:
    groups = np.empty(len(values), np.int64)
    load = np.zeros(many)
    for value in rng.permutation(int(values.max()) + 1):
        own = np.flatnonzero(values == value)
        first = np.lexsort((rng.random(many), load if level else np.zeros(many)))
        groups[own] = first[np.arange(len(own)) % many]
        load += np.bincount(groups[own], minlength=many)
    return groups


KINDS: dict[str, Callable[[np.random.Generator, Ints, int], Ints]] = {
    "A: records anywhere": any_groups,
    "A: any sizes from k up": any_sizes,
    "B: equal sizes": equal_sizes,
    "C: equal sizes and values": equal_both,
    "D: equal values, any sizes from k up": equal_values,
}


def illustration() -> list[float]:
    """Return the distances of the five groups of section 3.5, the values in the order of their frequency."""
    frame = people(SALARIES)
    return [float(one) for one in losses(dealt(frame, ["value"], 50, "source"), _values(frame), len(SALARIES))]


def clouds(ks: tuple[int, ...], many: int) -> list[Line]:
    """Return for each table, order, kind and k the loss of both deals, and those of random partitions."""
    found = []
    for name, counts in DATASETS.items():
        for order, own in (("by frequency", counts), ("as a reading", bell(counts))):
            frame = people(own)
            values = _values(frame)
            for k in ks:
                ours = {deal: losses(dealt(frame, ["value"], k, deal), values, len(own)).max() for deal in DEALS}
                for kind, draw in KINDS.items():
                    rng = np.random.default_rng(k)
                    tried = np.array([losses(draw(rng, values, k), values, len(own)).max() for _ in range(many)])
                    line = {"table": name, "order": order, "kind": kind, "k": k, "least": tried.min(), **ours}
                    line |= {f"below {deal}": int((tried < ours[deal] - TOLERANCE).sum()) for deal in DEALS}
                    found.append(line)
            progress(name, order)
    return found


def two_attributes(ks: tuple[int, ...], many: int) -> list[Line]:
    """Return for each k the joint loss of the deals and of random partitions, two sensitive attributes."""
    frame = patients()
    names = {name: int(frame[name].n_unique()) for name in ("pressure", "cholesterol")}
    values = {name: frame[name].rank("dense").to_numpy().astype(np.int64) - 1 for name in names}

    def joint(groups: Ints) -> float:
        return float(np.hypot(*(losses(groups, values[name], domain).max() for name, domain in names.items())))

    found = []
    for k in ks:
        line: dict[str, Any] = {"k": k} | {deal: joint(dealt(frame, list(names), k, deal)) for deal in DEALS}
        line |= {f"by {name} alone": joint(dealt(frame, [name], k, "source")) for name in names}
        for kind, draw in (("equal", equal_sizes), ("any", any_sizes)):
            rng = np.random.default_rng(k)
            tried = np.array([joint(draw(rng, values["pressure"], k)) for _ in range(many)])
            line |= {f"least {kind}": float(tried.min())}
            line |= {f"{kind} below {deal}": int((tried < line[deal] - TOLERANCE).sum()) for deal in DEALS}
        found.append(line)
    progress("two attributes")
    return found


def falling(most: int) -> dict[str, list[float]]:
    """Return the privacy loss of both deals for each k from 2 up, on heart, as a reading."""
    counts = bell(HEART_COUNTS)
    frame = people(counts)
    ks = range(2, most + 1)
    return {
        d: [float(losses(dealt(frame, ["value"], k, d), _values(frame), len(counts)).max()) for k in ks] for d in DEALS
    }


def others(*, fast: bool) -> dict[str, dict[str, dict[str, Any]]]:
    """Return loss and penalty of all methods, at equal k and at equal t, one sensitive attribute."""
    ks, ts = ((10,), (0.1,)) if fast else ((5, 10, 20), (0.05, 0.1, 0.2))
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for name, (frame, schema) in tables(fast=fast).items():
        if len(schema.sensitive) > 1:
            continue
        own: dict[str, dict[str, Any]] = {}
        for label, (method, towards) in methods().items():
            if label.startswith("Fragmentation"):
                continue  # the thesis has it for several attributes
            settings = {f"k = {k}": asked(schema, k, 0.2 if towards else None) for k in ks}
            settings |= {f"t = {t}": asked(schema, 5, t) for t in ts}
            own[label] = {setting: measured(frame, schema, model, method) for setting, model in settings.items()}
        found[f"{name}, {frame.height:,} records"] = own
        progress("other methods on", name)
    return found


def _values(frame: pl.DataFrame) -> Ints:
    return frame["value"].to_numpy().astype(np.int64)
