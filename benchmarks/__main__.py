"""Run all benchmarks: ``make bench``. Ends with 1 if a goal was missed."""

from __future__ import annotations

import sys

from benchmarks import anonymize, audit, measures, refinement, series

if __name__ == "__main__":
    sys.exit(0 if all([anonymize.run(), measures.run(), series.run(), refinement.run(), audit.run()]) else 1)
