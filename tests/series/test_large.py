"""A table that is worked on in shards is published as the same table in memory: the same rows, judged in parts."""

import hashlib

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.core.errors import ConfigError, DataError, FileError, InfeasibleError, ReveilError, VerificationError
from reveil.engines import disk, scratch
from reveil.engines import settings as engine_settings
from reveil.grouping.bang import scales
from reveil.grouping.groupers import _cutting
from reveil.releases import parts
from reveil.series import large
from reveil.series.config import load_config
from reveil.series.publishing import publish_file, verify_file
from reveil.testing import tables
from reveil.verification.surface import check_order, check_parts

ROWS = 150


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """Shards of thirty rows, in a temporary folder that is looked at afterwards."""
    monkeypatch.setattr(engine_settings, "FEWEST_ROWS", 10)
    monkeypatch.setattr(_cutting, "WHOLE", 8)
    monkeypatch.setattr(_cutting, "_SUBTREE", 30)
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(scratch.tempfile, "gettempdir", lambda: str(place))
    yield place
    assert list(place.iterdir()) == [], "nothing is left in the temporary folder"


def table(rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "pid": rng.permutation(rows),
            "age": pl.Series(rng.integers(0, 40, rows)).set(pl.Series(rng.random(rows) < 0.05), None),
            "zip": rng.integers(0, 30, rows),
            "sex": rng.choice(["f", "m", "x"], rows),
            "disease": rng.choice(["Flu", "flu ", "gout", "hiv", "asthma"], rows),
            "ward": rng.choice(["a", "*", "[1]"], rows),
        }
    )


COLUMNS = 'pid = "person"\nage = "quasi"\nzip = "quasi"\nsex = "quasi"\ndisease = "sensitive"\nward = "plain"\n'
ASKED = '[guarantee]\nkind = "static"\nk = 4\nl = 2\n'


def config_of(folder, *, columns=COLUMNS, asked=ASKED, engine="shard_rows = 30\n", name="reveil.toml", more=""):
    (folder / name).write_text(f"[series]\nseed = 3\n{more}\n[columns]\n{columns}\n{asked}\n[engine]\n{engine}\n")
    return load_config(folder / name)


def written(folder, frame, parts_=3):
    place = folder / "raw"
    place.mkdir()
    for n in range(parts_):
        frame[n * frame.height // parts_ : (n + 1) * frame.height // parts_].write_parquet(
            place / f"part-{n:05d}.parquet"
        )
    return place


def sorted_text(release):
    return release.text.sort(release.text.columns)


def both(folder, raw, **more):
    """Publish in shards and in memory."""
    there = publish_file(config_of(folder, **more), raw, f"{folder}/shards/")
    more["engine"] = "shard_rows = 1000000\n"
    here = publish_file(config_of(folder, name="memory.toml", **more), raw, f"{folder}/memory/")
    return there, here


@pytest.mark.parametrize(
    "asked",
    [
        ASKED,
        '[guarantee]\nkind = "static"\nk = 3\n[method]\nkind = "mondrian"\neffort = "quick"\n',
        '[guarantee]\nkind = "static"\nk = 2\nl = 1.5\ndiversity = "entropy"\n',
        '[guarantee]\nkind = "static"\nk = 2\nl = 2\ndiversity = "recursive"\nc = 3\n',
        '[guarantee]\nkind = "static"\nk = 3\nt = 0.4\n[method]\nkind = "mondrian"\nchoose = "gain"\n',
        '[guarantee]\nkind = "static"\nk = 6\n[method]\nkind = "bang"\n',
        '[guarantee]\nkind = "static"\nk = 4\nl = 2\n[method]\nkind = "bang"\nblock = 2\n',
        '[guarantee]\nkind = "static"\nk = 3\nt = 0.5\n[method]\nkind = "bang"\nscales = { age = [5, 20] }\n',
        '[guarantee]\nkind = "static"\nk = 5\n[method]\nkind = "bang"\nblock = 3\nquantile = true\n',
    ],
)
def test_shards_and_memory_publish_the_same_rows(tiny, tmp_path, asked):
    raw = written(tmp_path, table())
    there, here = both(tmp_path, raw, asked=asked)
    one, other = rv.Release.read(f"{tmp_path}/shards/"), rv.Release.read(f"{tmp_path}/memory/")
    assert sorted_text(one).equals(sorted_text(other), null_equal=True)
    told, known = there.release.manifest, here.release.manifest
    assert (told.rows, told.groups, told.achieved, told.columns) == (
        known.rows,
        known.groups,
        known.achieved,
        known.columns,
    )
    assert told.promise == known.promise
    assert told.engine == {"kind": "disk", "shard_rows": 30}
    assert known.engine is None
    assert len(told.parts) == ROWS // 30
    verify_file(config_of(tmp_path, asked=asked), f"{tmp_path}/shards/", raw)  # the judge in memory agrees


