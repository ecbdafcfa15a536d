"""A small ward and its series: snapshots, configs, and what a vault knows, in plain words."""

import hashlib
import io
import json
import shutil
import sys
from contextlib import redirect_stderr, redirect_stdout
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.cli import main
from reveil.vault import Vault

VALUES = ("asthma", "flu", "gout", "mumps", "rash", "ulcer", "zoster")
SCHEMA = rv.Schema(person="pid", quasi=("age", "town"), sensitive="disease")
CONFIG = """
[series]
name = "ward"
vault = "ward.vault"
{series}
[columns]
pid = "person"
age = "quasi"
town = "quasi"
disease = "sensitive"

[guarantee]
{guarantee}
"""
TAU = 'kind = "tau-safety"\nm = 2'
STATIC = 'kind = "static"\nk = 3'


def snapshot(first=0, last=40, seed=0, **changes):
    """Persons ``first`` to ``last``; ``changes``: the disease of p7 is given as ``p7="rash"``."""
    dice = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "pid": range(200),
            "age": dice.integers(20, 80, 200),
            "town": dice.choice(["Ash", "Birk", "Corn", "Dale"], 200),
            "disease": [VALUES[n % len(VALUES)] for n in range(200)],
        }
    )
    disease = frame["disease"].to_list()
    for person, value in changes.items():
        disease[int(person[1:])] = value
    return frame.with_columns(disease=pl.Series(disease))[first:last]


def series(folder, guarantee=None, schema=SCHEMA, **more):
    return rv.Series.open(folder / "ward.vault", schema, guarantee or rv.TauSafety(m=2), **{"name": "ward", **more})


def config(folder, guarantee=TAU, more=""):
    path = folder / "reveil.toml"
    path.write_text(CONFIG.format(guarantee=guarantee, series=more))
    return path


def written(folder, name, *arguments, **named):
    """Write a snapshot as a CSV file."""
    snapshot(*arguments, **named).write_csv(folder / name)
    return folder / name


def command(*arguments):
    """Run the command line inside this process, which is quicker; return what a process would."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["reveil", *map(str, arguments)])
        patch.setattr("reveil.cli.interrupts.install", lambda: None)
        with pytest.raises(SystemExit) as ended:
            main()
    assert "Traceback" not in err.getvalue()
    assert "inside Reveil" not in err.getvalue()
    return SimpleNamespace(returncode=ended.value.code or 0, stdout=out.getvalue(), stderr=err.getvalue())


def tables(vault):
    """Return all that the vault's database knows, table by table, rows sorted; times are left out."""
    with Vault.open(vault, create=False) as opened:
        connection = opened.store.connection
        names = ["settings", "releases", "attributes", "dictionary", "persons", "placements"]
        names += ["ledger_signatures", "ledger_told"]
        found = {name: sorted(connection.table(name).fetchall(), key=repr) for name in names}
    manifests = [json.loads(row[7]) for row in found["releases"]]
    found["releases"] = [(row[0], row[1], row[3], row[4], row[6], row[9]) for row in found["releases"]]
    return {**found, "manifests": [{k: v for k, v in m.items() if k not in ("created", "previous")} for m in manifests]}


def contents(folder):
    """Return the bytes of every file under a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def private(folder):
    """Return whether nobody else can read anything in a folder."""
    parts = [folder, *folder.rglob("*")]
    return all(p.stat().st_mode & 0o777 == (0o700 if p.is_dir() else 0o600) for p in parts)


def copied(folder, to):
    """Copy a folder with a vault, a config and releases."""
    shutil.copytree(folder, to)
    return to


def digest(path):
    return "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()


def chain_is_sound(folder, *stems):
    """Return whether each manifest names the digest of the file of the one before."""
    paths = [folder / f"{stem}.manifest.json" for stem in stems]
    named = [json.loads(path.read_text())["previous"] for path in paths]
    return named == [None, *map(digest, paths[:-1])]


def signatures(release, placements):
    """Return the set of published values of each person's group."""
    groups = release.text.group_by("group").agg(pl.col("disease").unique())
    sets = {group: frozenset(values) for group, values in groups.iter_rows()}
    return {person: sets[group] for person, group in placements.select("person", "group").iter_rows()}
