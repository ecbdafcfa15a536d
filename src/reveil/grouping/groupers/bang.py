"""BangA: blocks of a BANG file, put together by density."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np
import polars as pl

from reveil.core import registry
from reveil.core.errors import ConfigError, shown
from reveil.grouping.bang.index import Filed
from reveil.grouping.bang.memory import remembered_blocks, without_values
from reveil.grouping.groupers.base import Grouper
from reveil.models.base import whole_number

if TYPE_CHECKING:
    from reveil.core.json_values import JSON
    from reveil.core.randomness import Dice
    from reveil.grouping.bang.dendrogram import Dendrogram
    from reveil.grouping.bang.protocol import Index
    from reveil.models.base import Model
    from reveil.models.encoding import Codes
    from reveil.models.statistics import Partition
    from reveil.tables.schema import Schema

Form = Literal["compact", "nested"]


@dataclass(frozen=True, kw_only=True)
class BangA(Grouper):
    """Density-based groups of the blocks of a BANG file.

    Space is halved in turns through its dimensions into blocks of ``block`` to twice as many records
    (:mod:`reveil.grouping.bang.building`). ``form="compact"`` merges neighbouring blocks, densest first, into a tree
    (:mod:`reveil.grouping.bang.dendrogram`), cuts the tree from the root while both children satisfy the model, and
    publishes each group as the bounding box of its records. The clusters of that tree are unions of blocks and in
    general no regions; so ``form="nested"``, which publishes regions, cuts the tree of nested regions instead
    (:mod:`reveil.grouping.bang.nesting`): a group is the part of a region that no published region inside it holds.

    ``scales`` gives cut points of columns, the values at which a new cell starts (``{"age": [18, 30, 65]}``);
    ``quantile`` gives columns with many values cells of equally many records instead of equal width. What lies in one
    cell of every column is never divided. :meth:`fit` keeps the tree, so that one table can be cut for many thresholds
    and records can come and go.

    Where the model reads values, its parts that do are kept in the splits, too, so that every block satisfies them: the
    groups are then as small as the blocks allow. In a series that stands alone release by release (``static`` with a
    vault) regions and tree last instead: the next snapshot is put into the same blocks, made without a look at values,
    and where nobody came or went the same boxes are published.

    Guarantee: every group satisfies the model; nothing else. With k below ``block`` the groups are the blocks.
    Assumes: the model is judged on the statistics of a group and is union-closed.
    Does not protect against: an adversary who knows the algorithm and asks why a block was *not* split or a cluster
    *not* divided, when the model reads sensitive values (the *counted* grade). With a model on sizes alone, regions,
    tree and cut depend on quasi values only (*blind*). Blocks that adapt to the records are not differentially
    private.
    Source: thesis 000, chapter 3; Freeston 1987 (the BANG file); Schikuta and Erhart 1997 (BANG-clustering).
    """

    name: ClassVar[str] = "bang"
    makes_regions: ClassVar[bool] = True
    refuses: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("beta", "epsilon"),
        "Differential privacy by sampling needs a grid that is not learnt from the table, and BANG's regions are: use "
        'kind = "safe-grid" with beta, epsilon and scales.',
    )
    block: int = 5
    form: Form = "compact"
    scales: Mapping[str, Sequence[object]] | None = None
    quantile: bool = False
    recode: str = "boxes"

    def __post_init__(self) -> None:
        whole_number("block", self.block, least=1)
        if self.form not in get_args(Form):
            raise ConfigError(f"bang: unknown form {self.form!r}", hint=f"Known: {', '.join(get_args(Form))}.")
        if not isinstance(self.quantile, bool):
            raise ConfigError("bang: quantile must be true or false")
        if self.scales is not None:
            object.__setattr__(self, "scales", _cut_points(self.scales))
        if self.form == "nested" and self.recode == "boxes":
            object.__setattr__(self, "recode", "nested")
        if (self.recode == "nested") != (self.form == "nested"):
            raise ConfigError(
                f"bang: form = {self.form!r} cannot be published as {self.recode!r}",
                hint="Take recode out: form = 'nested' publishes nested regions, form = 'compact' boxes.",
            )
        self.check_recode()

    @classmethod
    def examples(cls) -> tuple[BangA, ...]:
        """Return both forms."""
        return cls(block=2, quantile=True), cls(block=3, form="nested")

    def __hash__(self) -> int:
        return hash((self.block, self.form, self.quantile, self.recode))  # equal ones have equal scales, too

    def parameters(self) -> dict[str, JSON]:
        """Return the parameters under their config names; cut points as they were given."""
        given = {} if self.scales is None else {"scales": {name: _plain(scale) for name, scale in self.scales.items()}}
        return {"block": self.block, "form": self.form, **given, "quantile": self.quantile, "recode": self.recode}

    def check_schema(self, schema: Schema) -> None:
        """Refuse scales of columns that have no place in space."""
        unknown = [name for name in self.scales or {} if name not in schema.quasi]
        if unknown:
            raise ConfigError(
                f"scales are given for {shown(unknown)}, which {'is' if len(unknown) == 1 else 'are'} no quasi column",
                hint=f"Quasi columns: {', '.join(schema.quasi)}.",
            )

    def group(self, codes: Codes, model: Model, rng: Dice) -> Partition:  # noqa: ARG002
        """File the table in blocks and cut; nothing is drawn."""
        filed = Filed.of(codes, self.block, self.scales, quantile=self.quantile, model=self.within(model))
        if self.form == "nested":
            return filed.nested(model)
        return filed.partition(filed.dendrogram().cut(model, filed.stats(model)))

    @staticmethod
    def within(model: Model) -> Model | None:
        """Return the parts of a model that read values: every block is to satisfy them."""
        read = [part for part in model.parts if part.tags.reads_values]
        return reduce(lambda one, other: one & other, read) if read else None

    def reason_against_cells(self) -> str | None:
        """Blocks of keys and their tree need little of each record; nested regions are judged in one memory."""
        if self.form == "nested":
            return "boxes that lie in each other are judged in one memory"
        return None if self.recode == "boxes" else f"recode = {self.recode!r} is put together in one memory"

    def carried_over(
        self, codes: Codes, layout: Mapping[str, JSON] | None, *, part: bool = False
    ) -> tuple[Grouper, Codes, Mapping[str, JSON]]:
        """Put a snapshot into the blocks of the earlier releases; only where records came or went anything changes."""
        made = {"kind": self.name, **self.parameters()}
        filed, tree, kept = remembered_blocks(made, codes, self.scales, layout, part=part)
        return Cut(self, filed, tree), filed.codes, kept

    def forgetting(self, layout: Mapping[str, JSON], values: Mapping[str, pl.Series]) -> Mapping[str, JSON] | None:
        """Leave values out at which cells start, or that are categories, where nobody has them any more."""
        return without_values(layout, values)

    def fit(self, frame: object, schema: Schema) -> Index:
        """Return an index over a table, for many cuts; no sensitive value is looked at before a cut asks for it.

        ``frame`` is whatever :func:`reveil.anonymize` takes.
        """
        self.check_schema(schema)
        index: Index = registry.find("indexes", self.name).of(self, frame, schema)
        return index


class Cut(Grouper):
    """Groups of blocks that are there already, for whoever asks a grouper. The blocks were made without the model."""

    makes_regions: ClassVar[bool] = True

    def __init__(self, made_by: BangA, filed: Filed, tree: Dendrogram) -> None:
        self._made_by, self._filed, self._tree = made_by, filed, tree
        self.recode = made_by.recode

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the method that made the blocks."""
        return self._made_by.name

    @classmethod
    def examples(cls) -> tuple[Grouper, ...]:
        """Return none: blocks are made of a table."""
        return ()

    def group(self, codes: Codes, model: Model, rng: Dice) -> Partition:  # noqa: ARG002
        """Cut the tree over the blocks, or the tree of nested regions."""
        if self._made_by.form == "nested":
            return self._filed.nested(model)
        return self._filed.partition(self._tree.cut(model, self._filed.stats(model)))

    def parameters(self) -> dict[str, JSON]:
        """Return the parameters of the method that made the blocks."""
        return self._made_by.parameters()


def _cut_points(scales: object) -> dict[str, list[object]]:
    """Return cut points as lists of plain values; whether they fit their columns, the table says."""
    if not isinstance(scales, Mapping) or not all(isinstance(name, str) for name in scales):
        raise ConfigError("bang: scales must be a table", hint="scales = { age = [18, 30, 65] }")
    for name, points in scales.items():
        if not isinstance(points, Sequence | np.ndarray | pl.Series) or isinstance(points, str):
            raise ConfigError(f"bang: the scale of {name!r} must be a list", hint=f"Write {name} = [18, 30, 65].")
    return {
        name: points.tolist() if isinstance(points, np.ndarray) else list(points) for name, points in scales.items()
    }


def _plain(points: Sequence[object]) -> list[JSON]:
    """Return cut points as a manifest can hold them."""
    return [point if isinstance(point, int | float | str) else str(point) for point in points]
