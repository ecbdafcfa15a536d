"""Small tables, and what is done with them: published, and checked again as an owner would."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

import reveil as rv
from reveil.core.errors import VerificationError
from reveil.guarantees import assembly
from reveil.releases.files import batch_path
from reveil.releases.manifest_files import digest_of, manifest_path
from reveil.series import assembly_line, publishing
from reveil.series.config import load_config
from reveil.series.publishing import publish_file, verify_file
from reveil.tables.schema import Schema

KINDS = ["flu", "gout", "cold", "mumps", "acne", "gall", "burn", "rash"]


def people(n: int = 48, first: int = 0, seed: int = 1, kinds: int = 8) -> pl.DataFrame:
    """Return a small table; values in turn, so that every model can be kept."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "pid": np.arange(first, first + n),
            "age": rng.permutation(n) + 20,
            "town": [f"t{v}" for v in rng.integers(0, 6, n)],
            "ill": [KINDS[v % kinds] for v in rng.permutation(n)],
        }
    )


FRAME = people()
LATER = pl.concat([FRAME[6:], people(12, 100, 2)])
LAST = pl.concat([FRAME[:40], LATER[-12:]])
CHANGED = LAST.with_columns(pl.when(pl.col("pid") % 9 == 0).then(pl.lit("rash")).otherwise("ill").alias("ill"))
PEOPLE = Schema(person="pid", quasi=["age", "town"], sensitive="ill")
PLAIN = Schema(identifiers="pid", quasi=["age", "town"], sensitive="ill")
NUMBERS = Schema(identifiers="pid", quasi=["age", "town"], sensitive="pay")
PAID = FRAME.drop("ill").with_columns(pay=pl.Series(np.random.default_rng(4).permutation(48) * 10))


def released(patch, change) -> None:
    """Let every release be assembled otherwise: ``change`` is handed what was prepared."""
    right = assembly.assemble
    for module in (publishing, assembly_line):
        patch.setattr(module, "assemble", lambda *given: change(right(*given)))


def told(patch, change) -> None:
    """Let every release have another manifest."""
    released(patch, lambda made: replace(made, release=made.release.under(change(made.release.manifest))))


def anonymized(model, method=None, frame=FRAME, schema=PLAIN, **more: Any) -> None:
    """Publish one table once."""
    rv.anonymize(frame, schema, model, method, seed=1, **more)


def series(tmp_path, guarantee, frames, schema=PEOPLE, method=None, **more: Any) -> None:
    """Publish a series, and judge it anew from its files."""
    made = rv.Series.open(tmp_path / "vault", schema, guarantee, method, seed=1)
    for at, frame in enumerate(frames):
        made.publish_to(tmp_path / f"r{at + 1}.csv", frame, again=True, **more)
    found = made.replayed()
    assert not found.missing, found.missing
    if found.broken:
        raise VerificationError(found.broken[0])


CONFIG = """[columns]
pid = "identifier"
age = "quasi"
town = "quasi"
ill = "sensitive"
[guarantee]
kind = "static"
k = 4
l = 2
"""


def filed(tmp_path, suffix=".csv", config=CONFIG, frame=FRAME):
    """Publish a file as a config says; return config, raw table and release."""
    (tmp_path / "reveil.toml").write_text(config)
    frame.write_csv(tmp_path / "raw.csv")
    settings = load_config(tmp_path / "reveil.toml")
    publish_file(settings, tmp_path / "raw.csv", tmp_path / f"r{suffix}")
    return settings, tmp_path / "raw.csv", tmp_path / f"r{suffix}"


def forged(tmp_path, change=None, manifest=None, config=CONFIG, second=None) -> None:
    """Forge a published file and its manifest so that they match each other, and verify."""
    settings, raw, path = filed(tmp_path, config=config)
    if change is not None:
        change(pl.read_csv(path, infer_schema=False)).write_csv(path)
    if second is not None:
        second(pl.read_csv(batch_path(path), infer_schema=False)).write_csv(batch_path(path))
    told = json.loads(manifest_path(path).read_text())
    if manifest is not None:
        manifest(told)
    files = [path, batch_path(path)] if batch_path(path).is_file() else [path]
    told["digest"] = digest_of(*files)
    told["digests"] = {"csv": told["digest"]}
    manifest_path(path).write_text(json.dumps(told))
    verify_file(settings, path, raw)
