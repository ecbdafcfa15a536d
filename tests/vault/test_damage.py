"""A damaged vault: what it says is what it knew, or it says that it is damaged; nothing changes in silence."""

import shutil

import polars as pl
import pytest

from reveil.core.errors import ReveilError
from reveil.vault import DuckDBVault
from tests.vault.cases import publish

PEOPLE = {f"p{n}": {"age": str(20 + n % 50), "disease": f"d{n % 7}"} for n in range(300)}
LATER = {**PEOPLE, **{f"p{n}": {"age": str(20 + n % 50), "disease": f"d{n % 5}"} for n in range(200, 400)}}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A vault as a publisher leaves it who is killed right after a release was prepared."""
    folder = tmp_path_factory.mktemp("damage")
    told = dict.fromkeys(list(PEOPLE)[:100], ("d1", "d2"))
    with DuckDBVault.open(folder / "v") as vault:
        publish(vault, PEOPLE, told)
        publish(vault, LATER)
        shutil.copytree(vault.folder, folder / "killed")
    return folder / "killed"


def known(folder):
    """Return all that a vault knows; a vault that cannot be read raises."""
    with DuckDBVault.open(folder, create=False) as vault:
        found = {"head": vault.head(), "releases": vault.releases(), "attributes": vault.attributes()}
        high, low = vault.key.pseudonyms(pl.Series(list(LATER), dtype=pl.String))
        found["placements"] = [vault.placements(n, high, low).rows() for n in (1, 2)]
        recall = vault.recall(high, low)
        found["told"] = recall.told.rows()
        found["last"] = {name: codes.tolist() for name, codes in recall.last.items()}
        found["values"] = {name: vault.values(name).rows() for name in vault.attributes()}
        return found


def silent(whole, tmp_path, size):
    """Zero piece after piece of each file; return how many were tried, and those that changed what is known."""
    expected = known(shutil.copytree(whole, tmp_path / "untouched"))
    tried, changed, folder = 0, [], tmp_path / "v"
    for file in ("vault.duckdb", "vault.duckdb.wal"):
        content = (whole / file).read_bytes() if (whole / file).exists() else b""
        for start in range(0, len(content), size):
            piece = content[start : start + size]
            if not any(piece):
                continue
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(whole, folder)
            (folder / file).write_bytes(content[:start] + bytes(len(piece)) + content[start + size :])
            tried += 1
            try:
                same = known(folder) == expected
            except ReveilError:
                continue
            if not same:
                changed.append((file, start))
    return tried, changed


def test_nothing_is_left_in_a_log(whole):
    """DuckDB cuts a damaged log off in silence; blocks of its file have checksums."""
    assert not (whole / "vault.duckdb.wal").exists()


def test_a_zeroed_piece_is_noticed_or_without_effect(whole, tmp_path):
    tried, changed = silent(whole, tmp_path, 4096)
    assert tried >= 10
    assert changed == []


@pytest.mark.slow
@pytest.mark.parametrize("size", [64, 512])
def test_a_small_zeroed_piece_is_noticed_or_without_effect(whole, tmp_path, size):
    tried, changed = silent(whole, tmp_path, size)
    assert tried >= 50
    assert changed == []
