"""anonypy: Mondrian in pandas. It publishes one row for each class and sensitive value, with a count."""

from __future__ import annotations

from importlib import import_module, metadata
from typing import Any

from benchmarks.peers.job import Job, serve


def publish(job: Job) -> dict[str, Any]:
    """Publish as its documentation shows: columns that are no numbers as categories, then one call."""
    pandas, anonypy = import_module("pandas"), import_module("anonypy")
    frame = pandas.read_csv(job.table, keep_default_na=False)
    for name in [*job.quasi, job.sensitive]:
        if name not in job.numbers:
            frame[name] = frame[name].astype("category")
    preserver = anonypy.Preserver(frame, job.quasi, job.sensitive)
    if job.l is not None:
        rows = preserver.anonymize_l_diversity(job.k, job.l)
    elif job.t is not None:
        rows = preserver.anonymize_t_closeness(job.k, job.t)
    else:
        rows = preserver.anonymize_k_anonymity(job.k)
    result = pandas.DataFrame(rows)
    result.to_csv(job.out, index=False)
    return {"rows": len(result)}


if __name__ == "__main__":
    import_module("anonypy")
    serve(publish, metadata.version("anonypy"))
