"""Run all benchmarks: ``make bench``. Ends with 1 if a goal was missed."""

from __future__ import annotations

import sys

from benchmarks import anonymize, audit, bang, closeness, global_guarantee, measures, refinement, series, worlds

ALL = (anonymize, bang, closeness, measures, series, refinement, global_guarantee, worlds, audit)

if __name__ == "__main__":
    verdicts = [benchmark.run() for benchmark in ALL]
    sys.exit(0 if all(verdicts) else 1)
