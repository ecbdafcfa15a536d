"""Tables that do not belong together are refused, with the place."""

import polars as pl
import pytest

from reveil.testing import hospital
from tests.cli.run import reveil


@pytest.fixture(scope="module")
def ward(tmp_path_factory):
    """Two months of a hospital, published with tau-safety."""
    folder = tmp_path_factory.mktemp("ward")
    (folder / "reveil.toml").write_text(hospital.config('kind = "tau-safety"\nm = 2', vault="v"))
    for n, frame in enumerate(hospital.year(150, months=2, seed=1), start=1):
        frame.write_csv(folder / f"s{n}.csv")
        done = reveil("publish", folder / f"s{n}.csv", "-c", folder / "reveil.toml", "-o", folder / f"r{n}.csv", "-q")
        assert done.returncode == 0, done.stderr
    return folder


def audit(folder, *arguments, config="reveil.toml"):
    done = reveil("audit", *arguments, "-c", folder / config, "-q")
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


def test_truth_in_another_order(ward):
    code, said = audit(ward, ward / "r1.csv", ward / "r2.csv", "--truth", ward / "s2.csv", ward / "s1.csv")
    assert code == 2
    assert "r1.csv" in said or "s2.csv" in said


def test_people_who_are_not_in_the_release(ward):
    first, second = (pl.read_csv(ward / f"s{n}.csv") for n in (1, 2))
    others = second.filter(~pl.col("pid").is_in(first["pid"].implode()))
    pl.concat([first, others]).write_csv(ward / "more.csv")
    code, said = audit(ward, ward / "r1.csv", "--truth", ward / "more.csv")
    assert code == 2
    assert f"more.csv: {first.height + others.height} people are given for release 1, which accounts for 150" in said


def test_a_release_of_another_schema(ward):
    (ward / "other.toml").write_text('[columns]\na = "quasi"\nb = "sensitive"\n[guarantee]\nkind = "static"\nk = 2\n')
    (ward / "o.csv").write_text("a,b\n1,x\n2,y\n")
    code, said = audit(ward, ward / "r1.csv", "--truth", ward / "o.csv", config="other.toml")
    assert code == 2
    assert "r1.csv" in said
    assert "which the config does not call quasi" in said


STATIC = '[columns]\npid = "person"\nage = "quasi"\nill = "sensitive"\n[guarantee]\nkind = "static"\nk = 2\n'


def test_snapshots_of_static_releases_in_another_order(tmp_path):
    (tmp_path / "reveil.toml").write_text(STATIC)
    files = [tmp_path / f"r{month}.csv" for month in (0, 1, 2)]
    for month, file in enumerate(files):
        values = ["abcd"[(i + month * (i % 5 == 0)) % 4] for i in range(60)]
        frame = pl.DataFrame({"pid": range(60), "age": [20 + 7 * i % 40 for i in range(60)], "ill": values})
        frame.write_csv(tmp_path / f"s{month}.csv")
        frame.with_columns(ill=pl.Series([*values[:-1], "e"])).write_csv(tmp_path / f"e{month}.csv")
        done = reveil("publish", tmp_path / f"s{month}.csv", "-c", tmp_path / "reveil.toml", "-o", file)
        assert done.returncode == 0, done.stderr
    # Everybody fits somewhere, and each value is there as often. What follows with certainty is not in the snapshots.
    truth = [tmp_path / f"s{month}.csv" for month in (0, 2, 1)]
    code, said = audit(tmp_path, *files, "--truth", *truth, "--known", "events")
    assert code == 2
    assert "not in the snapshots" in said
    # A value that is once too often is seen before anything is attacked.
    code, said = audit(tmp_path, *files[:2], "--truth", tmp_path / "s0.csv", tmp_path / "e1.csv")
    assert code == 2
    assert "r1.csv: 1 or more rows of release 2 have a value that nobody of the snapshot given is left to have" in said