@pytest.mark.parametrize("quantile", ["true", "false"])
def test_cells_of_more_values_than_there_is_room_for(tiny, tmp_path, monkeypatch, quantile):
    monkeypatch.setattr(scales, "FINE", 3)
    frame = table().with_columns(age=(pl.col("age") ** 2))
    asked = f'[guarantee]\nkind = "static"\nk = 5\n[method]\nkind = "bang"\nblock = 3\nquantile = {quantile}\n'
    both(tmp_path, written(tmp_path, frame), asked=asked)
    one, other = rv.Release.read(f"{tmp_path}/shards/"), rv.Release.read(f"{tmp_path}/memory/")
    assert sorted_text(one).equals(sorted_text(other), null_equal=True)


@pytest.mark.slow
@pytest.mark.many
@pytest.mark.parametrize("method", ["mondrian", "bang"])
def test_random_tables_are_published_alike(tiny, tmp_path, method):
    @settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
    @given(tables(min_rows=30, max_rows=120), st.integers(0, 99))
    def same(drawn, number):
        folder = tmp_path / f"{number}-{hashlib.sha256(drawn.frame.write_json().encode()).hexdigest()[:8]}"
        if folder.exists():
            return
        folder.mkdir()
        schema = drawn.schema
        columns = 'pid = "person"\n' + "".join(f'{name} = "sensitive"\n' for name in schema.sensitive)
        for name in schema.quasi:
            order = "" if schema[name].order is None else f", order = {list(schema[name].order)!r}"
            columns += f'{name} = {{ role = "quasi"{order} }}\n'
        raw = written(folder, drawn.frame)
        asked = f'[guarantee]\nkind = "static"\nk = 2\n[method]\nkind = "{method}"\n'
        try:
            both(folder, raw, columns=columns, asked=asked)
        except DataError:
            return
        one, other = rv.Release.read(f"{folder}/shards/"), rv.Release.read(f"{folder}/memory/")
        assert sorted_text(one).equals(sorted_text(other), null_equal=True)

    same()


@pytest.mark.parametrize("asked", [ASKED, ASKED + '[method]\nkind = "bang"\n'])
def test_the_same_bytes_whatever_the_files_and_workers(tiny, tmp_path, monkeypatch, asked):
    frame, digests = table(), []
    for n, many in enumerate((1, 4)):
        folder = tmp_path / str(n)
        folder.mkdir()
        made = disk.DiskEngine.__init__
        monkeypatch.setattr(
            disk.DiskEngine, "__init__", lambda self, rows, workers=None, many=many, made=made: made(self, rows, many)
        )
        found = publish_file(config_of(folder, asked=asked), written(folder, frame, many), f"{folder}/out/")
        digests.append(found.release.manifest.digest)
        monkeypatch.setattr(disk.DiskEngine, "__init__", made)
    assert digests[0] == digests[1]


def places_by_cell(release, column="age"):
    """Return how far the mean of a column in each part is from that of all, in standard deviations."""
    cells = release.typed[column].struct.field("lo").cast(pl.Float64).fill_null(0).to_numpy()
    ends = np.cumsum([part.rows for part in release.manifest.parts])
    means = [own.mean() for own in np.split(cells, ends[:-1])]
    sizes = np.diff(ends, prepend=0)
    return np.abs(np.array(means) - cells.mean()) / (cells.std() / np.sqrt(sizes))


