"""What the tests of the groupers towards t-closeness share."""

import numpy as np
import polars as pl

import reveil as rv
from reveil.core.errors import ConfigError, InfeasibleError
from reveil.core.randomness import Dice
from reveil.grouping.groupers.base import check_feasible
from reveil.models.encoding import encode
from reveil.tables.snapshot import read_snapshot
from reveil.testing.contracts import statistics_of

QUASI = ["q1", "q2"]


def people(n=400, seed=0, **sensitive):
    """A table whose first quasi attribute says something about each sensitive one."""
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=n), rng.normal(size=n)
    columns = {
        name: np.clip(np.round((first + rng.normal(size=n)) * size / 6 + size / 2), 0, size - 1).astype(int)
        for name, size in sensitive.items()
    }
    return pl.DataFrame({"q1": (first * 20).astype(int), "q2": (second * 20).astype(int), **columns})


def published(frame, sensitive, model, method, **settings):
    """Publish; check what is measured from the release against the model's t; return release and measures."""
    schema = rv.Schema(quasi=[c for c in frame.columns if c not in sensitive], sensitive=sensitive, **settings)
    release = rv.anonymize(frame, schema, model, method, seed=1)
    measured = rv.measure(frame, release, schema)
    for part in model.parts:
        for name in sensitive if isinstance(part, rv.TCloseness) else ():
            if part.concerns(name):
                assert measured["privacy_loss"][name] <= float(part.t) + 1e-12
    return release, measured


def check_any(table, model, method, seed):
    """Group a table with everything that goes wrong in real ones; None if it is refused with a reason."""
    codes = encode(read_snapshot(table.frame, table.schema))
    try:
        check_feasible(codes, model)
        partition = method.group(codes, model, Dice.of_seed(seed))
    except (ConfigError, InfeasibleError):
        return None
    assert sorted(partition.order.tolist()) == list(range(codes.n))
    assert model.verdict(statistics_of(codes, partition)).all()
    assert partition.sizes.min() >= model.minimum_size
    return partition


def check_refined(method, model):
    """Refine two halves of a table: all groups are compared with the whole table."""
    frame = people(300, s=6)
    codes = encode(read_snapshot(frame, rv.Schema(quasi=QUASI, sensitive="s")))
    start = rv.Mondrian().group(codes, rv.KAnonymity(150) & rv.TCloseness(0.2), Dice.of_seed(0))
    inner = method.refine(codes, model, Dice.of_seed(0), start, table=codes.references())
    assert sorted(inner.order.tolist()) == list(range(300))
    assert model.verdict(statistics_of(codes, inner)).all()
    first = start.labels[inner.order[inner.offsets[:-1]]]
    assert (np.repeat(first, inner.sizes) == start.labels[inner.order]).all()
    assert inner.n_groups > start.n_groups
