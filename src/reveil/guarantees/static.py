"""The static guarantee: one release that satisfies a model, as if it were the only one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import polars as pl

from reveil.codes import Codes, encode
from reveil.errors import ConfigError
from reveil.groupers.base import Grouper, check_feasible, check_plan
from reveil.guarantees.base import Guarantee, Prepared
from reveil.manifest import make_manifest
from reveil.models.base import Model, exact_number
from reveil.models.distinct_diversity import DistinctDiversity
from reveil.models.entropy_diversity import EntropyDiversity
from reveil.models.frequency_diversity import FrequencyDiversity
from reveil.models.k_anonymity import KAnonymity
from reveil.models.recursive_diversity import RecursiveDiversity
from reveil.models.t_closeness import TCloseness
from reveil.notation import Form
from reveil.recoders.boxes import FORMS, BoxRecoder, Recoded
from reveil.release import Release, dtype_name
from reveil.schema import Role, Schema
from reveil.suppression import suppress_widest
from reveil.verification import class_statistics

if TYPE_CHECKING:
    import numpy as np

    from reveil.snapshot import Snapshot

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

    def check(self, schema: Schema, method: Grouper) -> None:
        """Refuse, before any data is read, what cannot work."""
        self.model.check(schema)
        check_plan(method, self.model)

    def model_for(self, schema: Schema) -> Model:
        """Return the model, checked against the schema."""
        self.model.check(schema)
        return self.model

    def prepare(self, snapshot: Snapshot, method: Grouper, rng: np.random.Generator, *, series: str | None) -> Prepared:
        """Group, recode and describe one release."""
        self.check(snapshot.schema, method)
        return prepare_static(snapshot, self.model, method, rng, suppress=self.suppress, series=series)


def prepare_static(
    snapshot: Snapshot,
    model: Model,
    method: Grouper,
    rng: np.random.Generator,
    *,
    suppress: float = 0.0,
    series: str | None = None,
) -> Prepared:
    """Prepare one release under any model."""
    model.check(snapshot.schema)
    check_plan(method, model)
    codes = encode(snapshot)
    check_feasible(codes, model)
    partition = method.group(codes, model, rng)
    limit = int(suppression_share(suppress) * codes.n)
    if limit:
        partition = suppress_widest(codes, partition, model, limit)
    recoded = BoxRecoder().recode(codes, partition)
    placement = rng.permutation(partition.order)
    release = _release(snapshot, codes, recoded, placement, model, method, suppress, series)
    return Prepared(release, placement, codes, model)


def _release(
    snapshot: Snapshot,
    codes: Codes,
    recoded: Recoded,
    placement: np.ndarray[Any, np.dtype[np.int32]],
    model: Model,
    method: Grouper,
    suppress: float,
    series: str | None,
) -> Release:
    """Put rows in their published order and describe them."""
    schema, frame = snapshot.schema, snapshot.frame
    names = tuple(n for n in frame.columns if schema[n].role in (Role.QUASI, Role.SENSITIVE, Role.PLAIN))
    values = pl.DataFrame({n: frame[n].gather(placement) for n in names if schema[n].role is not Role.QUASI})
    kinds = {attribute.name: attribute.kind for attribute in codes.quasi}
    columns = [
        {
            "name": name,
            "role": schema[name].role.value,
            "form": (FORMS[kinds[name]] if name in kinds else Form.VALUE).value,
            "type": dtype_name(frame.schema[name]),
        }
        for name in names
    ]
    classes = recoded.classes[placement]
    grade = "counted" if method.reads_values(model) else "blind"
    manifest = make_manifest(
        series=series,
        release=1,
        guarantee={
            "kind": Static.kind,
            "grade": grade,
            **model.parameters(),
            **({"suppress": suppress} if suppress else {}),
            "method": {"kind": method.name, **method.parameters()},
        },
        claim=f"In this release, {model.sentence()}.",
        assumes=ASSUMES,
        columns=columns,
        rows=len(placement),
        groups=recoded.n_classes,
        suppressed=codes.n - len(placement),
        achieved={},
    )
    release = Release(manifest, names, recoded.cells, classes, values, snapshot.native)
    references = codes.references(placement)
    published = {a.name: (a.codes[placement], references[a.name]) for a in codes.sensitive}
    manifest["achieved"] = model.achieved(class_statistics(release, published))
    return release


def suppression_share(value: object) -> float:
    """Return the share of records that may be suppressed, or raise."""
    share = exact_number("suppress", value)
    if not 0 <= share < 1:
        raise ConfigError(f"suppress must be a share from 0 up to, not including, 1, not {value!r}")
    return float(share)