def test_parts_do_not_show_the_first_cuts(tiny, tmp_path):
    config = config_of(tmp_path, engine="shard_rows = 100")
    publish_file(config, written(tmp_path, table(1000)), f"{tmp_path}/out/")
    release = rv.Release.read(f"{tmp_path}/out/")
    assert len(release.manifest.parts) == 10
    assert places_by_cell(release).max() < 5
    assert places_by_cell(release, "zip").max() < 5


def test_without_the_reshuffle_the_judge_refuses(tiny, tmp_path, monkeypatch):
    """The sabotage: rows stay in the part of their cell."""
    order = iter(range(10**6))

    def undealt(self, rows):
        return rows.with_columns(pl.lit(next(order) % self.parts, pl.Int32).alias(parts.PART))

    monkeypatch.setattr(parts.DealIntoParts, "__call__", undealt)
    config, raw = config_of(tmp_path, engine="shard_rows = 100"), written(tmp_path, table(1000))
    with pytest.raises(VerificationError, match="lie near each other"):
        publish_file(config, raw, f"{tmp_path}/out/")
    assert not (tmp_path / "out").exists()


def test_parts_in_the_order_of_the_table_are_refused(tiny, tmp_path, monkeypatch):
    """The sabotage: each part has the rows of a piece of the table, in no order within; groups are all over them."""

    def follows(self, rows):
        part = rows["number"].to_numpy() * self.parts // 1000
        return rows.with_columns(pl.Series(parts.PART, part, pl.Int32))

    monkeypatch.setattr(parts.DealIntoParts, "__call__", follows)
    config, raw = config_of(tmp_path, engine="shard_rows = 100"), written(tmp_path, table(1000))
    with pytest.raises(VerificationError, match="parts follow the order of the records"):
        publish_file(config, raw, f"{tmp_path}/out/")
    assert not (tmp_path / "out").exists()


