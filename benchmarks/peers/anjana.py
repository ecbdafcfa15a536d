"""ANJANA (Apache-2.0): full-domain generalisation along hierarchies, with suppression. Runs where it is installed."""

from __future__ import annotations

import contextlib
import io
from importlib import import_module, metadata
from typing import Any

from benchmarks.peers.job import Job, serve


def publish(job: Job) -> dict[str, Any]:
    """Publish as its documentation shows: a frame, hierarchies as arrays by level, the share to suppress in percent."""
    pandas, anonymity = import_module("pandas"), import_module("anjana.anonymity")
    frame = pandas.read_csv(job.table, keep_default_na=False)
    hierarchies = {}
    for name, path in job.hierarchies.items():
        levels = pandas.read_csv(path, sep=";", header=None, keep_default_na=False)
        hierarchies[name] = {place: levels[place].to_numpy() for place in range(levels.shape[1])}
    asked: tuple[Any, ...] = (frame, [], job.quasi)
    limits = (job.suppress * 100, hierarchies)
    with contextlib.redirect_stdout(io.StringIO()) as said:
        if job.l is not None:
            result = anonymity.l_diversity(*asked, job.sensitive, job.k, job.l, *limits)
        elif job.t is not None:
            result = anonymity.t_closeness(*asked, job.sensitive, job.k, job.t, *limits)
        else:
            result = anonymity.k_anonymity(*asked, job.k, *limits)
    result.to_csv(job.out, index=False)
    return {"rows": len(result), "said": said.getvalue()}


if __name__ == "__main__":
    import_module("anjana.anonymity")
    serve(publish, metadata.version("anjana"))
