"""pycanon (Apache-2.0): the k, l and t of a published table."""

from __future__ import annotations

import time
from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any

from benchmarks.peers.job import Job, serve

if TYPE_CHECKING:
    from collections.abc import Callable


def check(job: Job) -> dict[str, Any]:
    """Read a published table and return its levels, and the processor time of each once the table was read."""
    pandas, anonymity = import_module("pandas"), import_module("pycanon.anonymity")
    started = time.process_time()
    frame = pandas.read_csv(job.table, dtype=str, keep_default_na=False)
    took = {"read": time.process_time() - started}
    calls: dict[str, Callable[[], Any]] = {
        "k": lambda: anonymity.k_anonymity(frame, job.quasi),
        "l": lambda: anonymity.l_diversity(frame, job.quasi, [job.sensitive]),
        "t": lambda: anonymity.t_closeness(frame, job.quasi, [job.sensitive]),
    }
    levels = {}
    for name, call in calls.items():
        started = time.process_time()
        levels[name] = float(call())
        took[name] = time.process_time() - started
    return {"levels": levels, "took": took}


if __name__ == "__main__":
    import_module("pycanon.anonymity")
    serve(check, metadata.version("pycanon"))