def test_dice_pass_as_dice():
    rng = np.random.default_rng(0)
    for many in (1, 17, 40, 3000):
        for pieces in (1, 2, 7, 30):
            dealt = np.array_split(rng.permutation(np.append(np.arange(many), np.full(many // 9, -1))), pieces)
            check_parts(dealt)
    for turned in (np.arange(3000), np.roll(np.arange(3000), 1000), -np.arange(-2999, 1)):
        with pytest.raises(VerificationError, match="follow the order"):
            check_parts([rng.permutation(part) for part in np.array_split(turned, 6)])
    split = np.array_split(rng.permutation(3000), 6)
    behind = [np.append(part, np.full(20, -1)) for part in split]
    for fakes in (behind, [*split[:5], np.full(120, -1)]):
        with pytest.raises(VerificationError, match="counterfeits lie together"):
            check_parts(fakes)
    with pytest.raises(VerificationError, match="counterfeits lie together"):
        check_order(np.append(rng.permutation(3000), np.full(40, -1)))


@pytest.mark.parametrize("what", ["doubled", "moved", "altered", "small"])
def test_sabotage_of_rows_is_found(tiny, tmp_path, monkeypatch, what):
    usual = parts.WritePart.__call__

    def broken(self, rows):
        number = rows[self.number]
        if what == "doubled":
            rows = rows.with_columns(number.set(number == number.max(), int(number.min())))
        elif what == "moved":
            rows = rows.with_columns(number.reverse())
        elif what == "altered":
            rows = rows.with_columns(c4=pl.lit("b"))  # the plain column
        else:
            rows = rows.filter(number != number.min())
        return usual(self, rows)

    monkeypatch.setattr(parts.WritePart, "__call__", broken)
    with pytest.raises(VerificationError):
        publish_file(config_of(tmp_path), written(tmp_path, table()), f"{tmp_path}/out/")
    assert not (tmp_path / "out").exists()


def test_bad_input_is_refused_with_a_remedy(tiny, tmp_path, monkeypatch):
    raw = written(tmp_path, table())

    def refused(error, match, **more):
        with pytest.raises(error, match=match) as found:
            publish_file(config_of(tmp_path, **more), raw, f"{tmp_path}/out/")
        assert found.value.hint
        assert not (tmp_path / "out").exists()

    refused(InfeasibleError, "whole table", asked='[guarantee]\nkind = "static"\nk = 400\n')
    monkeypatch.setattr(large, "_MOST_TEXTS", 2)
    refused(ReveilError, "held in memory")
    monkeypatch.undo()


def test_a_domain_too_large_to_hold(tiny, tmp_path, monkeypatch):
    from reveil.models import counting

    monkeypatch.setattr(counting, "_BYTES_OF_A_VALUE", 1 << 27)
    raw = written(tmp_path, table())
    with pytest.raises(ReveilError, match="different values") as found:
        publish_file(config_of(tmp_path), raw, f"{tmp_path}/out/")
    assert found.value.exit_code == 2
    assert found.value.column == "age"
    assert "memory" in found.value.hint


def test_a_person_twice_in_two_shards(tiny, tmp_path):
    frame = table()
    again = frame.with_columns(pl.when(pl.col("pid") == 7).then(100).otherwise("pid").alias("pid"))
    with pytest.raises(DataError, match="1 records of persons"):
        publish_file(config_of(tmp_path), written(tmp_path, again), f"{tmp_path}/out/")


def test_no_space_in_the_temporary_folder(tiny, tmp_path, monkeypatch):
    def full(self, path, **_):
        raise OSError(28, "No space left on device: gout")

    raw = written(tmp_path, table())
    config = config_of(tmp_path)
    monkeypatch.setattr(disk, "_SMALL", 0)
    monkeypatch.setattr(pl.DataFrame, "write_ipc", full)
    with pytest.raises(FileError, match="temporary file") as found:
        publish_file(config, raw, f"{tmp_path}/out/")
    assert found.value.exit_code == 2
    assert "TMPDIR" in found.value.hint
    assert "gout" not in str(found.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("engine", "match"),
    [
        ("shard_rows = 5", "shard_rows must be"),
        ("shard_rows = true", "shard_rows"),
        ('memory = "lots"', "memory"),
        ('memory = "1MB"', "too little"),
        ('kind = "abacus"', "unknown engine"),
        ('master = "local[2]"', "master belongs"),
        ("threads = 3", "threads"),
    ],
)
def test_nonsense_under_engine(tmp_path, engine, match):
    with pytest.raises(ConfigError, match=match) as found:
        config_of(tmp_path, engine=engine)
    assert found.value.file
    assert found.value.hint


STRATEGY = 'strategy = "constant-ratio"\nreleases = 3\n'


def test_what_is_done_in_memory_whatever_its_size(tiny, tmp_path):
    raw = written(tmp_path, table())
    relaxed = '[guarantee]\nkind = "static"\nk = 3\n[method]\nkind = "mondrian"\ncut = "relaxed"\n'
    config = config_of(tmp_path, asked=relaxed)
    assert "relaxed" in large.reason_against_shards(config)
    nested = config_of(tmp_path, asked=ASKED + '[method]\nkind = "bang"\nform = "nested"\n')
    assert "lie in each other" in large.reason_against_shards(nested)
    assert publish_file(config, raw, f"{tmp_path}/out/").release.manifest.engine is None
    suppressing = config_of(tmp_path, asked='[guarantee]\nkind = "static"\nk = 3\nsuppress = 0.1\n')
    assert "suppress" in large.reason_against_shards(suppressing)
    vault = config_of(tmp_path, more='vault = "v.vault"')
    assert "vault" in large.reason_against_shards(vault)
    budgeted = config_of(tmp_path, asked='[guarantee]\nkind = "global"\nl = 2\n' + STRATEGY)
    assert "global" in large.reason_against_shards(budgeted)
    one = publish_file(config_of(tmp_path), raw, tmp_path / "one.parquet")
    assert one.release.manifest.engine is None
