"""What a recoder is: a partition in, published cells out.

To add one: a file in this folder and a line under ``[project.entry-points."reveil.recoders"]``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from reveil.core.arrays import CodeArray
    from reveil.models.base import Model
    from reveil.models.encoding import Codes
    from reveil.models.statistics import Partition
    from reveil.releases.table import Cells


@dataclass(frozen=True)
class Recoded:
    """What is published of the quasi columns.

    Classes are records with equal cells: ``cells`` describes them column by column, ``classes`` is the class of each
    record (-1: suppressed). ``levels`` is the level of each class where boxes are nested: there the innermost box wins.
    """

    cells: dict[str, Cells]
    classes: CodeArray
    n_classes: int
    levels: CodeArray | None = None


class Recoder(ABC):
    """Turns a partition into published cells."""

    needs_regions: ClassVar[bool] = False  # whether the partition must say which regions enclose its groups
    two_tables: ClassVar[bool] = False  # whether groups are a column, and sensitive values go to a table of their own

    def check(self, model: Model) -> None:  # noqa: B027  (most forms suit most models)
        """Refuse a model whose promise this form does not keep."""

    @abstractmethod
    def recode(self, codes: Codes, partition: Partition) -> Recoded:
        """Build the cells of every group, once per distinct cell."""
