"""A series whose tables are worked on in shards: the rule of the series, whatever comes, goes, returns or changes."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import (
    ConfigError,
    DataError,
    FileError,
    InfeasibleError,
    PendingError,
    RefusedError,
    VerificationError,
)
from reveil.engines import scratch
from reveil.engines import settings as engine_settings
from reveil.guarantees.signatures import by_counts, in_shards
from reveil.releases import parts as writing
from reveil.series.config import load_config
from reveil.series.in_shards import ordered, recalled, remembering
from reveil.series.publishing import publish_file, verify_series
from reveil.vault import Vault

ROWS = 700


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """Shards of a hundred rows, pages of 64 people, and a temporary folder that is looked at afterwards."""
    monkeypatch.setattr(engine_settings, "FEWEST_ROWS", 10)
    monkeypatch.setattr(recalled, "_PAGE", 64)
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(scratch.tempfile, "gettempdir", lambda: str(place))
    yield place
    assert list(place.iterdir()) == [], "nothing is left in the temporary folder"


def people(ids, rng):
    n = len(ids)
    age = rng.integers(0, 90, n)
    return pl.DataFrame(
        {
            "pid": [f"p{i}" for i in ids],
            "age": pl.Series(age).set(pl.Series(rng.random(n) < 0.03), None),
            "zip": rng.integers(0, 50, n),
            "sex": rng.choice(["f", "m", "x"], n),
            "disease": [f"D{v}" for v in np.minimum(rng.geometric(0.3, n) - 1 + age // 45, 11)],
        }
    )


def months(rows=ROWS, many=4, seed=0, *, calm=False):
    """Yield tables: a tenth leaves, half of those who left come back, a twentieth changes, as many are new.

    ``calm``: nobody comes back or changes.
    """
    rng = np.random.default_rng(seed)
    frame, out = people(range(rows), rng), None
    for month in range(many):
        yield frame
        leave = pl.Series(rng.random(frame.height) < 0.1)
        back, out = out, frame.filter(leave)
        frame = frame.filter(~leave)
        value = pl.Series([f"D{v}" for v in rng.integers(0, 12, frame.height)])
        changed = pl.Series(rng.random(frame.height) < (0 if calm else 0.05))
        frame = frame.with_columns(
            disease=pl.select(pl.when(changed).then(value).otherwise(frame["disease"])).to_series(),
            zip=pl.select(pl.when(changed).then(frame["zip"] + 1).otherwise(frame["zip"])).to_series(),
        )
        fresh = people(range(rows * (month + 2), rows * (month + 2) + rows // 10), rng)
        frame = pl.concat([frame, fresh, *([] if back is None or calm else [back[: back.height // 2]])])


COLUMNS = 'pid = "person"\nage = "quasi"\nzip = "quasi"\nsex = "quasi"\ndisease = "sensitive"\n'
DOMAIN = [f"D{v}" for v in range(12)]
ASKED = 'kind = "tau-safety"\nm = 3\neffort = "quick"\n'
M_INVARIANCE = ASKED.replace("tau-safety", "m-invariance")


def config_of(folder, *, asked=ASKED, engine="shard_rows = 100\n", more="", name="reveil.toml"):
    text = f'[series]\nname = "s"\nseed = 3\nvault = "s.vault"\n{more}[columns]\n{COLUMNS}[guarantee]\n{asked}'
    (folder / name).write_text(f"{text}[engine]\n{engine}")
    return load_config(folder / name)


def written(folder, frame, name, parts=3):
    place = folder / name
    place.mkdir()
    for n in range(parts):
        piece = frame[n * frame.height // parts : (n + 1) * frame.height // parts]
        piece.write_parquet(place / f"part-{n:05d}.parquet")
    return place


def published(folder, frames, **more):
    """Publish tables one after the other; return what was answered and the tables."""
    config, found, tables = config_of(folder, **more), [], []
    for n, frame in enumerate(frames, start=1):
        tables.append(written(folder, frame, f"table-{n}"))
        found.append(publish_file(config, tables[-1], f"{folder}/out-{n}/"))
    return config, found, tables


def files(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.slow
@pytest.mark.parametrize("effort", ["quick", "normal"])
@pytest.mark.parametrize("asked", [ASKED, M_INVARIANCE], ids=["tau-safety", "m-invariance"])
def test_a_series_in_shards_keeps_its_rule(tiny, tmp_path, asked, effort):
    """All releases are judged anew in memory, from their bytes, the archive and the tables."""
    frames = list(months())
    asked = asked.replace("quick", effort)
    config, found, tables = published(tmp_path, frames, asked=asked)
    for answer, frame in zip(found, frames, strict=True):
        manifest = answer.release.manifest
        assert manifest.engine == {"kind": "disk", "shard_rows": 100}
        assert manifest.rows == frame.height + manifest.counterfeits.total - manifest.withheld
        assert manifest.counterfeits.total < 0.1 * manifest.rows
        assert manifest.achieved["m"] >= 3
        assert not answer.release.values.height  # no rows are held
    replayed = verify_series(config, tables)
    assert (replayed.releases, replayed.truths, replayed.broken) == (4, 4, [])
    assert len(found[-1].release.manifest.parts) > 5
    events = rv.Series.of(config).history()
    assert [row["persons"] for row in events] == [frame.height for frame in frames]
    assert events[2]["returned"] > 10
    assert events[1]["deleted"] > 40
    facts = [row.facts for row, _ in rv.Series.of(config).releases()]
    assert all(row["fewest_counterfeits"] <= row["counterfeits"] for row in facts)
    assert all(0 < row["measures"]["gcp"] < 1 for row in facts)


@pytest.mark.slow
@pytest.mark.parametrize(("asked", "calm"), [(ASKED, False), (M_INVARIANCE, True)], ids=["tau-safety", "m-invariance"])
def test_the_audit_finds_nobody_above_the_bound(tiny, tmp_path, asked, calm):
    frames = list(months(rows=240, many=3, seed=9, calm=calm))
    config, found, tables = published(tmp_path, frames, asked=asked)
    assert all(answer.note is None for answer in found[1:]), "nothing is beyond what is claimed"
    outs = [f"{tmp_path}/out-{n}/manifest.json" for n in (1, 2, 3)]
    audit = rv.audit(outs, config.schema, truth=tables, known="events", table_risks=False)
    assert audit.held


@pytest.mark.slow
@pytest.mark.parametrize("asked", [ASKED, M_INVARIANCE], ids=["tau-safety", "m-invariance"])
def test_memory_and_shards_take_turns(tiny, tmp_path, asked):
    """A series may be in memory at first, or in between: vault and judge find what they need in any order."""
    frames = list(months(many=4, seed=5))
    config, tables = None, []
    for n, (frame, rows) in enumerate(zip(frames, (100_000, 100, 100_000, 100), strict=True), start=1):
        config = config_of(tmp_path, asked=asked, engine=f"shard_rows = {rows}\n")
        tables.append(written(tmp_path, frame, f"table-{n}"))
        made = publish_file(config, tables[-1], f"{tmp_path}/out-{n}/").release.manifest
        assert (made.engine is None) == (rows == 100_000)
    assert verify_series(config, tables).broken == []


@pytest.mark.slow
@pytest.mark.parametrize("asked", [ASKED, M_INVARIANCE], ids=["tau-safety", "m-invariance"])
def test_as_many_counterfeits_as_in_memory(tiny, tmp_path, asked):
    """The quick effort decides by counts alone: where nobody moves, as many are made up, in as many groups."""
    frames = list(months(rows=400, many=2, seed=11, calm=True))
    begun = tmp_path / "begun"
    begun.mkdir()
    published(begun, frames[:1], asked=asked)
    found = []
    for rows in (100, 100_000):
        place = tmp_path / str(rows)
        subprocess.run(["cp", "-r", str(begun), str(place)], check=True)  # noqa: S607
        config = config_of(place, asked=asked, engine=f"shard_rows = {rows}\n")
        made = publish_file(config, written(place, frames[1], "table-2"), f"{place}/out-2/").release.manifest
        facts = rv.Series.of(config).releases()[-1][0].facts
        found.append((made.counterfeits.total, made.groups, facts["fewest_counterfeits"]))
    assert found[0] == found[1]
    assert found[0][0] == found[0][2]


def test_newcomers_that_are_not_eligible_are_refused(tiny, tmp_path):
    """With the words of memory; nothing is told, and a table that is mended goes on."""
    frames = list(months(rows=400, many=2, seed=11, calm=True))
    config, _, _ = published(tmp_path, frames[:1], asked=M_INVARIANCE)
    known = set(frames[0]["pid"])
    spoiled = frames[1].with_columns(
        disease=pl.when(pl.col("pid").is_in(known)).then("disease").otherwise(pl.lit("D0"))
    )
    said = []
    for rows in (100, 100_000):
        asked = config_of(tmp_path, asked=M_INVARIANCE, engine=f"shard_rows = {rows}\n")
        with pytest.raises(InfeasibleError, match="not 3-eligible") as refused:
            publish_file(asked, written(tmp_path, spoiled, f"spoiled-{rows}"), f"{tmp_path}/out-2/")
        said.append(str(refused.value))
    assert said[0] == said[1]
    assert not list((config.vault_path / "releases").glob("000002*"))
    assert publish_file(config, written(tmp_path, frames[1], "table-2"), f"{tmp_path}/out-2/").how == "published"


@pytest.mark.slow
@pytest.mark.parametrize("more", ["fixed = true", "strict = false"])
def test_values_that_never_change_and_the_rule_of_the_source(tiny, tmp_path, more):
    """By turns in memory and in shards; where nobody changes, a table in which somebody does is refused."""
    frames = list(months(rows=400, many=3, seed=5, calm="fixed" in more))
    asked, tables = f"{ASKED}{more}\n", []
    for n, (frame, rows) in enumerate(zip(frames, (100, 100_000, 100), strict=True), start=1):
        config = config_of(tmp_path, asked=asked, engine=f"shard_rows = {rows}\n")
        tables.append(written(tmp_path, frame, f"table-{n}"))
        made = publish_file(config, tables[-1], f"{tmp_path}/out-{n}/").release.manifest
        assert (made.engine is None) == (rows == 100_000)
    assert verify_series(config, tables).broken == []
    if "strict" in more:
        assert made.promise.grade == "none"
        return
    other = frames[-1].with_columns(disease=pl.col("disease").replace("D0", "D1"))
    raw, said = written(tmp_path, other, "other"), []
    for rows in (100, 100_000):
        config = config_of(tmp_path, asked=asked, engine=f"shard_rows = {rows}\n")
        with pytest.raises(RefusedError, match="which fixed = true excludes") as refused:
            publish_file(config, raw, f"{tmp_path}/out-4/")
        said.append(str(refused.value))
    assert said[0] == said[1]
    assert len(rv.Series.of(config).history()) == 3


@pytest.mark.slow
@pytest.mark.parametrize("rows", [100, 100_000], ids=["shards", "memory"])
def test_people_of_an_earlier_release_come_back_alone(tiny, tmp_path, rows):
    """Nobody of the last release is there: what was told before that is no more asked about."""
    rng = np.random.default_rng(3)
    one, other = people(range(300), rng), people(range(300, 600), rng)
    asked = {"asked": M_INVARIANCE.replace("m = 3", "m = 2"), "engine": f"shard_rows = {rows}\n"}
    config, found, tables = published(tmp_path, [one, other, one], **asked)
    assert "none of the 300 persons of the last release" in found[2].note
    assert verify_series(config, tables).broken == []


@pytest.mark.slow
def test_events_are_counted_as_in_memory(tiny, tmp_path):
    lines = []
    for rows in (100, 100_000):
        place = tmp_path / str(rows)
        place.mkdir()
        config, _, _ = published(place, months(many=3, seed=2), engine=f"shard_rows = {rows}\n")
        keys = ("persons", "inserted", "deleted", "updated", "returned", "withheld")
        lines.append([{key: row[key] for key in keys} for row in rv.Series.of(config).history()])
        with Vault.open(config.vault_path) as vault:
            lines[-1].append([row.snapshot for row in vault.releases()])
            lines[-1].append(len(vault.presence()[0]))
            lines[-1].append(int(vault.presence()[1].sum()))
    assert lines[0][:3] == lines[1][:3]
    assert lines[0][4:] == lines[1][4:]
    # The same table is recognised whichever way it was worked on; pseudonyms are those of each vault's own key.
    assert all(text.startswith("sha256:") for text in lines[0][3])


@pytest.mark.slow
def test_whoever_changes_in_a_column_with_a_declared_order_is_updated(tiny, tmp_path):
    first = next(months()).with_columns(grade=pl.lit("low"))
    second = first.with_columns(grade=pl.when(pl.int_range(pl.len()) < 50).then(pl.lit("high")).otherwise("grade"))
    updated = []
    for rows in (100, 100_000):
        folder = tmp_path / str(rows)
        folder.mkdir()
        config_of(folder, engine=f"shard_rows = {rows}\n")
        config = folder / "reveil.toml"
        grade = 'grade = { role = "quasi", order = ["low", "high"] }\n'
        config.write_text(config.read_text().replace("[guarantee]", f"{grade}[guarantee]"))
        for n, frame in enumerate((first, second)):
            publish_file(load_config(config), written(folder, frame, f"table-{n}"), f"{folder}/out-{n}/")
        updated.append([row["updated"] for row in rv.Series.of(load_config(config)).history()])
    assert updated == [[0, 50]] * 2


@pytest.mark.slow
def test_the_same_table_is_the_same_release(tiny, tmp_path):
    frames = list(months(many=2, seed=7))
    config, found, tables = published(tmp_path, frames)
    again = publish_file(
        config, written(tmp_path, frames[1].sample(fraction=1, shuffle=True, seed=1), "again", 2), f"{tmp_path}/copy/"
    )
    assert again.how == "already"
    assert files(tmp_path / "copy") == files(tmp_path / "out-2")
    assert again.release.manifest == found[1].release.manifest
    whole = config_of(tmp_path, engine="shard_rows = 100000\n")
    assert publish_file(whole, tables[1], f"{tmp_path}/copy/").how == "already"  # in memory, too


@pytest.mark.slow
def test_the_same_bytes_whatever_the_files_and_workers(tiny, tmp_path):
    frames, digests = list(months(many=2, seed=1)), []
    first = tmp_path / "first"
    first.mkdir()
    config, _, _ = published(first, frames[:1])
    for n, parts in enumerate((1, 4)):
        place = tmp_path / str(n)
        subprocess.run(["cp", "-r", str(first), str(place)], check=True)  # noqa: S607
        raw = written(place, frames[1].sample(fraction=1, shuffle=True, seed=n), "table-2", parts)
        made = publish_file(load_config(place / "reveil.toml"), raw, f"{place}/out-2/")
        digests.append(made.release.manifest.digest)
    assert digests[0] == digests[1]
    assert config.engine.shard_rows == 100


def test_a_dry_run_tells_nobody_anything(tiny, tmp_path):
    config = config_of(tmp_path)
    raw = written(tmp_path, next(months()), "table")
    made = publish_file(config, raw, f"{tmp_path}/out/", dry_run=True)
    assert made.release.manifest.rows >= ROWS
    assert not (tmp_path / "out").exists()
    assert rv.Series.of(config).history() == []


def test_persons_with_two_records_are_refused(tiny, tmp_path):
    frame = next(months())
    raw = written(tmp_path, pl.concat([frame, frame[:3]]), "table")
    with pytest.raises(DataError, match="names 3 records of persons who have another one"):
        publish_file(config_of(tmp_path), raw, f"{tmp_path}/out/")


def test_no_room_in_the_temporary_folder(tiny, tmp_path, monkeypatch):
    def full(self, path, **_):
        raise OSError(28, "No space left on device: D1")

    raw = [written(tmp_path, frame, f"table-{n}") for n, frame in enumerate(months(rows=300, many=2))]
    config = config_of(tmp_path)
    publish_file(config, raw[0], f"{tmp_path}/out-1/")
    with monkeypatch.context() as patch:
        patch.setattr(pl.DataFrame, "write_ipc", full)
        with pytest.raises(FileError, match="temporary file") as found:
            publish_file(config, raw[1], f"{tmp_path}/out-2/")
    assert found.value.exit_code == 2
    assert str(found.value.file) == str(tiny)
    assert "D1" not in str(found.value)
    assert len(rv.Series.of(config).history()) == 1
    assert publish_file(config, raw[1], f"{tmp_path}/out-2/").how == "published"


@pytest.mark.slow
def test_people_who_were_told_too_much_rest(tiny, tmp_path):
    """With eight values and m = 3 nobody can change twice: whoever has no three values left is withheld."""
    rng = np.random.default_rng(0)
    values = [f"D{v}" for v in range(8)]
    frame = people(range(400), rng).with_columns(disease=pl.Series(rng.choice(values, 400)))
    frames = [frame]
    for _ in range(3):
        frames.append(frames[-1].with_columns(disease=pl.Series(rng.choice(values, 400))))
    config, found, tables = published(tmp_path, frames)
    assert found[0].release.manifest.withheld == 0
    assert found[-1].release.manifest.withheld > 50
    assert verify_series(config, tables).broken == []


# What is not worked on in shards


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (f'kind = "tau-safety"\nm = 3\nblind = true\ndomain = {DOMAIN!r}\n', "draws its groups"),
        ('kind = "tau-safety"\nm = 3\nform = "angelized"\n', "two tables"),
        ('kind = "tau-safety"\nm = {disease = 3}\n', "settings by column"),
        ('kind = "worlds"\nl = 3\n', "compared in one memory"),
        ('kind = "tau-safety"\nm = 3\n[method]\nkind = "bang"\n', "BANG file"),
    ],
)
def test_what_needs_everybody_is_refused_elsewhere(tiny, tmp_path, asked, why):
    raw = written(tmp_path, next(months()), "table")
    with pytest.raises(ConfigError, match=why):
        publish_file(config_of(tmp_path, asked=asked, engine='kind = "spark"\n'), raw, f"{tmp_path}/out/")


def test_a_part_of_a_table_or_an_adopted_series_is_worked_on_in_memory(tiny, tmp_path):
    frames = list(months(many=2))
    config = config_of(tmp_path)
    raw = written(tmp_path, frames[0], "table-1")
    made = publish_file(config, raw, f"{tmp_path}/out-1/", where="age >= 10 or age < 10")
    assert made.release.manifest.engine is None
    elsewhere = config_of(tmp_path, engine='kind = "spark"\n')
    with pytest.raises(ConfigError, match="a part of a table"):
        publish_file(elsewhere, raw, f"{tmp_path}/out-2/", where="age >= 10 or age < 10")
    other = tmp_path / "other"
    other.mkdir()
    config = config_of(other)
    rv.Series.of(config).adopt(frames[0], f"{tmp_path}/out-1/", where="age >= 10 or age < 10")
    made = publish_file(config, written(other, frames[1], "table-2"), f"{other}/out-2/")
    assert made.release.manifest.engine is None
    with pytest.raises(ConfigError, match="was adopted"):
        publish_file(config_of(other, engine='kind = "spark"\n'), other / "table-2", f"{other}/out-3/")


# What the judge finds


@contextmanager
def sabotaged(monkeypatch, owner, name, made):
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, made(getattr(owner, name)))
        yield


def loses_a_record(usual):
    def call(self, table):
        return usual(self, table)[1:] if table.height else usual(self, table)

    return call


def doubles_a_record(usual):
    def call(self, table):
        dealt = usual(self, table)
        return pl.concat([dealt[:1], dealt[:1], dealt[2:]]) if dealt.height > 1 else dealt

    return call


def forgets_what_movers_were_told(usual):
    def apart(self, c):
        has = usual(self, c)
        has[self.sets.of_member[self.sets.members == self.demand.moving[c]]] = True
        return has

    return apart


def takes_everybody_for_changed(usual):
    def situation(self, memory, schema):
        return usual(self, replace(memory, changed=np.ones(len(memory.values), np.bool_)), schema)

    return situation


LOST = [
    (loses_a_record, "not published|not as many rows|another number of groups"),
    (doubles_a_record, "published twice|another number of groups|not as many"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "owner", "name", "made", "said"),
    [
        (ASKED, by_counts._Placing, "_apart", forgets_what_movers_were_told, "persons would get a signature"),
        (M_INVARIANCE, rv.MInvariance, "situation", takes_everybody_for_changed, "who stayed would get another"),
        *(pytest.param(ASKED, in_shards.DealRegion, "__call__", *case) for case in LOST),
    ],
)
def test_the_judge_finds_what_the_publisher_does_wrong(tiny, tmp_path, monkeypatch, asked, owner, name, made, said):
    frames = list(months(many=2, seed=3))
    config, _, _ = published(tmp_path, frames[:1], asked=asked)
    raw = written(tmp_path, frames[1], "table-2")
    with sabotaged(monkeypatch, owner, name, made), pytest.raises((VerificationError, ValueError), match=said):
        publish_file(config, raw, f"{tmp_path}/out-2/")
    assert len(rv.Series.of(config).history()) == 1
    assert not list((config.vault_path / "releases").glob("000002*"))
    assert publish_file(config, raw, f"{tmp_path}/out-2/").how == "published"


@pytest.mark.slow
def test_the_judge_finds_parts_in_the_order_of_pseudonyms(tiny, tmp_path, monkeypatch):
    def follows(usual):
        return lambda self, rows: rows.with_columns(
            pl.Series("part", np.clip(rows["number"].to_numpy() * self.parts // ROWS, 0, self.parts - 1), pl.Int32)
        )

    raw = written(tmp_path, next(months()), "table")
    with (
        sabotaged(monkeypatch, writing.DealIntoParts, "__call__", follows),
        pytest.raises(VerificationError, match="parts follow the order of the records"),
    ):
        publish_file(config_of(tmp_path), raw, f"{tmp_path}/out/")


@pytest.mark.slow
@pytest.mark.parametrize("asked", [ASKED, M_INVARIANCE], ids=["tau-safety", "m-invariance"])
def test_the_judge_finds_a_forgotten_signature(tiny, tmp_path, monkeypatch, asked):
    """A vault that does not remember what the people of a bucket were told is not believed at the next release."""
    frames = list(months(many=2, seed=4))
    config = config_of(tmp_path, asked=asked)
    first = written(tmp_path, frames[0], "table-1")

    def forgetful(usual):
        def call(self, table):
            done = usual(self, table)
            if 1 in done["bucket"]:
                remembering.told_path(Path(self.folder), 1).unlink()
            return done

        return call

    with sabotaged(monkeypatch, remembering.WriteTold, "__call__", forgetful):
        publish_file(config, first, f"{tmp_path}/out-1/")
    with pytest.raises(VerificationError, match="were told other signatures than it remembers"):
        publish_file(config, written(tmp_path, frames[1], "table-2"), f"{tmp_path}/out-2/")


# What is killed

DYING = """
import os, sys
import reveil.series.series, reveil.series.in_shards.release as release, reveil.vault.writing
from reveil.engines import settings
from reveil.vault import Vault
settings.FEWEST_ROWS = 10
def die(*_, **__):
    os.kill(os.getpid(), 9)
