"""What is written, read back, remembered and judged piece by piece: the same bytes, whatever the size of the pieces."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import DataError, VerificationError
from reveil.releases import parsing, sameness
from reveil.releases.parsing import classes_of
from reveil.releases.release import Release
from reveil.releases.sameness import same_content
from reveil.series import judging
from reveil.tables.formats import csv_file
from reveil.tables.formats.csv_file import CsvFile
from reveil.testing import hospital
from reveil.vault import Vault, ledgers, writing
from reveil.verification import rows, surface
from reveil.verification.judges import tau_safety
from reveil.verification.surface import check_order

SMALL = {
    (sameness, "PIECE_ROWS"): 37,
    (parsing, "_SEARCHED"): 11,
    (parsing, "_BITS"): 16,
    (ledgers, "_FOR_EACH"): 0,
    (ledgers, "_FEW"): 0,
    (writing, "_FEW"): 2,
    (csv_file, "_PIECE"): 700,
    (judging, "_AT_ONCE"): 50,
    (writing, "_AT_ONCE"): 23,
    (rows, "_PIECE"): 41,
    (surface, "_PIECE"): 13,
    (tau_safety, "_AT_ONCE"): 29,
}


def published(folder, suffix, monkeypatch, *, small):
    """Publish two releases of a series; return what was written."""
    monkeypatch.setenv("REVEIL_KEY", "ab" * 32)
    pool = hospital.coded(330, columns=3, seed=2).with_row_index("pid").with_columns(town=pl.lit('a "quoted", town'))
    schema = rv.Schema(person="pid", quasi=["q1", "q2", "q3", "town"], sensitive="disease")
    folder.mkdir()
    with monkeypatch.context() as patch:
        for (module, name), size in SMALL.items() if small else ():
            patch.setattr(module, name, size)
        series = rv.Series.open(folder / "vault", schema, rv.TauSafety(m=2), seed=3)
        first = pool.head(300)
        changed = pool["disease"].to_numpy().copy()
        changed[10:20] = changed[20:30]
        second = pool.with_columns(disease=pl.Series(changed))[40:]
        found = []
        for number, frame in enumerate((first, second), start=1):
            series.publish_to(folder / f"{number}{suffix}", frame)
            found.append((folder / f"{number}{suffix}").read_bytes())
        assert series.check_vault().persons == 330
        assert (Release.read(folder / f"2{suffix}")).manifest.rows >= second.height
    return found


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_the_bytes_do_not_depend_on_the_pieces(tmp_path, monkeypatch, suffix):
    whole = published(tmp_path / "whole", suffix, monkeypatch, small=False)
    pieces = published(tmp_path / "pieces", suffix, monkeypatch, small=True)
    assert whole == pieces


@pytest.mark.parametrize("lost", [0, 299])
def test_what_the_books_lost_is_missed_in_whatever_part_it_is(tmp_path, monkeypatch, lost):
    """The vault's books and the record of the judge are compared some people at a time."""
    monkeypatch.setattr(judging, "_AT_ONCE", 50)
    frame = hospital.coded(300, columns=2, seed=2).with_row_index("pid")
    schema = rv.Schema(person="pid", quasi=["q1", "q2"], sensitive="disease")
    series = rv.Series.open(tmp_path / "vault", schema, rv.TauSafety(m=2), seed=3)
    series.publish(frame)
    with Vault.open(tmp_path / "vault", create=False) as vault, vault.store.transaction("ledger_told") as connection:
        connection.execute("DELETE FROM ledger_told WHERE person = ?", [lost])
    with pytest.raises(VerificationError, match="1 persons were told other signatures than it remembers"):
        series.publish(frame.with_columns(q1=pl.col("q1") + 1))
    assert len(series.history()) == 1


def test_a_text_is_cut_at_ends_of_records(tmp_path, monkeypatch):
    """Also where cells have line ends, commas and quotes."""
    frame = pl.DataFrame(
        {
            "a": [f'{n},\n"{n}"\n' if n % 3 else str(n) for n in range(40)],
            "b": [None if n % 7 else "x" for n in range(40)],
        }
    )
    CsvFile().write(frame, tmp_path / "t.csv")
    for size in (1, 17, 64, 10_000):
        monkeypatch.setattr(csv_file, "_PIECE", size)
        pieces = list(CsvFile().read_pieces(tmp_path / "t.csv"))
        assert pl.concat(pieces).equals(frame, null_equal=True)
        assert (len(pieces) == 1) == (size == 10_000)


def test_what_is_wrong_in_a_later_piece_has_its_line(tmp_path, monkeypatch):
    lines = ["a,b", *(f"{n},{n}" for n in range(50)), "1,2,3", "4,5"]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    for size in (16, 10_000):
        monkeypatch.setattr(csv_file, "_PIECE", size)
        with pytest.raises(DataError) as caught:
            list(CsvFile().read_pieces(tmp_path / "t.csv"))
        assert caught.value.line == 52


def test_tables_without_rows_and_files_without_anything(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n")
    (piece,) = CsvFile().read_pieces(tmp_path / "t.csv")
    assert piece.shape == (0, 2)
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(DataError, match="this file is empty"):
        list(CsvFile().read_pieces(tmp_path / "empty.csv"))


@pytest.mark.parametrize("bits", [10, 14, 62])
def test_classes_are_numbered_as_numpy_numbers_them(bits, monkeypatch):
    monkeypatch.setattr(parsing, "_BITS", bits)
    rng = np.random.default_rng(0)
    for many in (3, 1 << 40):
        columns = [rng.integers(0, many, 500) % 7 * (many // 7 + 1) for _ in range(4)]
        classes, first = classes_of(columns, 500)
        _, at, wanted = np.unique(np.stack(columns, axis=1), axis=0, return_index=True, return_inverse=True)
        assert np.array_equal(classes, wanted.reshape(-1))
        assert np.array_equal(first, at)


def test_every_difference_is_seen(monkeypatch):
    monkeypatch.setattr(sameness, "PIECE_ROWS", 7)
    frame = hospital.coded(60, columns=2, seed=1).with_columns(disease=pl.col("disease").cast(pl.String))
    release = rv.anonymize(frame, rv.Schema(quasi=["q1", "q2"], sensitive="disease"), rv.KAnonymity(3), seed=1)
    assert same_content(release, release.under(release.manifest))
    classes = release.classes.copy()
    other = int(np.flatnonzero(classes != classes[-1])[0])
    classes[-1] = classes[other]
    altered = release.values.with_columns(disease=pl.Series(["?", *release.values["disease"][1:]]))
    shifted = {**release.cells, "q1": replace(release.cells["q1"], index=np.roll(release.cells["q1"].index, 1))}
    for one in (
        replace(release, classes=classes),
        replace(release, values=altered),
        replace(release, cells=shifted),
        replace(release, columns=release.columns[::-1]),
        replace(release, groups=release.classes),
        replace(release, classes=release.classes[:-1], values=release.values[:-1]),
    ):
        assert not same_content(release, one)
        assert not same_content(one, release)


def test_rows_in_the_order_of_records_are_seen_in_pieces(monkeypatch):
    monkeypatch.setattr(surface, "_PIECE", 9)
    shuffled = np.random.default_rng(1).permutation(500)
    check_order(shuffled)
    nearly = np.arange(500)
    nearly[::9] = nearly[::9][::-1]
    for placement in (np.arange(500), np.arange(500)[::-1], nearly):
        with pytest.raises(VerificationError, match="order of the records"):
            check_order(placement)
