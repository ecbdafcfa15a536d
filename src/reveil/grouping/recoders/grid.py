"""A fixed grid: each group is published as the cell it is in, as the scales say, whatever values occur in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reveil.core.errors import ConfigError
from reveil.grouping.grid import checked_scales, grid_column
from reveil.grouping.recoders.base import Recoded, Recoder
from reveil.releases.parsing import classes_of
from reveil.releases.release import compact
from reveil.releases.table import Cells

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.models.base import Model
    from reveil.models.encoding import Codes
    from reveil.models.statistics import Partition


class GridRecoder(Recoder):
    """Publishes every group as its cell of a grid; the records of a group are all in one cell.

    Guarantee: a published cell depends on the scales and on the type of its column alone: it says nothing of where in
    the cell its records are, nor of cells that are not published.
    Assumes: the scales were not made from the table.
    Does not protect against: more than the partition does.
    Source: Li, Qardaji, Su 2012 (generalisation that does not depend on the data).
    """

    def __init__(self, scales: Mapping[str, object] | None = None) -> None:
        self.scales = None if scales is None else checked_scales(scales)

    def check(self, model: Model) -> None:  # noqa: ARG002
        """Refuse to work without scales."""
        if self.scales is None:
            raise ConfigError("the form 'grid' belongs to the method 'safe-grid'", hint='kind = "safe-grid"')

    def recode(self, codes: Codes, partition: Partition) -> Recoded:
        """Build the cells of the groups; a cell without a group is not in the result."""
        member = partition.order[partition.offsets[:-1]]
        made: dict[str, Cells] = {}
        for attribute in codes.quasi:
            column = grid_column(attribute, (self.scales or {}).get(attribute.name))
            used, index = np.unique(column.of_code[attribute.codes[member]], return_inverse=True)
            made[attribute.name] = Cells(column.form, compact(column.cells(used)), index.astype(np.int32))
        # Groups that differ in their sensitive values alone have equal cells: to a reader they are one class.
        class_of_group, first = classes_of([column_cells.index for column_cells in made.values()], partition.n_groups)
        cells = {
            name: Cells(column_cells.form, column_cells.distinct, column_cells.index[first])
            for name, column_cells in made.items()
        }
        return Recoded(cells, np.append(class_of_group, np.int32(-1))[partition.labels], len(first))
