"""Past one memory in a series: the tables of two releases, made part by part, and what each release costs.

Of the people of the first table, one in ten has left in the second, one in ten is new there, and of those who stayed
one in a hundred has another value. No more than one part of a table is in memory while it is made.
"""

from __future__ import annotations

import resource
import time
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from benchmarks.processes import Watched
from reveil.testing import hospital

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COLUMNS, M, K, L = 8, 4, 10, 3
PART = 250_000
_NEW = 1_000_000  # seeds of parts of new people, behind those of everybody else


def parts(rows: int, release: int) -> Iterator[pl.DataFrame]:
    """Return the parts of the table of the first or the second release."""
    for at in range(0, rows, PART):
        size = min(PART, rows - at)
        frame = hospital.coded(size, columns=COLUMNS, seed=at // PART)
        frame = frame.with_columns(pid=pl.Series(np.arange(at, at + size)))
        if release == 1:
            yield frame
            continue
        rng = np.random.default_rng([at, 2])
        fate = rng.random(size)
        values = frame["disease"]
        changed = values.gather(rng.permutation(size))
        frame = frame.with_columns(pl.when(pl.Series(fate > 0.99)).then(changed).otherwise(values).alias("disease"))
        stay = frame.filter(pl.Series(fate > 0.1))
        new = hospital.coded(size - stay.height, columns=COLUMNS, seed=_NEW + at // PART)
        yield pl.concat([stay, new.with_columns(pid=pl.Series(np.arange(rows + at, rows + at + new.height)))])


def make(rows: int, folder: Path, engines: dict[str, int], guarantee: str, effort: str) -> None:
    """Write the tables in parts, and a config for each engine."""
    for release in (1, 2):
        table = folder / f"table-{release}"
        table.mkdir()
        for n, frame in enumerate(parts(rows, release)):
            frame.write_parquet(table / f"part-{n:05d}.parquet")
    roles = "\n".join(f'{name} = "quasi"' for name in frame.columns if name.startswith("q"))
    asked = f'kind = "{guarantee}"\nm = {M}\neffort = "{effort}"\n'
    if guarantee == "refinement":
        asked = f'kind = "refinement"\nk = {K}\nl = {L}\n[method]\nkind = "mondrian"\neffort = "{effort}"\n'
    for engine, shard_rows in engines.items():
        (folder / f"{engine}.toml").write_text(
            f'[series]\nname = "{engine}"\nseed = 1\nvault = "{engine}.vault"\narchive = false\n'
            f'[columns]\npid = "person"\n{roles}\ndisease = "sensitive"\n'
            f"[guarantee]\n{asked}[engine]\nshard_rows = {shard_rows}\n"
            + ('kind = "spark"\nmaster = "local[2]"\n' if engine == "spark" else "")
        )


def once(engine: str, folder: Path, release: int) -> str:
    """Publish a release; return CPU seconds, the peak in MiB, groups, rows nobody asked for, the width and stages."""
    from reveil.series.config import load_config
    from reveil.series.publishing import publish_file
    from reveil.series.series import Series

    config = load_config(folder / f"{engine}.toml")
    stages: list[tuple[str, float]] = []
    # What Spark starts are other processes.
    watched = Watched() if engine == "spark" else None
    clock = time.process_time if watched is None else watched.seconds
    started = clock()
    published = publish_file(
        config,
        folder / f"table-{release}",
        f"{folder}/{engine}-{release}.out/",
        stage=lambda what: stages.append((what, clock())),
    )
    used = clock() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 if watched is None else watched.peak / 2**20
    ends = [at for _, at in stages[1:]] + [started + used]
    told = " ".join(f"{what} {end - at:.1f}" for (what, at), end in zip(stages, ends, strict=True))
    manifest = published.release.manifest
    measures = Series.of(config).releases()[-1][0].facts["measures"]
    width = f"{measures['gcp']:.4f}"
    return f"{used:.1f} {peak:.0f} {manifest.groups} {manifest.counterfeits.total + manifest.dirty} {width} {told}"
