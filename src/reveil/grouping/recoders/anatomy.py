"""Anatomy: exact quasi values with a group number, and the sensitive values of each group in a second table."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.core.errors import ConfigError
from reveil.grouping.recoders.base import Recoded, Recoder
from reveil.grouping.recoders.boxes import BoxRecoder
from reveil.models.statistics import Partition

if TYPE_CHECKING:
    from reveil.models.base import Model
    from reveil.models.encoding import Codes


class AnatomyRecoder(Recoder):
    """Publishes any partition as two tables, joined by ``group``.

    The quasi values are as precise as they can be. It does not hide who is in the table, and the manifest says so.
    """

    two_tables: ClassVar[bool] = True

    def check(self, model: Model) -> None:
        """Refuse k-anonymity alone: everybody's exact quasi values are in the file."""
        if not model.tags.reads_values:
            raise ConfigError(
                f"published as two tables, {model!r} protects nobody: the quasi values are exact",
                hint="Add l-diversity or t-closeness, or publish boxes.",
            )

    def recode(self, codes: Codes, partition: Partition) -> Recoded:
        """Give every record a box of its own."""
        one_by_one = Partition(partition.order, np.arange(len(partition.order) + 1, dtype=np.int64), partition.n)
        exact = BoxRecoder().recode(codes, one_by_one)
        return Recoded(exact.cells, exact.classes, exact.n_classes)
