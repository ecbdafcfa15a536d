"""A sample on a fixed grid, without its rare rows: differential privacy by sampling."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from reveil.core import registry
from reveil.core.arrays import offsets_of
from reveil.core.errors import ConfigError
from reveil.grouping.grid import checked_scales, grid_column, groups_of, level_of
from reveil.grouping.groupers.base import Grouper
from reveil.grouping.sampling import Sampling
from reveil.models.k_anonymity import KAnonymity
from reveil.models.statistics import Partition
from reveil.releases.parsing import classes_of
from reveil.tables.schema import Type, toml_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON
    from reveil.core.randomness import Dice
    from reveil.grouping.recoders.base import Recoder
    from reveil.models.base import Model
    from reveil.models.encoding import Codes
    from reveil.models.statistics import Reference
    from reveil.tables.schema import Schema

_ORDERED = (Type.NUMBER, Type.DATE, Type.DATETIME, Type.TIME)


@dataclass(frozen=True, kw_only=True)
class SafeGrid(Grouper):
    """Takes each record with probability ``beta``, puts it on the grid of ``scales``, and leaves rare cells out.

    A cell is *all* the published columns: the cells of the quasi columns, as :mod:`reveil.grouping.grid` says, and the
    exact value of each sensitive one (exact values beside a coarser cell would cost delta = beta). Of the records
    taken, those in a cell with fewer than k are left out, and so are records outside the ends of a scale. How many are
    left out is not told. Where nothing is left an empty table is published: to refuse it would tell something, too.

    Guarantee: (epsilon, delta)-differential privacy for one record more or less, with the delta of
    :mod:`reveil.grouping.sampling`, where the theorem stands. It holds against an adversary who knows the program and
    every other record, and everything but the dice (*blind*), although rare sensitive values decide what is left out.
    Assumes: one record for each person; and that the scales, the columns and the order they are in, their declared
    types, hierarchies and orders and the marks for missing values do not depend on the table, nor does the kind of
    file it is in (a column of small floats, or of text, may round or spell a value in its own way). Types are never
    guessed: every column needs one, or an order or a hierarchy, which make it text. Numbers are floats, whole or not,
    so that ``[18, 30]`` and ``[30, 65]`` share an end (30 is in the second); whole numbers beyond 2**53 are rounded.
    Moments are in UTC, without a zone. An empty table is refused, and so is one that cannot be read as declared: that
    it was is not hidden.
    Does not protect against: several releases of the same people, for which epsilon and delta add up; or what holds of
    everybody (that all the rows of a cell have one value is told, and so it should be).
    Source: Li, Qardaji, Su 2012; thesis 000, sections 2.7.2 and 3.8.2.
    """

    name: ClassVar[str] = "safe-grid"
    suppresses: ClassVar[bool] = True
    beta: float
    epsilon: float
    scales: Mapping[str, Any] = field(default_factory=dict, hash=False)
    recode: str = field(default="grid", init=False)

    def __post_init__(self) -> None:
        checked = Sampling(1, self.beta, self.epsilon)
        object.__setattr__(self, "beta", checked.beta)
        object.__setattr__(self, "epsilon", checked.epsilon)
        object.__setattr__(self, "scales", checked_scales(self.scales))

    @classmethod
    def examples(cls) -> tuple[SafeGrid, ...]:
        """Return one with cut points for the first column, and one without any."""
        return cls(beta=0.5, epsilon=1.0, scales={"q0": [-10, 0, 5, 10]}), cls(beta=0.9, epsilon=3.0)

    def parameters(self) -> dict[str, JSON]:
        """Return the parameters under their config names."""
        return {"beta": self.beta, "epsilon": self.epsilon, "scales": self.scales}

    def reason_against(self, model: Model) -> str | None:
        """Say why a model cannot be kept: the theorem is about sizes of cells and nothing else."""
        if not isinstance(model, KAnonymity):
            return (
                "differential privacy by sampling needs k alone: a cell left out for the values in it is not covered "
                "by the theorem"
            )
        return None

    def reads_values(self, model: Model) -> bool:  # noqa: ARG002
        """Say that sensitive values are part of a cell, and so decide what is left out."""
        return True

    def sampling(self, model: Model) -> Sampling:
        """Return what is promised beside the model."""
        return Sampling(model.minimum_size, self.beta, self.epsilon)

    def recoder(self) -> Recoder:
        """Return the form with these scales."""
        made: Recoder = registry.find("recoders", self.recode)(self.scales)
        return made

    def reading(self, schema: Schema) -> Schema:
        """Return the schema with columns whose stored type depends on no record."""
        return schema.steadied()

    def check_schema(self, schema: Schema) -> None:
        """Refuse columns that cannot be part of a cell, and scales that fit no column."""
        unknown = [name for name in self.scales if name not in schema.quasi]
        if unknown:
            raise ConfigError(
                f"safe-grid: {unknown[0]!r} has a scale and is not a quasi column",
                column=unknown[0],
                hint="Quasi columns have scales; sensitive values are published exactly, each a cell of its own.",
            )
        if schema.plain:
            raise ConfigError(
                f"safe-grid: column {schema.plain[0]!r} is plain, and every published column is part of a cell",
                column=schema.plain[0],
                hint="Declare it as sensitive or quasi, or drop it (identifier).",
            )
        binned = [name for name in schema.sensitive if schema[name].bins is not None]
        if binned:
            raise ConfigError(
                f"safe-grid: column {binned[0]!r} has bins, which are made from the table",
                column=binned[0],
                hint="Take bins out, or declare the column as quasi and give it a scale.",
            )
        for column in (schema[name] for name in (*schema.quasi, *schema.sensitive)):
            if not column.typed:
                likely = _likely(self.scales.get(column.name))
                raise ConfigError(
                    f"safe-grid: column {column.name!r} needs a type: guessed from the table, it would tell of records",
                    column=column.name,
                    hint=f'{toml_key(column.name)} = {{ role = "{column.role.value}", type = "{likely}" }}, or another '
                    f"of {', '.join(Type)}.",
                )
        for column in (schema[name] for name in schema.quasi):
            scale = self.scales.get(column.name)
            if column.taxonomy is not None:
                level_of(column.name, scale, len(column.taxonomy.levels))
            elif column.order is not None and scale is not None:
                groups_of(column.name, scale, column.order)
            elif column.type in _ORDERED and not isinstance(scale, list):
                raise ConfigError(
                    f"safe-grid: column {column.name!r} needs cut points: a grid is never learnt from the table",
                    column=column.name,
                    hint=f"scales = {{ {column.name} = [0, 18, 65, 120] }}, ends included.",
                )

    def group(self, codes: Codes, model: Model, rng: Dice) -> Partition:
        """Sample, find the cells, and keep those with k records."""
        for part in model.parts:
            reason = self.reason_against(part)
            if reason is not None:
                raise ConfigError(f"the method {self.name!r} cannot keep {part!r}: {reason}")
        cells = [grid_column(a, self.scales.get(a.name)).of_code[a.codes] for a in codes.quasi]
        # Every record has its own die, whether it could be published or not; its chance is beta but for 2**-53.
        taken = rng.child("sample").random(codes.n) < self.beta
        for cell in cells:
            taken &= cell >= 0
        records = np.flatnonzero(taken).astype(np.int32)
        values = [a.codes[records] for a in codes.sensitive]
        labels, _ = classes_of([*(cell[records] for cell in cells), *values], len(records))
        sizes = np.bincount(labels)
        kept = sizes >= model.minimum_size
        order = records[np.argsort(labels, kind="stable")]
        order = order[np.repeat(kept, sizes)]
        return Partition(order, offsets_of(sizes[kept]), codes.n)

    def refine(
        self,
        codes: Codes,  # noqa: ARG002
        model: Model,  # noqa: ARG002
        rng: Dice,  # noqa: ARG002
        start: Partition,  # noqa: ARG002
        *,
        table: Mapping[str, Reference] | None = None,  # noqa: ARG002
        blind: bool = False,  # noqa: ARG002
    ) -> Partition:
        """Refuse: the cells of a fixed grid are not made finer by what is in them."""
        raise ConfigError("the method 'safe-grid' refines nothing", hint="Use the method 'mondrian'.")


def _likely(scale: object) -> Type:
    """Return the type that a column with this scale would have."""
    cut = scale[0] if isinstance(scale, list) else None
    return Type.NUMBER if isinstance(cut, int | float) else Type.DATE if isinstance(cut, str) else Type.TEXT
