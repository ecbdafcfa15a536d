"""ARX: a Java library with a window, and no command of its own.

Whoever has it can wrap it in a program that takes the two files every tool here takes (``ARX JOB ANSWER``, see
:mod:`benchmarks.peers.job`), and name that program in the environment variable ``ARX``, or call it ``arx``. Without one
its figures are those that were measured elsewhere, and are labelled so.
"""

from __future__ import annotations

import os
import shutil

# UCI Adult, 30,162 records, eight quasi attributes, k = 10, on another machine; the NCP is from the original values in
# each class: seconds warm, classes, DCP in millions, NCP, records left out.
ELSEWHERE: dict[str, tuple[float, int, float | None, float, int]] = {
    "ARX 3.9.2, optimal, 2 % suppression": (0.45, 114, 84.0, 0.374, 501),
    "ARX 3.9.2, local recoding, loss factor 0.5": (3.0, 429, 10.8, 0.166, 0),
    "ARX 3.9.2, local recoding, loss factor 0": (3.7, 2289, None, 0.052, 0),
}
BEST_CELLS = 0.0843  # the mean width of the cells of the last one


def command() -> str | None:
    """Return the program that wraps ARX, where there is one."""
    return shutil.which(os.environ.get("ARX", "arx"))
