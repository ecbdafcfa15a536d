"""Run all benchmarks: ``make bench``. Ends with 1 if a goal was missed."""

from __future__ import annotations

import sys

from benchmarks import anonymize, audit, global_guarantee, measures, refinement, series, worlds

if __name__ == "__main__":
    sys.exit(0 if all([anonymize.run(), measures.run(), series.run(), refinement.run(), global_guarantee.run(), worlds.run(), audit.run()]) else 1)
