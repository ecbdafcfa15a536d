"""Files that were forged after they were published, with a manifest that matches their bytes."""

from __future__ import annotations

import json

import polars as pl

from reveil.releases.manifest_files import manifest_path
from reveil.series.publishing import verify_file
from tests.manifests import mirrored
from tests.sabotage.registry import sabotage
from tests.sabotage.scenes import CONFIG, filed, forged, people

ANATOMY = CONFIG.replace("k = 4\n", "") + '[method]\nkind = "anatomy"\n'


def forging(title, change=None, manifest=None, **more):
    """Register a forgery."""

    @sabotage("files", name=title)
    def run(patch, tmp_path):
        forged(tmp_path, change, manifest, **more)


def set_of(**changes):
    return lambda told: told.update(changes)


def promise_of(**changes):
    def change(told):
        told["guarantee"].update(changes)
        told["promise"] = mirrored(told)

    return change


def at(row, column, value):
    """One cell with another value."""
    return lambda t: t.with_columns(t[column].scatter([row], [value]))


forging("a forged value", lambda t: at(0, "ill", "gout" if t["ill"][0] == "mumps" else "mumps")(t))
forging("a forged value that nobody has", at(0, "ill", "plague"))
forging("values in another order", lambda t: t.with_columns(t["ill"].reverse()))
forging("a moved box", lambda t: t.with_columns(age=pl.lit("[0, 1]")))
forging("one cell of a box that was narrowed", at(0, "age", "20"))
forging("a set with a town that nobody lives in", at(0, "town", "nowhere"))
forging("a lost row", lambda t: t.head(47), set_of(rows=47))
forging("a lost row that is counted as suppressed", lambda t: t.head(47), set_of(rows=47, suppressed=1))
forging("a doubled row", lambda t: pl.concat([t.head(47), t.head(1)]))
forging("a row that nobody has", lambda t: pl.concat([t, t.head(1)]), set_of(rows=49))
forging("a missing value instead of a value", at(0, "ill", None))
forging("an inflated level", None, lambda told: told["achieved"].update(k=30))
forging("a deflated level", None, lambda told: told["achieved"].update(k=1))
forging("a promise that was weakened", None, promise_of(k=2))
forging("a promise that was raised", None, promise_of(k=40))
forging("a forged grade", None, promise_of(grade="blind"))
forging("a forged kind", None, promise_of(kind="global", l=2))
forging("a claim that was rewritten", None, set_of(claim="In this release, every group has at least 400 records."))
forging("groups counted otherwise", None, set_of(groups=1))
forging("a forged role", None, lambda told: told["columns"][-1].update(role="plain"))
forging("suppression that never was", None, set_of(suppressed=1))
forging("dirty records that never were", None, set_of(dirty=1))
forging("counterfeits that never were", None, set_of(counterfeits={"total": 1, "per_group": {"1": 1}}))
forging(
    "a second table with another count", config=ANATOMY, second=lambda t: t.with_columns(t["count"].scatter([0], ["2"]))
)
forging("a second table with another value", config=ANATOMY, second=lambda t: t.with_columns(t["ill"].reverse()))
forging("two rows with each other's group", lambda t: t.with_columns(t["group"].reverse()), config=ANATOMY)


@sabotage("files")
def another_snapshot(patch, tmp_path):
    config, raw, path = filed(tmp_path)
    people(seed=5).write_csv(raw)
    verify_file(config, path, raw)


@sabotage("files")
def other_bytes(patch, tmp_path):
    config, raw, path = filed(tmp_path)
    path.write_bytes(path.read_bytes() + b"\n")
    verify_file(config, path, raw)


@sabotage("files", "metadata")
def metadata_added_to_a_parquet_file(patch, tmp_path):
    from reveil.releases.manifest_files import digest_of

    config, raw, path = filed(tmp_path, ".parquet")
    pl.read_parquet(path).write_parquet(path, compression="zstd", statistics=False, metadata={"by": "P 17"})
    told = json.loads(manifest_path(path).read_text())
    told["digest"] = digest_of(path)
    told["digests"] = {"parquet": told["digest"]}
    manifest_path(path).write_text(json.dumps(told))
    verify_file(config, path, raw)
