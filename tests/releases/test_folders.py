"""Releases as folders: parts, a manifest inside, and what every command makes of them."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import FileError, VerificationError
from reveil.releases import folders
from reveil.releases.manifest_files import digest_of_bytes
from reveil.series.config import load_config
from reveil.series.publishing import publish_file
from tests.cli.run import reveil

COLUMNS = '[columns]\npid = "person"\nage = "quasi"\nzip = "quasi"\ndisease = "sensitive"\n'
STATIC = f'[series]\nname = "st"\nseed = 7\n{COLUMNS}[guarantee]\nkind = "static"\nk = 5\n'
SERIES = f'[series]\nname = "h"\nvault = "h.vault"\nseed = 7\n{COLUMNS}[guarantee]\nkind = "tau-safety"\nm = 3\n'
ROWS = 330


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a hundred rows, so that small tables have several."""
    monkeypatch.setattr(folders, "PART_ROWS", 100)


def table(path: Path, month: int = 1, rows: int = ROWS) -> Path:
    """Write a table of one month."""
    dice = random.Random(month)  # noqa: S311
    lines = ["pid,age,zip,disease"]
    for person in range(20 * month, 20 * month + rows):
        about = f"{18 + person * 7 % 60},{4400 + person * 3 % 20}"
        lines.append(f"p{person},{about},{dice.choice('abcdefgh')}")
    path.write_text("\n".join(lines) + "\n")
    return path


def published(tmp_path: Path, config: str = STATIC) -> Path:
    """Publish a table as a folder."""
    data, place = table(tmp_path / "data.csv"), tmp_path / "reveil.toml"
    place.write_text(config)
    publish_file(load_config(place), data, f"{tmp_path}/out/")
    return tmp_path / "out"


def test_parts_and_manifest(tmp_path: Path) -> None:
    out = published(tmp_path)
    manifest = json.loads((out / "manifest.json").read_text())
    names = [f"part-{n:05d}.parquet" for n in range(4)]
    assert [part["name"] for part in manifest["parts"]] == names
    assert [part["rows"] for part in manifest["parts"]] == [100, 100, 100, 30]
    assert sorted(path.name for path in out.iterdir()) == ["manifest.json", *names]
    for part in manifest["parts"]:
        assert part["digest"] == digest_of_bytes((out / part["name"]).read_bytes())
    lines = "".join(f"{part['digest'].removeprefix('sha256:')}  {part['name']}\n" for part in manifest["parts"])
    assert manifest["digest"] == digest_of_bytes(lines.encode())


def test_the_rows_are_those_of_the_release_in_a_file(tmp_path: Path) -> None:
    out = published(tmp_path)
    publish_file(load_config(tmp_path / "reveil.toml"), tmp_path / "data.csv", tmp_path / "one.parquet")
    one, parts = rv.Release.read(tmp_path / "one.parquet"), rv.Release.read(out)
    assert one.table.equals(parts.table)
    whole = pl.concat([pl.read_parquet(path) for path in sorted(out.glob("part-*"))])
    assert whole.equals(pl.read_parquet(tmp_path / "one.parquet"))


def test_the_same_command_writes_the_same_bytes(tmp_path: Path) -> None:
    out = published(tmp_path)
    before = {path.name: path.read_bytes() for path in out.glob("part-*")}
    publish_file(load_config(tmp_path / "reveil.toml"), tmp_path / "data.csv", f"{out}/")
    assert {path.name: path.read_bytes() for path in out.glob("part-*")} == before