def then_die(function):
    def done(*a, **k):
        function(*a, **k)
        die()
    return done
"""
FINISH = "\nfrom reveil.cli import main; main()"
BEFORE = ("release.write_parts = die", "release.judge_in_shards = die", "reveil.vault.writing._write_release = die")
AFTER = ("Vault.prepare = then_die(Vault.prepare)", "Vault.confirm = die")


@pytest.mark.slow
@pytest.mark.many
@pytest.mark.parametrize("script", [*BEFORE, *AFTER])
def test_a_killed_publisher_leaves_the_series_as_it_was_or_pending(tmp_path, monkeypatch, script):
    monkeypatch.delenv("REVEIL_KEY", raising=False)
    monkeypatch.setattr(engine_settings, "FEWEST_ROWS", 10)
    frames = list(months(rows=400, many=2, seed=6))
    calm = tmp_path / "calm"
    calm.mkdir()
    published(calm, frames[:1])
    written(calm, frames[1], "table-2")
    folder = tmp_path / "killed"
    subprocess.run(["cp", "-r", str(calm), str(folder)], check=True)  # noqa: S607
    publish_file(load_config(calm / "reveil.toml"), calm / "table-2", f"{calm}/out-2/")
    calm = calm.rename(
        tmp_path / "done"
    )  # beside release 1, the other vault would find a release that it does not know

    def run(script=""):
        arguments = ["publish", str(folder / "table-2"), "-c", str(folder / "reveil.toml"), "-o", f"{folder}/out-2/"]
        return subprocess.run(
            [sys.executable, "-c", DYING + script + FINISH, *arguments],
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
    assert files(folder / "out-2").keys() == files(calm / "out-2").keys()
    parts = {name: data for name, data in files(folder / "out-2").items() if name.startswith("part")}
    assert all(data == files(calm / "out-2")[name] for name, data in parts.items())
    assert verify_series(config, [folder / "table-1", folder / "table-2"]).broken == []
    assert not list(tmp_path.glob("reveil-scratch-*"))


def test_buckets_are_in_the_order_of_pseudonyms():
    high = np.sort(np.random.default_rng(0).integers(-(2**63), 2**63 - 1, 1_000))
    bucket = ordered.bucket_of(high, 7)
    assert (np.diff(bucket) >= 0).all()
    assert set(bucket.tolist()) == set(range(7))
