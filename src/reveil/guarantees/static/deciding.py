"""How a release that is judged alone is decided, under any model: who is in which group, and what is left out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from reveil.core.errors import ConfigError, InfeasibleError
from reveil.grouping.groupers.base import check_feasible, check_plan
from reveil.grouping.groupers.mondrian import Mondrian
from reveil.grouping.suppression import group_without_stretching
from reveil.guarantees.draft import Draft, GivenColumn, Grouped, Left, Rows
from reveil.guarantees.explained import Explained
from reveil.guarantees.promising import made_by, promise_of
from reveil.models.base import exact_number
from reveil.tables.schema import Role

if TYPE_CHECKING:
    from fractions import Fraction

    from reveil.core.randomness import Dice
    from reveil.grouping.groupers.base import Grouper
    from reveil.grouping.recoders.base import Recoder
    from reveil.grouping.sampling import Sampling
    from reveil.guarantees.draft import Request
    from reveil.models.base import Model
    from reveil.models.encoding import Codes
    from reveil.models.statistics import Partition
    from reveil.releases.promise import Promise
    from reveil.tables.schema import Schema

KIND = "static"
EXPLAINED = Explained(
    about="people",
    plain=(
        "Every file is judged by itself: whoever is looked up in it is found in a group with {part}.",
        (
            "Nothing is promised about two files together. Somebody who holds two releases about the same people "
            "can subtract one from the other, and often knows who has what."
        ),
    ),
    uncovered=("Comparing releases: two files about the same people are not bounded by anything.",),
)
INNERMOST = "Boxes are nested: a row stands for the part of its box that no box of the table with a higher level holds."
TELLS_WHO = "The exact quasi values of everybody are in the file: it does not hide who is in the table."
ASSUMES = (
    "This release is judged alone: nothing is said about what it reveals together with others about the same people.",
    "Each person has at most one record in the table.",
    "What others may know of a person is declared as quasi; columns declared plain link nobody.",
)


def decide_static(
    request: Request,
    model: Model,
    rng: Dice,
    *,
    suppress: float = 0.0,
    part: bool = False,
    auto: bool = False,
) -> Draft:
    """Decide one release under any model; ``part``: of some columns of a checked table; ``auto``: k was chosen."""
    snapshot, method = request.snapshot, request.method or Mondrian()
    model.check(snapshot.schema)
    check_plan(method, model, auto=auto)
    if not part:
        method.check_schema(snapshot.schema)
    if method.reading(snapshot.schema) != snapshot.schema:
        raise ConfigError(
            f"the table was not read as the method {method.name!r} needs it",
            hint="Read it with method.reading(schema).",
        )
    recoder: Recoder = method.recoder()
    recoder.check(model)
    sampling = check_sample(method, model, suppress)
    codes = request.codes
    limit = math.floor(suppression_share(suppress) * codes.n)
    if sampling is None:
        check_feasible(codes, model)
        partition = _within_limit(method.group(codes, model, rng.child("groups")), limit, codes, method)
    else:
        # Neither a small table nor a sample without a group is refused: whether it is would tell something.
        partition = method.group(codes, model, rng.child("groups"))
    if limit and method.recode == "boxes":
        partition = group_without_stretching(codes, partition, model, method, limit, rng.child("suppression"))
    record = np.flatnonzero(partition.labels >= 0).astype(np.int32)
    known = {attribute.name: attribute for attribute in codes.sensitive}
    values = {
        name: GivenColumn(snapshot.frame[name], record, known.get(name))
        for name in snapshot.schema.names(Role.SENSITIVE, Role.PLAIN)
    }
    return Draft(
        Rows(record, record, partition.labels[record] if recoder.two_tables else None, values),
        Grouped(codes, partition, recoder),
        model,
        static_promise(model, snapshot.schema, method, suppress),
        snapshot,
        codes,
        apart=recoder.two_tables,
        distances=method.measures_closeness,
        reached={} if sampling is None else {"delta": sampling.delta},
        left=Left(suppressed=None if sampling is not None else codes.n - len(record)),
    )


def static_promise(model: Model, schema: Schema, method: Grouper, suppress: float = 0.0) -> Promise:
    """Return what a release under a model promises that this method makes."""
    sampling, recoder = method.sampling(model), method.recoder()
    return promise_of(
        KIND,
        EXPLAINED,
        claim(model, schema, sampling),
        (
            *ASSUMES,
            *(() if sampling is None else sampling.assumes()),
            *((TELLS_WHO,) if recoder.two_tables else ()),
            *((INNERMOST,) if recoder.needs_regions else ()),
        ),
        grade="counted" if method.reads_values(model) and sampling is None else "blind",
        settings={
            **model.parameters(),
            **_bins(schema),
            **({"suppress": suppress} if suppress else {}),
            **({} if sampling is None else sampling.parameters()),
            **made_by(method),
        },
        limits=model.limits("release"),
    )


def check_sample(method: Grouper, model: Model, suppress: float) -> Sampling | None:
    """Return what a sampling method promises; it takes no limit on what is left out."""
    sampling = method.sampling(model)
    if sampling is not None and suppress:
        raise ConfigError(
            f"the method {method.name!r} leaves out what the dice say, and does not tell how many",
            hint="Take suppress out.",
        )
    return sampling


def _within_limit(partition: Partition, limit: int, codes: Codes, method: Grouper) -> Partition:
    """Refuse a grouping that leaves more records out than may be suppressed."""
    out = codes.n - len(partition.order)
    if out > limit:
        most = max((int(a.reference().counts.max()) for a in codes.sensitive), default=codes.n)
        raise InfeasibleError(
            f"the method {method.name!r} finds no group for {out:,} records, and at most {limit:,} may be suppressed",
            hint=f"The most frequent value allows groups of up to {codes.n // most} different values. Ask for no more "
            "than that (k counts too), or raise suppress.",
        )
    return partition


def claim(model: Model, schema: Schema, sampling: Sampling | None = None) -> str:
    """Return what a release promises, in one sentence, and others where values are judged in bins or sampled."""
    bins = _bins(schema).get("bins", {})
    judged = [f" Values of {name} are judged in {n} bins, and published exactly." for name, n in bins.items()]
    more = "" if sampling is None else f" {sampling.sentence()}"
    return f"In this release, {model.sentence()}." + "".join(judged) + more


def _bins(schema: Schema) -> dict[str, dict[str, int]]:
    bins = {name: n for name in schema.sensitive if isinstance(n := schema[name].bins, int)}
    return {"bins": bins} if bins else {}


def suppression_share(value: object) -> Fraction:
    """Return the share of records that may be suppressed, or raise."""
    share = exact_number("suppress", value)
    if not 0 <= share < 1:
        raise ConfigError(f"suppress must be a share from 0 up to, not including, 1, not {value!r}")
    return share