def test_there_and_back(tmp_path: Path) -> None:
    out = published(tmp_path)
    release = rv.Release.read(f"{out}/")
    release.write(tmp_path / "back.csv")
    back = rv.Release.read(tmp_path / "back.csv")
    assert back.table.equals(release.table)
    assert back.manifest.parts is None
    back.write(f"{tmp_path}/again/")
    for path in out.glob("part-*"):
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def test_parts_do_not_show_how_the_table_was_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over many seeds, rows of both sides of the first cuts are over the parts as chance has them (chi-square)."""
    monkeypatch.setattr(folders, "PART_ROWS", 250)
    data = table(tmp_path / "data.csv", rows=1_000)
    statistics = []
    for seed in range(20):
        config = tmp_path / f"{seed}.toml"
        config.write_text(STATIC.replace("seed = 7", f"seed = {seed}"))
        publish_file(load_config(config), data, f"{tmp_path}/out{seed}/")
        parts = [pl.read_parquet(path) for path in sorted((tmp_path / f"out{seed}").glob("part-*"))]
        counts = np.array(
            [
                [frame.filter((pl.col("age").struct["hi"] < 48) == low).height for low in (True, False)]
                for frame in parts
            ],
            dtype=float,
        )
        expected = counts.sum(0) * counts.sum(1)[:, None] / counts.sum()
        statistics.append(float(((counts - expected) ** 2 / expected).sum()))
    # 20 times 3 degrees of freedom: mean 60, standard deviation 11. In the order of the cuts it would be thousands.
    assert 20 < sum(statistics) < 130
    # Nor are neighbours of one group: as many as by chance.
    release = rv.Release.read(tmp_path / "out0")
    same = float((release.classes[1:] == release.classes[:-1]).mean())
    _, sizes = np.unique(release.classes, return_counts=True)
    assert same < 4 * float((sizes * (sizes - 1)).sum()) / (1_000 * 999) + 0.01


def test_two_tables(tmp_path: Path) -> None:
    out = published(tmp_path, SERIES.replace("m = 3", 'm = 3\nform = "angelized"'))
    manifest = json.loads((out / "manifest.json").read_text())
    assert {part["name"].split("/")[0] for part in manifest["parts"] if "/" in part["name"]} == {"sensitive"}
    release = rv.Release.read(out)
    assert release.sensitive is not None
    assert release.sensitive["count"].sum() == ROWS


@pytest.mark.parametrize("damage", ["changed", "missing", "extra", "link", "rows", "order", "no parts", "no manifest"])
def test_a_damaged_folder_is_refused_with_its_place(tmp_path: Path, damage: str) -> None:
    out = published(tmp_path)
    first, second, described = out / "part-00000.parquet", out / "part-00001.parquet", out / "manifest.json"
    told = json.loads(described.read_text())
    place = first
    if damage == "changed":
        frame = pl.read_parquet(first)
        frame.reverse().write_parquet(first)
    elif damage == "missing":
        first.unlink()
    elif damage == "extra":
        place = out / "part-00009.parquet"
        shutil.copy(first, place)
    elif damage == "link":
        first.rename(tmp_path / "elsewhere.parquet")
        first.symlink_to(tmp_path / "elsewhere.parquet")
    elif damage == "order":
        first.rename(out / "x")
        second.rename(first)
        (out / "x").rename(second)
    elif damage == "no manifest":
        described.unlink()
        place = out
    else:
        place = described
        if damage == "rows":
            told["parts"][0]["rows"] += 1
            place = out
        else:
            del told["parts"]
        described.write_text(json.dumps(told))
    with pytest.raises((FileError, VerificationError)) as caught:
        rv.Release.read(out)
    assert caught.value.file == str(place)
    assert caught.value.hint
    result = reveil("verify", str(out), str(tmp_path / "data.csv"), "-c", str(tmp_path / "reveil.toml"))
    assert result.returncode in (1, 2)


@pytest.mark.parametrize("below", ["..", "/etc", "sensitive/..", "sensitive"])
def test_a_manifest_leads_nowhere_else(tmp_path: Path, below: str) -> None:
    out = published(tmp_path)
    shutil.copy(out / "part-00000.parquet", tmp_path / "part-00000.parquet")
    told = json.loads((out / "manifest.json").read_text())
    told["parts"][0]["name"] = f"{below}/part-00000.parquet"
    (out / "manifest.json").write_text(json.dumps(told))
    with pytest.raises(FileError, match="no usable 'parts'"):
        rv.Release.read(out)


def test_a_table_in_parts_is_read_as_one(tmp_path: Path) -> None:
    data = table(tmp_path / "data.csv")
    frame, folder = pl.read_csv(data), tmp_path / "raw"
    folder.mkdir()
    for number in range(3):
        frame[number * 110 : (number + 1) * 110].write_parquet(folder / f"part-{number:05d}.parquet")
    (folder / "_SUCCESS").touch()
    (tmp_path / "reveil.toml").write_text(STATIC)
    config = load_config(tmp_path / "reveil.toml")
    publish_file(config, folder, tmp_path / "a.csv")
    publish_file(config, data, tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    result = reveil("publish", str(data), "-c", str(tmp_path / "reveil.toml"), "-o", f"{folder}/")
    assert result.returncode == 2
    frame[:3].rename({"age": "years"}).write_parquet(folder / "part-00003.parquet")
    with pytest.raises(FileError, match="other columns than part-00000") as caught:
        publish_file(config, folder, tmp_path / "c.csv")
    assert caught.value.file == str(folder / "part-00003.parquet")


@pytest.mark.parametrize("where", ["data.csv/", "no/where/", "full/", "link/", "h.vault/", "out/inside/", "out/x.csv"])
def test_folders_that_take_no_release(tmp_path: Path, where: str) -> None:
    published(tmp_path, SERIES)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("mine")
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    (tmp_path / "other.toml").write_text(STATIC)
    result = reveil(
        "publish", str(tmp_path / "data.csv"), "-c", str(tmp_path / "other.toml"), "-o", f"{tmp_path}/{where}"
    )
    assert result.returncode == 2, result.stdout + result.stderr
    assert (tmp_path / "full" / "letter.txt").read_text() == "mine"
    rv.Release.read(tmp_path / "out")


def test_a_release_is_not_written_over_another(tmp_path: Path) -> None:
    out = published(tmp_path, SERIES)
    before = (out / "manifest.json").read_bytes()
    config, second = str(tmp_path / "reveil.toml"), table(tmp_path / "second.csv", 2)
    result = reveil("publish", str(second), "-c", config, "-o", f"{out}/")
    assert result.returncode == 2
    assert "replace another release" in (result.stdout + result.stderr)
    assert (out / "manifest.json").read_bytes() == before


def test_a_series_in_folders(tmp_path: Path) -> None:
    """All commands take the folders of a series."""
    out, config = published(tmp_path, SERIES), str(tmp_path / "reveil.toml")
    first, second = str(tmp_path / "data.csv"), str(table(tmp_path / "second.csv", 2))
    later = f"{tmp_path}/later/"

    def run(*words: str) -> str:
        result = reveil(*words)
        assert result.returncode == 0, result.stdout + result.stderr
        return str(result.stdout + result.stderr)

    run("publish", second, "-c", config, "-o", later, "--dry-run")
    assert not Path(later).exists()
    run("publish", second, "-c", config, "-o", later)
    chained = json.loads((Path(later) / "manifest.json").read_text())["previous"]
    assert chained == digest_of_bytes((out / "manifest.json").read_bytes())
    assert "already release 2" in run("publish", second, "-c", config, "-o", f"{tmp_path}/copy/")
    for path in Path(later).iterdir():
        assert (tmp_path / "copy" / path.name).read_bytes() == path.read_bytes()
    assert "already release 2" in run("publish", second, "-c", config, "-o", f"{tmp_path}/copy.csv")
    run("verify", later, second, "-c", config)
    run("verify", "--series", "-c", config)
    run("audit", str(out), later, "-c", config, "--truth", first, "--truth", second)
    run("measure", second, later, "-c", config, "--queries", "5")
    run("query", later, "age in [30, 40]")
    run("history", "-c", config, "--check", str(tmp_path))
    run("report", "-c", config, "-o", f"{tmp_path}/report.html", "--truth", first, "--truth", second)
    run("report", "-c", config, "-o", f"{tmp_path}/named.html", "--releases", str(out), "--releases", later)
    history = json.loads(reveil("history", "-c", config, "--json", "-").stdout)
    assert [row["release"] for row in history] == [1, 2]
    (Path(later) / "part-00002.parquet").unlink()
    result = reveil("history", "-c", config, "--check", str(tmp_path))
    assert result.returncode != 0
    assert "part-00002.parquet" in (result.stdout + result.stderr)


def test_a_pending_folder_is_finished_with_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from reveil.series import assembly_line

    def full(*_: object) -> None:
        raise FileError("this release could not be written here")

    with monkeypatch.context() as broken:
        broken.setattr(assembly_line, "deliver", full)
        with pytest.raises(FileError):
            published(tmp_path, SERIES)
    kept = {path.name: path.read_bytes() for path in (tmp_path / "h.vault" / "releases").rglob("*") if path.is_file()}
    found = publish_file(load_config(tmp_path / "reveil.toml"), tmp_path / "data.csv", f"{tmp_path}/out/")
    assert found.how == "resumed"
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == kept


def test_a_folder_is_adopted(tmp_path: Path) -> None:
    out = published(tmp_path)
    (tmp_path / "series.toml").write_text(SERIES)
    result = reveil("adopt", str(tmp_path / "data.csv"), f"{out}/", "-c", str(tmp_path / "series.toml"))
    assert result.returncode == 0, result.stdout + result.stderr
    result = reveil("history", "-c", str(tmp_path / "series.toml"), "--check", str(tmp_path))
    assert result.returncode == 0, result.stdout + result.stderr


def test_parts_of_another_tool_are_audited(tmp_path: Path) -> None:
    out = published(tmp_path)
    (out / "manifest.json").unlink()
    config, data = str(tmp_path / "reveil.toml"), str(tmp_path / "data.csv")
    result = reveil("audit", str(out), "-c", config, "--truth", data)
    assert result.returncode in (0, 1), result.stdout + result.stderr
    assert "Traceback" not in (result.stdout + result.stderr)
