"""A damaged vault: what it says is what it knew, or it says that it is damaged; nothing changes in silence."""

import shutil

import numpy as np
import polars as pl
import pytest

from reveil.core.errors import ReveilError
from reveil.series.signatures import SIGNATURES, TOLD_SIGNATURES
from reveil.vault import Vault
from tests.vault.cases import publish

FILE = "vault.duckdb"
PEOPLE = {f"p{n}": {"age": str(20 + n % 50), "disease": f"d{n % 7}"} for n in range(300)}
LATER = {**PEOPLE, **{f"p{n}": {"age": str(20 + n % 50), "disease": f"d{n % 5}"} for n in range(200, 400)}}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A vault as a publisher leaves it who is killed right after a release was prepared."""
    folder = tmp_path_factory.mktemp("damage")
    told = dict.fromkeys(list(PEOPLE)[:100], ("d1", "d2"))
    with Vault.open(folder / "v") as vault:
        publish(vault, PEOPLE, told)
        publish(vault, LATER)
        shutil.copytree(vault.folder, folder / "killed")
    return folder / "killed"


def known(folder):
    """Return all that a vault knows; a vault that cannot be read raises."""
    with Vault.open(folder, create=False) as vault:
        found = {"head": vault.head(), "releases": vault.releases(), "attributes": vault.attributes()}
        high, low = vault.key.pseudonyms(pl.Series(list(LATER), dtype=pl.String))
        found["placements"] = [vault.placements(n, high, low).rows() for n in (1, 2)]
        recall = vault.recall(high, low)
        found["told"] = sorted(vault.ledger(TOLD_SIGNATURES).rows())
        found["signatures"] = sorted(vault.ledger(SIGNATURES).rows())
        found["last"] = {name: codes.tolist() for name, codes in recall.last.items()}
        found["values"] = {name: vault.values(name).rows() for name in vault.attributes()}
        return found


def pieces(content, size):
    """Return where a file that is cut into pieces has one that is not zero."""
    return [start for start in range(0, len(content), size) if any(content[start : start + size])]


def unseen(content, size):
    """Return where zeroes leave DuckDB's checksums as they are: XOR over words of eight bytes, times a number each."""
    words = np.frombuffer(content, "<u8")
    sums = np.bitwise_xor.accumulate(np.append(np.uint64(0), words * np.uint64(0xBF58476D1CE4E5B9)))
    starts = 8 * np.flatnonzero(sums[: -(size // 8)] == sums[size // 8 :])
    return [start for start in starts.tolist() if any(content[start : start + size])]


def silent(whole, tmp_path, size, where=pieces):
    """Zero piece after piece; return how many were tried, and those that changed what is known."""
    expected = known(shutil.copytree(whole, tmp_path / "untouched"))
    content = (whole / FILE).read_bytes()
    tried, changed, folder = where(content, size), [], tmp_path / "v"
    for start in tried:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(whole, folder)
        (folder / FILE).write_bytes(content[:start] + bytes(size) + content[start + size :])
        try:
            same = known(folder) == expected
        except ReveilError:
            continue
        if not same:
            changed.append(start)
    return len(tried), changed


def test_nothing_is_left_in_a_log(whole):
    """DuckDB cuts a damaged log off in silence; blocks of its file have checksums, and tables seals."""
    assert not (whole / "vault.duckdb.wal").exists()
    assert len((whole / FILE).read_bytes()) % 4096 == 0


def test_a_zeroed_piece_is_noticed_or_without_effect(whole, tmp_path):
    tried, changed = silent(whole, tmp_path, 4096)
    assert tried >= 10
    assert changed == []


@pytest.mark.many
@pytest.mark.slow
@pytest.mark.parametrize("size", [64, 512])
def test_a_small_zeroed_piece_is_noticed_or_without_effect(whole, tmp_path, size):
    tried, changed = silent(whole, tmp_path, size)
    assert tried >= 50
    assert changed == []


@pytest.mark.many
@pytest.mark.slow
@pytest.mark.parametrize("size", [16, 24, 32, 64, 128])
def test_what_checksums_do_not_notice_seals_do(whole, tmp_path, size):
    """Two equal words of a block that become zero leave its checksum as it was; at whatever word they begin."""
    tried, changed = silent(whole, tmp_path, size, unseen)
    assert tried >= (20 if size > 24 else 1)
    assert changed == []
