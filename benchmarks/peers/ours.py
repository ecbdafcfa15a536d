"""Reveil, asked as the peers are: a file in, a verified file out; or a published file in, its k, l and t out."""

from __future__ import annotations

import time
from importlib import metadata
from typing import Any

import reveil as rv
from benchmarks.peers.job import Job, serve
from reveil.core import registry
from reveil.guarantees.counted import group_statistics
from reveil.models.encoding import encode_sensitive
from reveil.releases.release import Release

SEED = 1


def schema(job: Job) -> rv.Schema:
    """Return the roles of the columns."""
    plain = () if job.link is None else (job.link,)
    return rv.Schema(quasi=job.quasi, sensitive=job.sensitive, plain=plain, hierarchies=job.hierarchies)


def publish(job: Job) -> dict[str, Any]:
    """Publish; ``rv.anonymize`` verifies the release with code of its own before it returns it."""
    model: rv.models.base.Model = rv.KAnonymity(job.k)
    if job.l is not None:
        model = model & rv.DistinctDiversity(job.l)
    if job.t is not None:
        model = model & rv.TCloseness(job.t, distance="equal")
    method = registry.find("groupers", job.method)(**({"effort": job.effort} if job.effort else {}))
    release = rv.anonymize(job.table, schema(job), model, method, suppress=job.suppress, seed=SEED)
    release.write(job.out)
    return {"rows": release.manifest.rows}


def check(job: Job) -> dict[str, Any]:
    """Read a published table and return its levels, and the processor time of each once the table was read."""
    started = time.process_time()
    release = Release.read(job.table)
    took = {"read": time.process_time() - started}
    levels: dict[str, Any] = {}
    parts = {"k": rv.KAnonymity(1), "l": rv.DistinctDiversity(1), "t": rv.TCloseness(1, distance="equal")}
    for name, model in parts.items():
        # Counted anew for each, as a caller does who asks for one level only.
        started = time.process_time()
        own = encode_sensitive(release.group_values()[1][job.sensitive], schema(job)[job.sensitive])
        stats = group_statistics(release, {job.sensitive: own.codes}, {job.sensitive: own.reference()})
        levels |= model.achieved(stats)
        took[name] = time.process_time() - started
    return {"levels": {**levels, "t": levels["t"][job.sensitive]}, "took": took}


def main() -> None:
    """Publish, or check where no method is named."""
    serve(lambda job: publish(job) if job.method else check(job), metadata.version("reveil"))


if __name__ == "__main__":
    main()
