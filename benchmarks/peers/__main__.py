"""Reveil beside its peers: ``python -m benchmarks.peers`` (``--install`` first makes the environment of the peers).

The result goes to ``docs/evidence/peers.json`` and ``peers.svg``; ``--fast`` takes small tables and stores nothing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.papers.common import finish
from benchmarks.peers import comparison, running


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--install", action="store_true", help="make the environment of the peers first")
    parser.add_argument("--fast", action="store_true", help="small tables; stored nowhere by itself")
    parser.add_argument("--out", type=Path, help="store the result in this folder")
    asked = parser.parse_args()
    if asked.install:
        running.install()
    with tempfile.TemporaryDirectory() as folder:
        result = comparison.run(Path(folder), fast=asked.fast)
    if result is None:
        return 0
    finish(result, asked.fast, asked.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
