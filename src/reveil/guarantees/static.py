"""The static guarantee: one release that satisfies a model, as if it were the only one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl

from reveil import registry
from reveil.codes import Codes, encode
from reveil.dice import shuffled
from reveil.errors import ConfigError, InfeasibleError, VerificationError
from reveil.groupers.base import Grouper, check_feasible, check_plan
from reveil.groupers.mondrian import Mondrian
from reveil.guarantees.assembly import check_names, describe_columns, other_promise, published_names, second_table
from reveil.guarantees.base import Guarantee, Memory, Prepared
from reveil.manifest import make_manifest
from reveil.models.base import Model, exact_number
from reveil.models.distinct_diversity import DistinctDiversity
from reveil.models.entropy_diversity import EntropyDiversity
from reveil.models.frequency_diversity import FrequencyDiversity
from reveil.models.k_anonymity import KAnonymity
from reveil.models.recursive_diversity import RecursiveDiversity
from reveil.models.t_closeness import TCloseness
from reveil.release import Release, taken
from reveil.schema import Role, Schema
from reveil.suppression import suppress_stretching
from reveil.verification import group_statistics

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy.typing as npt

    from reveil.recoders.base import Recoded, Recoder
    from reveil.snapshot import Snapshot
    from reveil.statistics import Partition

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
    grade, an adversary who knows the algorithm and reasons about cuts that were not made.
    Source: Sweeney 2002; Machanavajjhala et al. 2007; Li, Li, Venkatasubramanian 2007.
    """

    kind: ClassVar[str] = "static"

    k: int | None = None
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
        """The model that these settings ask for."""
        parts: list[Model] = []
        if self.k is not None:
            parts.append(KAnonymity(self.k))
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
        check_plan(method, self.model)
        registry.find("recoders", method.recode)().check(self.model)

    def model_for(self, schema: Schema) -> Model:
        """Return the model, checked against the schema."""
        self.model.check(schema)
        return self.model

    def check_promise(self, manifest: Mapping[str, Any], schema: Schema, records: int) -> None:
        """Refuse a manifest that does not promise what these settings ask for."""
        asked = {"kind": self.kind, **self.model.parameters(), **_bins(schema)}
        told = manifest["guarantee"]
        limit = math.floor(suppression_share(self.suppress) * records)
        differs = [key for key, value in asked.items() if told.get(key) != value]
        if differs or manifest["claim"] != claim(self.model, schema):
            raise other_promise()
        if (
            manifest["suppressed"] is None
            or manifest["suppressed"] > limit
            or any(manifest[key] for key in ("withheld", "dirty"))
        ):
            raise VerificationError(f"more records are left out than the config allows ({limit:,})")
        if manifest["counterfeits"]["total"]:
            raise VerificationError("the manifest speaks of counterfeits, and a static release has none")

    def settings(self) -> dict[str, Any]:
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

    def may_change(self, key: str, before: Any, after: Any) -> bool:  # noqa: ARG002
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
        self.check(snapshot.schema, method)
        number = 1 if memory is None else memory.release
        return prepare_static(
            snapshot, self.model, method, rng, suppress=self.suppress, series=series, number=number, codes=codes
        )


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
) -> Prepared:
    """Prepare one release under any model."""
    model.check(snapshot.schema)
    check_plan(method, model)
    recoder: Recoder = registry.find("recoders", method.recode)()
    recoder.check(model)
    codes = encode(snapshot) if codes is None else codes
    check_feasible(codes, model)
    limit = math.floor(suppression_share(suppress) * codes.n)
    partition = _within_limit(method.group(codes, model, rng), limit, codes, method)
    if limit and method.recode == "boxes":
        partition = suppress_stretching(codes, partition, model, limit - codes.n + len(partition.order))
    recoded = recoder.recode(codes, partition)
    # The order of the rows depends on the dice alone, not on how the grouper went through the table.
    placement = shuffled(rng, np.flatnonzero(partition.labels >= 0).astype(np.int32))
    release = _release(snapshot, recoded, placement, rng)
    read = codes.sensitive if model.tags.reads_values else ()  # nothing is counted that nobody asks for
    published = {a.name: a.codes[placement] for a in read}
    references = {a.name: a.reference(placement) for a in read}
    stats = group_statistics(release, published, references, placed=True)
    release.manifest.update(
        make_manifest(
            series=series,
            release=number,
            guarantee={
                "kind": Static.kind,
                "grade": "counted" if method.reads_values(model) else "blind",
                **model.parameters(),
                **_bins(snapshot.schema),
                **({"suppress": suppress} if suppress else {}),
                "method": {"kind": method.name, **method.parameters()},
            },
            claim=claim(model, snapshot.schema),
            assumes=ASSUMES if recoded.groups is None else (*ASSUMES, TELLS_WHO),
            columns=describe_columns(
                snapshot, codes, two_tables=recoded.groups is not None, groups=recoded.groups is not None
            ),
            rows=len(placement),
            groups=recoded.n_groups,
            suppressed=codes.n - len(placement),
            achieved=model.achieved(stats),
        )
    )
    return Prepared(release, placement, codes, model)


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


def _release(
    snapshot: Snapshot, recoded: Recoded, placement: npt.NDArray[np.int32], rng: np.random.Generator
) -> Release:
    """Put rows in their published order; the manifest is still to be filled in."""
    schema, frame = snapshot.schema, snapshot.frame
    apart = recoded.groups is not None  # sensitive values in a table of their own
    names = published_names(snapshot, two_tables=apart)
    values = pl.DataFrame({n: taken(frame[n], placement) for n in names if schema[n].role is not Role.QUASI})
    classes = recoded.classes[placement]
    if recoded.groups is None:
        return Release({}, names, recoded.cells, classes, values, snapshot.native)
    check_names(schema, two_tables=True)
    # Group numbers are random, and so is the order of the second table: neither says how groups were made.
    groups = (rng.permutation(recoded.n_groups) + 1).astype(np.int32)[recoded.groups[placement]]
    batch = second_table(groups, pl.DataFrame({n: taken(frame[n], placement) for n in schema.sensitive}))
    return Release({}, names, recoded.cells, classes, values, snapshot.native, groups, batch)


def claim(model: Model, schema: Schema) -> str:
    """Return what a release promises, in one sentence, and another where values are judged in bins."""
    bins = _bins(schema).get("bins", {})
    judged = [f" Values of {name} are judged in {n} bins, and published exactly." for name, n in bins.items()]
    return f"In this release, {model.sentence()}." + "".join(judged)


def _bins(schema: Schema) -> dict[str, dict[str, int]]:
    bins = {name: n for name in schema.sensitive if (n := schema[name].bins) is not None}
    return {"bins": bins} if bins else {}


def suppression_share(value: object) -> Fraction:
    """Return the share of records that may be suppressed, or raise."""
    share = exact_number("suppress", value)
    if not 0 <= share < 1:
        raise ConfigError(f"suppress must be a share from 0 up to, not including, 1, not {value!r}")
    return share
