"""Refinement of tables in shards: the groups of memory, the rule of the series, and what the judge refuses."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import ConfigError, InfeasibleError, PendingError, VerificationError
from reveil.engines import scratch
from reveil.engines import settings as engine_settings
from reveil.grouping.groupers import _cutting
from reveil.guarantees.refinement import plan, units
from reveil.guarantees.refinement.ledgers import CELLS, COUNTS, PACE, SIZES, TOLD_VALUES
from reveil.guarantees.refinement.reading import Reading
from reveil.series.config import load_config
from reveil.series.in_shards import cell_pages, recalled
from reveil.series.judging import ledger_of
from reveil.series.publishing import publish_file, verify_series
from reveil.vault import Vault
from reveil.verification.refinement import cells
from tests.guarantees.refinement.plain_cells import Told
from tests.guarantees.refinement.test_attendance import highest_belief
from tests.series.test_large_series import DYING, FINISH, config_of, files, months, people, written

ASKED = 'kind = "refinement"\nk = 4\nl = 2\n'
QUICK = '[method]\nkind = "mondrian"\neffort = "quick"\n'
MEMORY, SHARDS = "shard_rows = 100000\n", "shard_rows = 100\n"
KEY = "6b" * 32


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """Shards of a hundred rows, pages of few people and cells, one key for all vaults, and nothing left behind."""
    monkeypatch.setenv("REVEIL_KEY", KEY)
    monkeypatch.setattr(engine_settings, "FEWEST_ROWS", 10)
    monkeypatch.setattr(recalled, "_PAGE", 64)
    monkeypatch.setattr(cell_pages, "_PAGE", 16)
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(scratch.tempfile, "gettempdir", lambda: str(place))
    yield
    assert list(place.iterdir()) == [], "nothing is left in the temporary folder"


def groups_in(folder):
    """Return the groups of a release, each as a multiset of its rows, whatever their numbers."""
    rows = pl.concat(pl.read_parquet(path) for path in sorted(folder.glob("part-*.parquet")))
    found = {}
    for row in rows.iter_rows(named=True):
        found.setdefault(row.pop("group"), []).append(repr(sorted(row.items())))
    return Counter(tuple(sorted(group)) for group in found.values())


def published(folder, frames, engines, asked=ASKED + QUICK, more="", columns=None):
    folder.mkdir(exist_ok=True)
    config, made, tables = None, [], []
    for n, (frame, engine) in enumerate(zip(frames, engines, strict=True), start=1):
        config = config_of(folder, asked=asked, engine=engine, more=more)
        if columns is not None:
            path = folder / "reveil.toml"
            path.write_text(path.read_text().replace('disease = "sensitive"\n', columns))
            config = load_config(path)
        tables.append(written(folder, frame, f"table-{n}"))
        made.append(publish_file(config, tables[-1], f"{folder}/out-{n}/").release.manifest)
    return config, made, tables


def told_of(manifest):
    """Return what a manifest says that does not depend on who worked."""
    fields = ("rows", "groups", "dirty", "stale", "withheld", "achieved", "domains", "columns")
    return {name: getattr(manifest, name) for name in fields}


def same_as_in_memory(tmp_path, frames, **more):
    """Publish in shards and in memory; return the manifests, which say the same, as do the groups."""
    frames = list(frames)
    config, made, tables = published(tmp_path / "shards", frames, [SHARDS] * len(frames), **more)
    _, others, _ = published(tmp_path / "memory", frames, [MEMORY] * len(frames), **more)
    for n, (one, other) in enumerate(zip(made, others, strict=True), start=1):
        assert one.engine == {"kind": "disk", "shard_rows": 100}
        assert other.engine is None
        assert told_of(one) == told_of(other)
        assert one.promise == other.promise
        assert groups_in(tmp_path / "shards" / f"out-{n}") == groups_in(tmp_path / "memory" / f"out-{n}")
    assert verify_series(config, tables).broken == []
    return made


def test_the_groups_are_those_of_memory(tiny, tmp_path):
    made = same_as_in_memory(tmp_path, months(many=4, seed=1))
    assert made[-1].dirty > 50
    assert made[-1].stale > 100
    assert made[-1].withheld > 0
    lines = [rv.Series.of(load_config(tmp_path / name / "reveil.toml")).history() for name in ("shards", "memory")]
    counted = ("persons", "inserted", "deleted", "updated", "returned", "withheld", "dirty", "state")
    assert [[line[key] for key in counted] for line in lines[0]] == [
        [line[key] for key in counted] for line in lines[1]
    ]
    facts = [
        [row.facts for row, _ in rv.Series.of(load_config(tmp_path / name / "reveil.toml")).releases()]
        for name in ("shards", "memory")
    ]
    for one, other in zip(*facts, strict=True):
        assert (one["stale"], one["slack"], one["groups"]) == (other["stale"], other["slack"], other["groups"])
        assert one["measures"]["gcp"] == pytest.approx(other["measures"]["gcp"])


KINDS = {
    "k": 'kind = "refinement"\nk = 5\n' + QUICK,
    "frequency": 'kind = "refinement"\nl = 2\ndiversity = "frequency"\n' + QUICK,
    "entropy": 'kind = "refinement"\nl = 2\ndiversity = "entropy"\n' + QUICK,
    "recursive": 'kind = "refinement"\nl = 2\nc = 3.0\ndiversity = "recursive"\n' + QUICK,
    "never": 'kind = "refinement"\nk = 3\nl = 2\ndirty = "never"\n' + QUICK,
    "lean": 'kind = "refinement"\nk = 3\nslack = 1\n' + QUICK,
    "roomy": 'kind = "refinement"\nk = 3\nl = 2\nslack = "roomy"\n' + QUICK,
    "width": ASKED + '[method]\nkind = "mondrian"\nchoose = "loss"\neffort = "quick"\n',
    "gain": ASKED + '[method]\nkind = "mondrian"\nchoose = "gain"\neffort = "quick"\n',
}


@pytest.mark.slow
@pytest.mark.many
@pytest.mark.parametrize("asked", KINDS.values(), ids=KINDS)
def test_whatever_is_asked_for(tiny, tmp_path, asked):
    same_as_in_memory(tmp_path, months(many=3, seed=len(asked)), asked=asked)


@pytest.mark.slow
@pytest.mark.parametrize("asked", [ASKED, KINDS["k"].replace(QUICK, ""), KINDS["frequency"].replace(QUICK, "")])
def test_records_change_places_as_in_memory_where_newcomers_fit_a_shard(tiny, tmp_path, monkeypatch, asked):
    """Old cells are always whole in a bucket; people who are new are as long as one shard takes them, here all."""
    frames = list(months(rows=180, many=3, seed=3))
    monkeypatch.setattr(_cutting, "WHOLE", 200)  # so that nothing is cut first
    same_as_in_memory(tmp_path, frames, asked=asked)


def with_more(frame):
    """Give people a town under a hierarchy, a declared order, a second sensitive column and a plain one."""
    rng = np.random.default_rng(frame.height)
    return frame.with_columns(
        zip=pl.Series(rng.choice(["u", "v", "w", "x", ""], frame.height)).replace("", None),
        town=pl.Series(rng.choice(["u", "v", "w", "x"], frame.height)),
        grade=pl.Series(rng.choice(["low", "mid", "high"], frame.height)),
        test=pl.Series(rng.integers(0, 6, frame.height) / 2),
        note=pl.Series([f"n{n}" for n in range(frame.height)]),
    )


@pytest.mark.slow
@pytest.mark.many
@pytest.mark.parametrize("plain", [True, False])
def test_columns_of_every_kind(tiny, tmp_path, plain):
    for name in ("shards", "memory"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "town.csv").write_text("u;a;*\nv;a;*\nw;b;*\nx;b;*\n")
    frames = [with_more(frame) for frame in months(many=3, seed=4)]
    note = 'note = "plain"\n' if plain else 'note = "identifier"\n'
    columns = (
        'disease = "sensitive"\ntest = "sensitive"\ngrade = { role = "quasi", order = ["low", "mid", "high"] }\n'
        'town = { role = "quasi", type = "text", hierarchy = "town.csv" }\n' + note
    )
    asked = KINDS["never"] if plain else ASKED + QUICK
    made = same_as_in_memory(tmp_path, frames, asked=asked, columns=columns)
    assert (made[-1].dirty > 0) != plain


@pytest.mark.slow
def test_a_table_without_values(tiny, tmp_path):
    frames = [frame.drop("disease") for frame in months(many=3, seed=5)]
    same_as_in_memory(tmp_path, frames, asked=KINDS["k"], columns="")


@pytest.mark.slow
@pytest.mark.parametrize("engines", [[MEMORY, SHARDS, MEMORY], [SHARDS, MEMORY, SHARDS]])
def test_memory_and_shards_take_turns(tiny, tmp_path, engines):
    """A series may be in memory at first, or in between: vault and judge find what they need, and nothing differs."""
    frames = list(months(many=3, seed=6))
    config, made, tables = published(tmp_path / "turns", frames, engines)
    _, others, _ = published(tmp_path / "memory", frames, [MEMORY] * 3)
    assert [one.engine is None for one in made] == [engine == MEMORY for engine in engines]
    for n in range(3):
        assert groups_in(tmp_path / "turns" / f"out-{n + 1}") == groups_in(tmp_path / "memory" / f"out-{n + 1}")
        assert told_of(made[n]) == told_of(others[n])
    assert verify_series(config, tables).broken == []


@pytest.mark.slow
def test_the_vault_knows_what_memory_would_know(tiny, tmp_path):
    """Whoever is in which cell, under whatever number; with which values; and how large cells are."""
    frames, known = list(months(many=3, seed=7)), []
    for name, engine in (("shards", SHARDS), ("memory", MEMORY)):
        config, _, _ = published(tmp_path / name, frames, [engine] * 3)
        with Vault.open(config.vault_path) as vault:
            found = [vault.ledger(TOLD_VALUES).sort(pl.all()), vault.ledger(PACE).drop("next_cell").sort("release")]
            found += [vault.ledger(ledger_of(cells.VALUE)).sort(pl.all())]
            for who, sizes, counts in ((CELLS, SIZES, COUNTS), map(ledger_of, (cells.CELL, cells.SIZES, cells.COUNTS))):
                people_of = vault.ledger(who).sort("person")
                first = people_of.group_by("cell").agg(name=pl.col("person").min())  # a name that lasts
                for rows in (people_of, vault.ledger(sizes), vault.ledger(counts)):
                    renamed = rows.join(first, on="cell", how="left").drop("cell")
                    found.append(renamed.select(sorted(renamed.columns)).sort(pl.all()))
            found.append(vault.presence()[1].sum())
            known.append(found)
    for one, other in zip(*known, strict=True):
        assert one.equals(other) if isinstance(one, pl.DataFrame) else one == other


@pytest.mark.slow
def test_nobody_is_told_apart(tiny, tmp_path):
    """Random series of few people: cells are counted by hand, and all ways to give their rows to them."""
    for seed in range(4):
        dice = random.Random(seed)  # noqa: S311
        folder = tmp_path / str(seed)
        folder.mkdir()
        config = config_of(
            folder,
            asked='kind = "refinement"\nl = 2\ndiversity = "frequency"\nslack = 1\n' + QUICK,
            engine="shard_rows = 10\n",
        )
        guarantee, told, everybody = config.guarantee, Told(), range(24)
        value = {p: dice.choice("abcdef") for p in everybody}
        for time in range(3):
            there = [p for p in everybody if not time or dice.random() < 0.75]
            value |= {p: dice.choice("abcdef") for p in there if time and dice.random() < 0.2}
            frame = pl.DataFrame(
                {
                    "pid": [f"p{p}" for p in there],
                    "age": [30 + p // 6 for p in there],
                    "zip": [p // 12 for p in there],
                    "sex": ["f"] * len(there),
                    "disease": [value[p] for p in there],
                }
            )
            try:
                made = publish_file(config, written(folder, frame, f"t{time}", 1), f"{folder}/out-{time}/")
            except InfeasibleError:
                continue
            assert made.release.manifest.engine is not None
            series = rv.Series.of(config)
            release = rv.Release.read(f"{folder}/out-{time}/manifest.json")
            names = pl.DataFrame({"pid": [f"p{p}" for p in everybody]})
            placed = series.placements(len(told.releases) + 1, names).select("person", "row", "group").iter_rows()
            told.add(release, {person: (row, group) for person, row, group in placed}, frame["pid"].to_list())
            assert not told.invalid(guarantee)
            assert not told.betrayed()
        assert max(len(cell) for cell in told.cells()) < 9
        assert highest_belief(told) <= Fraction(1, 2)


@pytest.mark.slow
def test_the_audit_finds_nobody_above_the_limits(tiny, tmp_path):
    config, _, tables = published(tmp_path / "audited", months(rows=240, many=3, seed=9), [SHARDS] * 3)
    outs = [f"{tmp_path}/audited/out-{n}/manifest.json" for n in (1, 2, 3)]
    audit = rv.audit(outs, config.schema, truth=tables, known="events", table_risks=False)
    assert audit.held


@pytest.mark.slow
def test_who_was_erased_is_not_published_again(tiny, tmp_path):
    frames = list(months(many=3, seed=8))
    found = []
    for name, engine in (("shards", SHARDS), ("memory", MEMORY)):
        config, _, tables = published(tmp_path / name, frames[:2], [engine] * 2)
        for person in frames[2]["pid"].head(5).to_list():
            rv.Series.of(config).forget(person, tombstone=True)
        tables.append(written(tmp_path / name, frames[2], "table-3"))
        made = publish_file(config, tables[2], f"{tmp_path}/{name}/out-3/").release.manifest
        found.append((told_of(made), groups_in(tmp_path / name / "out-3")))
        assert made.withheld >= 5
    assert found[0] == found[1]


@pytest.mark.slow
def test_the_same_table_is_the_same_release(tiny, tmp_path):
    frames = list(months(many=2, seed=10))
    config, made, tables = published(tmp_path / "same", frames, [SHARDS] * 2)
    shuffled = written(tmp_path, frames[1].sample(fraction=1, shuffle=True, seed=1), "again", 2)
    again = publish_file(config, shuffled, f"{tmp_path}/same/copy/")
    assert again.how == "already"
    assert files(tmp_path / "same" / "copy") == files(tmp_path / "same" / "out-2")
    assert again.release.manifest == made[1]
    memory = config_of(tmp_path / "same", asked=ASKED + QUICK, engine=MEMORY)
    assert publish_file(memory, tables[1], f"{tmp_path}/same/copy/").how == "already"


def test_a_dry_run_tells_nobody_anything(tiny, tmp_path):
    config = config_of(tmp_path, asked=ASKED + QUICK)
    made = publish_file(config, written(tmp_path, next(months()), "table"), f"{tmp_path}/out/", dry_run=True)
    assert made.release.manifest.rows == 700
    assert not (tmp_path / "out").exists()
    assert rv.Series.of(config).history() == []


@pytest.mark.slow
def test_newcomers_who_are_not_valid_wait(tiny, tmp_path):
    """Three newcomers are fewer than k: they are held back, in shards as in memory, and published with others later."""
    first = next(months(seed=11))
    few, many = (people(range(5_000, 5_000 + n), np.random.default_rng(n)) for n in (3, 40))
    frames = [first, pl.concat([first, few]), pl.concat([first, few, many[3:]])]
    made = same_as_in_memory(tmp_path, frames)
    assert [one.withheld for one in made] == [0, 3, 0]


@pytest.mark.slow
def test_others_come_and_the_first_come_back(tiny, tmp_path):
    """Buckets of cells of which nobody is there, and then everybody again."""
    first = next(months(seed=14))
    others = people(range(7_000, 7_300), np.random.default_rng(1))
    made = same_as_in_memory(tmp_path, [first, others, first, pl.concat([first[:650], others])])
    assert made[1].dirty == made[2].dirty == 0
    assert made[3].dirty > 0


@pytest.mark.slow
def test_parts_of_a_table_are_made_in_memory_in_between(tiny, tmp_path):
    """Some columns, or some people, in memory: the next whole table is worked on in shards, with the same groups."""
    frames, found = list(months(many=3, seed=15)), []
    for name, engine in (("shards", SHARDS), ("memory", MEMORY)):
        (tmp_path / name).mkdir()
        config = config_of(tmp_path / name, asked=ASKED + QUICK, engine=engine)
        raw = [written(tmp_path / name, frame, f"table-{n}") for n, frame in enumerate(frames)]
        outs = [f"{tmp_path}/{name}/out-{n}/" for n in range(4)]
        publish_file(config, raw[0], outs[0], columns=["age", "disease"])
        publish_file(config, raw[1], outs[1], where="age < 50")
        made = [publish_file(config, raw[n], outs[n + 1]).release.manifest for n in (1, 2)]
        assert [one.engine is None for one in made] == [engine == MEMORY] * 2
        found.append([(told_of(one), groups_in(tmp_path / name / f"out-{n}")) for n, one in enumerate(made, start=2)])
        if engine == SHARDS:
            assert verify_series(config, raw, where="age < 50").broken == []
    assert found[0] == found[1]


def test_where_nobody_can_be_published_it_is_said(tiny, tmp_path):
    config = config_of(tmp_path, asked='kind = "refinement"\nk = 4\nl = 20\n')
    with pytest.raises(InfeasibleError, match="nobody can be published"):
        publish_file(config, written(tmp_path, next(months()), "table"), f"{tmp_path}/out/")


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ('kind = "refinement"\nk = 3\nt = 0.5\n', "t compares groups with the table"),
        ('kind = "refinement"\nk = 3\ncounterfeits = true\n', "counterfeits get values"),
        ('kind = "refinement"\nk = 3\nblind = true\n', "blind = true tells newcomers apart"),
        ('kind = "refinement"\nk = 3\n[method]\nkind = "mondrian"\ncut = "relaxed"\n', "relaxed cuts"),
    ],
)
def test_what_is_worked_on_in_memory_is_refused_elsewhere(tiny, tmp_path, asked, why):
    raw = written(tmp_path, next(months()), "table")
    with pytest.raises(ConfigError, match=why):
        publish_file(config_of(tmp_path, asked=asked, engine='kind = "spark"\n'), raw, f"{tmp_path}/out/")
    made = publish_file(config_of(tmp_path, asked=asked), raw, f"{tmp_path}/out/")
    assert made.release.manifest.engine is None


# What the judge finds


@contextmanager
def sabotaged(monkeypatch, owner, name, made):
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, made(getattr(owner, name)))
        yield


def publishes_any_piece(usual):
    def call(judge, present):
        fate, wanting = usual(judge, present)
        fate[:] = plan.Fate.CLEAN
        return fate, np.zeros_like(wanting)

    return call


def freezes_nobody(usual):
    return lambda self, chosen: self


def loses_a_record(usual):
    def call(self, unit, made, entries, number):
        return usual(self, unit, made, entries, number)[1:]

    return call


def doubles_a_record(usual):
    def call(self, unit, made, entries, number):
        rows = usual(self, unit, made, entries, number)
        return pl.concat([rows[:1], rows[:1], rows[2:]])

    return call


@pytest.mark.slow
@pytest.mark.parametrize(
    ("owner", "name", "made", "said"),
    [
        (plan, "first_fates", publishes_any_piece, "do not satisfy|does not satisfy"),
        (units.CutUnit, "_rows", loses_a_record, "not published|not as many rows|does not satisfy"),
        (units.CutUnit, "_rows", doubles_a_record, "published twice|not published"),
    ],
)
def test_the_judge_finds_what_the_publisher_does_wrong(tiny, tmp_path, monkeypatch, owner, name, made, said):
    frames = list(months(many=2, seed=12))
    config, _, _ = published(tmp_path / "bad", frames[:1], [SHARDS])
    raw = written(tmp_path / "bad", frames[1], "table-2")
    with sabotaged(monkeypatch, owner, name, made), pytest.raises(VerificationError, match=said):
        publish_file(config, raw, f"{tmp_path}/bad/out-2/")
    assert len(rv.Series.of(config).history()) == 1
    assert not list((config.vault_path / "releases").glob("000002*"))
    assert publish_file(config, raw, f"{tmp_path}/bad/out-2/").how == "published"


@pytest.mark.slow
def test_the_judge_finds_a_value_that_changes_beside_a_dirty_record(tiny, tmp_path, monkeypatch):
    frames = list(months(many=2, seed=12))
    config, _, _ = published(tmp_path / "bad", frames[:1], [SHARDS])
    raw = written(tmp_path / "bad", frames[1], "table-2")
    with (
        sabotaged(monkeypatch, Reading, "frozen", freezes_nobody),
        pytest.raises(VerificationError, match="a value changed beside records of people who are not in the table"),
    ):
        publish_file(config, raw, f"{tmp_path}/bad/out-2/")


@pytest.mark.slow
def test_books_that_forget_who_was_told_apart_are_not_believed(tiny, tmp_path, monkeypatch):
    """The publisher remembers nothing of the cells of a release, and so finds nothing wrong with the next one."""
    rng = np.random.default_rng(0)
    first = next(months(seed=13))
    config, _, _ = published(tmp_path / "bad", [first], [SHARDS])
    second = pl.concat([first.sample(fraction=0.9, seed=1), people(range(9_000, 9_070), rng)])
    raw = written(tmp_path / "bad", second, "table-2")

    def keeps_the_judges(usual):
        return lambda self, unit, entries: usual(self, unit, entries) if self.what == "judged" else None

    with (
        sabotaged(
            monkeypatch, units, "_new_cells", lambda _: lambda rows, record, person, asked: np.full(len(record), -1)
        ),
        sabotaged(monkeypatch, cell_pages.NotedCells, "note", keeps_the_judges),
    ):
        publish_file(config, raw, f"{tmp_path}/bad/out-2/")
    with pytest.raises(VerificationError, match="do not say what was told"):
        publish_file(config, written(tmp_path / "bad", first, "table-3"), f"{tmp_path}/bad/out-3/")


# What is killed

HERE = "import reveil.series.in_shards.refining as refining\n"
BEFORE = ("refining.write_parts = die", "refining.judge_cells = die", "reveil.vault.writing._write_release = die")
AFTER = ("Vault.prepare = then_die(Vault.prepare)", "Vault.confirm = die")


@pytest.mark.slow
@pytest.mark.many
@pytest.mark.parametrize("script", [*BEFORE, *AFTER])
def test_a_killed_publisher_leaves_the_series_as_it_was_or_pending(tmp_path, monkeypatch, script):
    monkeypatch.setenv("REVEIL_KEY", KEY)
    monkeypatch.setattr(engine_settings, "FEWEST_ROWS", 10)
    frames = list(months(rows=400, many=2, seed=6))
    first, _, _ = published(tmp_path / "calm", frames[:1], [SHARDS])
    written(tmp_path / "calm", frames[1], "table-2")
    folder = tmp_path / "killed"
    subprocess.run(["cp", "-r", str(tmp_path / "calm"), str(folder)], check=True)  # noqa: S607
    publish_file(first, tmp_path / "calm" / "table-2", f"{tmp_path}/calm/out-2/")
    calm = (tmp_path / "calm").rename(tmp_path / "done")

    def run(script=""):
        arguments = ["publish", str(folder / "table-2"), "-c", str(folder / "reveil.toml"), "-o", f"{folder}/out-2/"]
        return subprocess.run(
            [sys.executable, "-c", DYING + HERE + script + FINISH, *arguments],
            capture_output=True,
            text=True,
            check=False,
            env=dict(os.environ, TMPDIR=str(tmp_path)),
        )

    assert run(script).returncode == -signal.SIGKILL
    config = load_config(folder / "reveil.toml")
    states = [row["state"] for row in rv.Series.of(config).history()]
    assert states == (["confirmed", "pending"] if script in AFTER else ["confirmed"])
    if script in AFTER:
        with pytest.raises(PendingError):
            publish_file(config, folder / "table-1", f"{folder}/out-3/")
    done = run()
    assert done.returncode == 0, done.stderr
    parts = {name: data for name, data in files(folder / "out-2").items() if name.startswith("part")}
    assert parts == {name: data for name, data in files(calm / "out-2").items() if name.startswith("part")}
    assert verify_series(config, [folder / "table-1", folder / "table-2"]).broken == []
    assert not list(tmp_path.glob("reveil-scratch-*"))
