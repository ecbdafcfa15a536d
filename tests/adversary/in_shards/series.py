"""Series in folders, with their snapshots in Parquet, and how an audit in shards is compared with one in memory."""

import numpy as np
import polars as pl

import reveil as rv
from reveil.adversary import audit
from reveil.adversary.in_shards import audit_in_shards
from reveil.engines.disk import DiskEngine
from reveil.engines.settings import EngineSettings

SCHEMA = rv.Schema(person="pid", quasi=("age", "zip", "sex"), sensitive="disease")
DISEASES = list("abcdefg")
ATTACKS = (
    *("absence", "correspondence", "difference", "homogeneity", "intersection", "linkage", "serial", "similarity"),
    "skewness",
)


def people(rng, first, many):
    return pl.DataFrame(
        {
            "pid": np.arange(first, first + many),
            "age": pl.Series(rng.integers(0, 60, many)).set(pl.Series(rng.random(many) < 0.04), None),
            "zip": rng.integers(0, 50, many),
            "sex": rng.choice(["f", "m"], many),
            "disease": rng.choice(DISEASES, many),
        }
    )


def snapshots(rows, releases, seed=0):
    """Return snapshots: an eighth leaves and an eighth comes, a tenth moves, and some values change."""
    rng = np.random.default_rng(seed)
    frame = people(rng, 0, rows)
    found, first = [frame], rows
    for _ in range(releases - 1):
        frame = frame.filter(pl.Series(rng.random(frame.height) > 0.125))
        others = people(rng, 0, frame.height)
        changed, moved = (pl.Series(rng.random(frame.height) < share) for share in (0.05, 0.1))
        frame = frame.with_columns(
            disease=pl.when(changed).then(others["disease"]).otherwise(pl.col("disease")),
            zip=pl.when(moved).then(others["zip"]).otherwise(pl.col("zip")),
        )
        frame = pl.concat([frame, people(rng, first, rows // 8)])
        frame = frame[rng.permutation(frame.height)]
        first += rows // 8
        found.append(frame)
    return found


def laid_down(folder, frames):
    """Write snapshots."""
    paths = [str(folder / f"truth-{t}.parquet") for t in range(len(frames))]
    for path, frame in zip(paths, frames, strict=True):
        frame.write_parquet(path)
    return paths


def naive(folder, frames, model, schema=SCHEMA, **more):
    """Publish each snapshot by itself."""
    paths = [f"{folder}/naive-{t}/" for t in range(len(frames))]
    for t, (path, frame) in enumerate(zip(paths, frames, strict=True)):
        rv.anonymize(frame, schema, model, seed=t, **more).write(path)
    return paths, laid_down(folder, frames)


def safe(folder, frames, guarantee, schema=SCHEMA):
    """Publish a series."""
    series = rv.Series.open(folder / "vault", schema, guarantee, seed=0)
    paths = [f"{folder}/safe-{t}/" for t in range(len(frames))]
    for path, frame in zip(paths, frames, strict=True):
        series.publish_to(path, frame)
    return paths, laid_down(folder, frames)


def both(paths, truth, known=None, *, attacks=ATTACKS, schema=SCHEMA, engine=None, everybody=True, **more):
    """Audit in memory and in shards; return both results as JSON without what says which was which."""
    here = audit(paths, schema, truth=truth, known=known, attacks=attacks, table_risks=False, **more)
    with engine or DiskEngine(60, workers=1) as worked:
        found = audit_in_shards(
            worked, EngineSettings(), paths, schema, truth, known, attacks=attacks, everybody=everybody, **more
        )
    return in_order(here), in_order(found)


def in_order(found):
    told = found.to_json(everybody=True)
    told.pop("engine", None)
    told["persons"] = sorted(told["persons"], key=lambda row: row["person"])
    told["certain"] = sorted(told["certain"], key=lambda row: (row["person"], row["release"], str(row.get("column"))))
    return told


def differences(one, other, place=""):
    """Return the places in which two results differ by more than rounding."""
    if isinstance(one, dict) and isinstance(other, dict):
        found = [f"{place}/{key}" for key in one.keys() ^ other.keys()]
        return found + [
            d for key in one.keys() & other.keys() for d in differences(one[key], other[key], f"{place}/{key}")
        ]
    if isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return [f"{place}: {len(one)} and {len(other)}"]
        return [
            d for at, (a, b) in enumerate(zip(one, other, strict=True)) for d in differences(a, b, f"{place}[{at}]")
        ]
    if isinstance(one, float) and isinstance(other, float):
        return [] if abs(one - other) <= 1e-9 else [f"{place}: {one} and {other}"]
    return [] if one == other else [f"{place}: {one} and {other}"]
