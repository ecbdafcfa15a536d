"""The static guarantee: one release that satisfies a model, as if it were the only one."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import polars as pl

from reveil.core import registry
from reveil.core.errors import ConfigError, InfeasibleError, VerificationError
from reveil.core.json_values import JSON, frozen_object, thawed
from reveil.core.randomness import shuffled
from reveil.grouping.groupers.base import Grouper, check_feasible, check_plan
from reveil.grouping.groupers.mondrian import Mondrian
from reveil.grouping.sampling import Sampling
from reveil.grouping.suppression import suppress_stretching
from reveil.guarantees.assembly import (
    check_names,
    check_same_promise,
    describe_columns,
    other_promise,
    published_names,
    second_table,
)
from reveil.guarantees.base import Guarantee, Memory, Prepared
from reveil.guarantees.counted import group_statistics, with_distances
from reveil.guarantees.explained import Explained
from reveil.guarantees.static.automatic_k import ASSUMES as CHOSEN
from reveil.guarantees.static.automatic_k import AUTO, LEAST, choose_k
from reveil.models.base import Model, exact_number
from reveil.models.distinct_diversity import DistinctDiversity
from reveil.models.encoding import Codes, encode
from reveil.models.entropy_diversity import EntropyDiversity
from reveil.models.frequency_diversity import FrequencyDiversity
from reveil.models.k_anonymity import KAnonymity
from reveil.models.recursive_diversity import RecursiveDiversity
from reveil.models.t_closeness import TCloseness
from reveil.releases.limits import stated
from reveil.releases.manifest import make_manifest
from reveil.releases.promise import Promise
from reveil.releases.release import release_of, taken
from reveil.releases.table import PublishedTable
from reveil.tables.schema import Role, Schema

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy.typing as npt

    from reveil.grouping.recoders.base import Recoded, Recoder
    from reveil.models.limits import Limit
    from reveil.models.statistics import Partition
    from reveil.releases.manifest import Manifest
    from reveil.tables.snapshot import Snapshot

INNERMOST = "Boxes are nested: a row stands for the part of its box that no box of the table with a higher level holds."
TELLS_WHO = "The exact quasi values of everybody are in the file: it does not hide who is in the table."
ASSUMES = (
    "This release is judged alone: nothing is said about what it reveals together with others about the same people.",
    "Each person has at most one record in the table.",
    "What others may know of a person is declared as quasi; columns declared plain link nobody.",
)


@dataclass(frozen=True, kw_only=True)
class Static(Guarantee):
    """One release that satisfies a model by itself.

    Guarantee: every group of the published table satisfies the model (see the model's own page for what that means).
    The grade is *blind* when no choice of the method looked at a sensitive value, else *counted*: every table that
    agrees with the release is taken as equally likely.
    Assumes: one record for each person; all that an outsider may know is declared as quasi.
    Does not protect against: a second release of the same people (use a series guarantee); and, in the counted
    grade, an adversary who knows the algorithm and reasons about cuts that were not made. With several sensitive
    columns each is protected by itself: whoever knows one value of a person may find the row by it and read the others.
    ``k = "auto"`` lets a method that deals by value choose k (see :mod:`reveil.guarantees.static.automatic_k`); the
    manifest promises the k that was chosen, at least 2.
    Source: Sweeney 2002; Machanavajjhala et al. 2007; Li, Li, Venkatasubramanian 2007.
    """

    kind: ClassVar[str] = "static"
    explained: ClassVar[Explained] = Explained(
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

    k: int | Literal["auto"] | None = None
    l: float | None = None
    diversity: Literal["distinct", "frequency", "entropy", "recursive"] = "distinct"
    c: float | None = None
    t: float | Mapping[str, float] | None = None
    distance: Literal["ordered", "equal", "taxonomy"] | None = None
    suppress: float = 0.0

    def __post_init__(self) -> None:
        suppression_share(self.suppress)
        _ = self.model  # parameters are judged when they are given, not when data arrives

    @property
    def model(self) -> Model:
        """The model that these settings ask for; with ``k = "auto"`` the least that any k promises."""
        parts: list[Model] = []
        if self.k is not None:
            parts.append(KAnonymity(LEAST if self.k == AUTO else self.k))
        if self.l is not None:
            parts.append(self._diversity(self.l))
        elif self.c is not None or self.diversity != "distinct":
            raise ConfigError("diversity needs l", hint="Add l = 3, or take diversity and c out.")
        if isinstance(self.t, Mapping):
            parts += [TCloseness(t, attribute=name, distance=self.distance) for name, t in self.t.items()]
        elif self.t is not None:
            parts.append(TCloseness(self.t, distance=self.distance))
        elif self.distance is not None:
            raise ConfigError("distance needs t", hint="Add t = 0.2, or take distance out.")
        if not parts:
            raise ConfigError("the static guarantee asks for nothing", hint="Set k, l or t under [guarantee].")
        return reduce(lambda one, other: one & other, parts)

    def _diversity(self, l: float) -> Model:
        if not isinstance(self.diversity, str):
            raise ConfigError("diversity must be a text", hint='diversity = "distinct"')
        if self.diversity == "recursive":
            if self.c is None:
                raise ConfigError("recursive diversity needs c", hint="Add c = 3.0 under [guarantee].")
            return RecursiveDiversity(c=self.c, l=l)  # type: ignore[arg-type]  # judged by the model
        if self.c is not None:
            raise ConfigError(f"{self.diversity} diversity has no c", hint='c belongs to diversity = "recursive".')
        kinds: dict[str, Callable[..., Model]] = {
            "distinct": DistinctDiversity,
            "frequency": FrequencyDiversity,
            "entropy": EntropyDiversity,
        }
        if self.diversity not in kinds:
            raise ConfigError(
                f"unknown diversity {self.diversity!r}", hint=f"Known: {', '.join([*kinds, 'recursive'])}."
            )
        return kinds[self.diversity](l)

    def check(self, schema: Schema, method: Grouper | None) -> None:
        """Refuse, before any data is read, what cannot work."""
        method = method or Mondrian()
        self.model.check(schema)
        if self.k == AUTO and not method.chooses_k:
            able = [name for name, cls in registry.everything("groupers").items() if cls.chooses_k]
            raise ConfigError(
                f"the method {method.name!r} cannot choose k", hint=f'k = "auto" needs the method {" or ".join(able)}.'
            )
        check_plan(method, self.model, auto=self.k == AUTO)
        method.check_schema(schema)
        method.recoder().check(self.model)
        _check_sample(method, self.model, self.suppress)

    def model_for(self, schema: Schema) -> Model:
        """Return the model, checked against the schema."""
        self.model.check(schema)
        return self.model

    def for_release(self, manifest: Manifest) -> Static:
        """Return these settings with the k that a manifest promises, where it was chosen; or refuse that k."""
        if self.k != AUTO:
            return self
        chosen = manifest.promise.settings.get("k")
        if isinstance(chosen, bool) or not isinstance(chosen, int) or chosen < LEAST:
            raise other_promise()
        return replace(self, k=chosen)

    def check_promise(self, manifest: Manifest, schema: Schema, records: int) -> None:
        """Refuse a manifest that does not promise what these settings ask for."""
        if self.k == AUTO:
            self.for_release(manifest).check_promise(manifest, schema, records)
            return
        asked = {**self.model.parameters(), **_bins(schema)}
        told = manifest.promise
        limit = math.floor(suppression_share(self.suppress) * records)
        sampling = _told_sampling(manifest, self.model)
        asked |= {} if sampling is None else sampling.parameters()
        words = claim(self.model, schema, sampling)
        check_same_promise(told, _promise(self.model, words, (), told.grade, asked), asked)
        if sampling is not None and manifest.suppressed is not None:
            raise VerificationError("the manifest tells how many records a sample leaves out")
        # How many that is the dice decide, and not the config.
        out = 0 if sampling is not None else manifest.suppressed
        if out is None or out > limit or manifest.withheld or manifest.dirty:
            raise VerificationError(f"more records are left out than the config allows ({limit:,})")
        if manifest.counterfeits.total:
            raise VerificationError("the manifest speaks of counterfeits, and a static release has none")

    def check_made_by(self, manifest: Manifest, method: Grouper | None) -> None:
        """Refuse a release that another method made, where the promise rests on the method: with a sample."""
        method = method or Mondrian()
        sampled = method.sampling(self.model) is not None or manifest.suppressed is None
        own = {"kind": method.name, **method.parameters()}
        if sampled and thawed(manifest.promise.settings.get("method")) != json.loads(json.dumps(own)):
            raise other_promise()

    def limits(self) -> tuple[Limit, ...]:
        """Return what the model means, for each release by itself."""
        return self.model.limits("release")

    def settings(self) -> dict[str, JSON]:
        """Return the parameters that are set, under their config names."""
        return {key: value for key, value in super().settings().items() if value is not None}

    def caution(self, before: int, returned: int, changed: int) -> str | None:  # noqa: ARG002
        """Say that the same people are published again, and that nothing bounds what the releases tell together."""
        if not before:
            return None
        return (
            f"{before:,} of these persons were published before: a static release is judged alone, and whoever "
            "compares releases can find out more (reveil audit shows what; kind = 'tau-safety' bounds it)"
        )

    def may_change(self, key: str, before: object, after: object) -> bool:  # noqa: ARG002
        """Every release stands alone: all may change, and each manifest says what it promises."""
        return True

    def prepare(
        self,
        snapshot: Snapshot,
        method: Grouper | None,
        rng: np.random.Generator,
        *,
        series: str | None,
        memory: Memory | None = None,
        codes: Codes | None = None,
    ) -> Prepared:
        """Group, recode and describe one release; what was told before changes nothing."""
        method = method or Mondrian()
        whole = None if memory is None else memory.whole  # with the columns that are not published now
        self.check(snapshot.schema if whole is None else whole.schema, method)
        number = 1 if memory is None else memory.release
        model, auto = self.model, None
        if self.k == AUTO:
            codes = encode(snapshot) if codes is None else codes
            check_feasible(codes, model)
            chosen, auto = choose_k(codes, model, method, rng)
            model = replace(self, k=chosen).model
        layout = None
        if memory is not None:
            # Where a release is one of several, a method may keep its divisions, so that boxes can be compared.
            codes = encode(snapshot) if codes is None else codes
            method, codes, layout = method.lasting(codes, memory.layout, part=memory.part)
        prepared = prepare_static(
            snapshot,
            model,
            method,
            rng,
            suppress=self.suppress,
            series=series,
            number=number,
            codes=codes,
            part=whole is not None,
            auto=auto is not None,
        )
        prepared = replace(prepared, layout=layout)
        if auto is None:
            return prepared
        manifest = prepared.release.manifest
        promise = replace(manifest.promise, assumes=(*manifest.promise.assumes, CHOSEN))
        release = prepared.release.under(replace(manifest, promise=promise))
        return replace(prepared, release=release, facts={**prepared.facts, "auto": auto})


def prepare_static(
    snapshot: Snapshot,
    model: Model,
    method: Grouper,
    rng: np.random.Generator,
    *,
    suppress: float = 0.0,
    series: str | None = None,
    number: int = 1,
    codes: Codes | None = None,
    part: bool = False,
    auto: bool = False,
) -> Prepared:
    """Prepare one release under any model; ``part``: of some columns of a checked table; ``auto``: k was chosen."""
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
    sampling = _check_sample(method, model, suppress)
    codes = encode(snapshot) if codes is None else codes
    limit = math.floor(suppression_share(suppress) * codes.n)
    if sampling is None:
        check_feasible(codes, model)
        partition = _within_limit(method.group(codes, model, rng), limit, codes, method)
    else:
        # Neither a small table nor a sample without a group is refused: whether it is would tell something.
        partition = method.group(codes, model, rng)
    if limit and method.recode == "boxes":
        partition = suppress_stretching(codes, partition, model, limit - codes.n + len(partition.order))
    recoded = recoder.recode(codes, partition)
    # The order of the rows depends on the dice alone, not on how the grouper went through the table.
    placement = shuffled(rng, np.flatnonzero(partition.labels >= 0).astype(np.int32))
    table = _table(snapshot, recoded, placement, rng)
    # Nothing is counted that nobody asks for.
    read = codes.sensitive if model.tags.reads_values or method.measures_closeness else ()
    shown = {a.name: a.codes[placement] for a in read}
    references = {a.name: a.reference(placement) for a in read}
    stats = group_statistics(table, shown, references, placed=True)
    promise = _promise(
        model,
        claim(model, snapshot.schema, sampling),
        (
            *ASSUMES,
            *(() if sampling is None else sampling.assumes()),
            *(() if recoded.groups is None else (TELLS_WHO,)),
            *(() if recoded.levels is None else (INNERMOST,)),
        ),
        "counted" if method.reads_values(model) and sampling is None else "blind",
        {
            **model.parameters(),
            **_bins(snapshot.schema),
            **({"suppress": suppress} if suppress else {}),
            **({} if sampling is None else sampling.parameters()),
            "method": {"kind": method.name, **method.parameters()},
        },
    )
    manifest = make_manifest(
        series=series,
        release=number,
        promise=promise,
        columns=describe_columns(
            snapshot,
            codes,
            two_tables=recoded.groups is not None,
            groups=recoded.groups is not None,
            nested=recoded.levels is not None,
        ),
        rows=len(placement),
        groups=recoded.n_groups,
        suppressed=None if sampling is not None else codes.n - len(placement),
        achieved={
            **with_distances(model.achieved(stats), stats, shown if method.measures_closeness else ()),
            **({} if sampling is None else {"delta": sampling.delta}),
        },
    )
    return Prepared(release_of(table, manifest), placement, codes, model)


def _promise(
    model: Model, words: str, assumes: tuple[str, ...], grade: str | None, settings: Mapping[str, JSON]
) -> Promise:
    """Return what a release under a model promises; no number bounds what several tell together."""
    return Promise(
        Static.kind,
        words,
        grade,
        frozen_object(settings),
        assumes,
        about=Static.explained.about,
        against=Static.against,
        limits=stated(model.limits("release")),
        not_covered=Static.explained.not_covered,
    )


def _check_sample(method: Grouper, model: Model, suppress: float) -> Sampling | None:
    """Return what a sampling method promises; it takes no limit on what is left out."""
    sampling = method.sampling(model)
    if sampling is not None and suppress:
        raise ConfigError(
            f"the method {method.name!r} leaves out what the dice say, and does not tell how many",
            hint="Take suppress out.",
        )
    return sampling


def _told_sampling(manifest: Manifest, model: Model) -> Sampling | None:
    """Return what a manifest says of a sample, under the model that the config asks for; None if it speaks of none."""
    told = manifest.promise.settings
    if not {"beta", "epsilon"} & told.keys():
        return None
    try:
        return Sampling(model.minimum_size, told.get("beta"), told.get("epsilon"))  # type: ignore[arg-type]  # judged there
    except ConfigError:
        raise other_promise() from None


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


def _table(
    snapshot: Snapshot, recoded: Recoded, placement: npt.NDArray[np.int32], rng: np.random.Generator
) -> PublishedTable:
    """Put rows in their published order."""
    schema, frame = snapshot.schema, snapshot.frame
    apart = recoded.groups is not None  # sensitive values in a table of their own
    names = published_names(snapshot, two_tables=apart)
    values = pl.DataFrame({n: taken(frame[n], placement) for n in names if schema[n].role is not Role.QUASI})
    classes = recoded.classes[placement]
    if recoded.groups is None:
        if recoded.levels is not None:
            check_names(schema, two_tables=False, nested=True)
        return PublishedTable(names, recoded.cells, classes, values, snapshot.native, levels=recoded.levels)
    check_names(schema, two_tables=True)
    # Group numbers are random, and so is the order of the second table: neither says how groups were made.
    groups = (rng.permutation(recoded.n_groups) + 1).astype(np.int32)[recoded.groups[placement]]
    batch = second_table(groups, pl.DataFrame({n: taken(frame[n], placement) for n in schema.sensitive}))
    return PublishedTable(names, recoded.cells, classes, values, snapshot.native, groups, batch)


def claim(model: Model, schema: Schema, sampling: Sampling | None = None) -> str:
    """Return what a release promises, in one sentence, and others where values are judged in bins or sampled."""
    bins = _bins(schema).get("bins", {})
    judged = [f" Values of {name} are judged in {n} bins, and published exactly." for name, n in bins.items()]
    more = "" if sampling is None else f" {sampling.sentence()}"
    return f"In this release, {model.sentence()}." + "".join(judged) + more


def _bins(schema: Schema) -> dict[str, dict[str, int]]:
    bins = {name: n for name in schema.sensitive if (n := schema[name].bins) is not None}
    return {"bins": bins} if bins else {}


def suppression_share(value: object) -> Fraction:
    """Return the share of records that may be suppressed, or raise."""
    share = exact_number("suppress", value)
    if not 0 <= share < 1:
        raise ConfigError(f"suppress must be a share from 0 up to, not including, 1, not {value!r}")
    return share
