"""A form of cells: boxes of two groups at a time."""

from __future__ import annotations

import numpy as np

from reveil.grouping.recoders.base import Recoded, Recoder
from reveil.grouping.recoders.boxes import boxed


class WideRecoder(Recoder):
    """Publishes two groups at a time as one box; with an odd number of them, the last three."""

    def recode(self, codes, partition):
        n = partition.n_groups
        pair = np.minimum(np.arange(n) // 2, max(n // 2 - 1, 0))
        firsts = np.flatnonzero(np.diff(pair, prepend=-1))
        offsets = np.append(partition.offsets[firsts], partition.offsets[-1])
        cells, class_of_pair, classes = boxed(codes, codes.columns(partition.order), offsets)
        return Recoded(cells, np.append(class_of_pair[pair], np.int32(-1))[partition.labels], classes, None)
