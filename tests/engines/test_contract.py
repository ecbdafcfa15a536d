"""Every engine gives the same rows, whatever it does with them."""

from functools import partial

import polars as pl
import pytest

from reveil.engines import scratch
from reveil.engines.disk import DiskEngine
from reveil.engines.memory import MemoryEngine
from reveil.engines.shards import COUNTED, with_columns_only
from reveil.testing import check_shards, check_work, engines

NUMBERED = pl.Schema({"number": pl.Int64, "place": pl.Int32})
TOLD = pl.Schema({"place": pl.Int32, "mark": pl.Int64})


@pytest.mark.parametrize("kind", [MemoryEngine, partial(DiskEngine, workers=1), partial(DiskEngine, workers=3)])
def test_engines_give_the_same_rows(kind):
    check_shards(kind)


def test_tables_that_are_worth_a_file():
    many = 20_000
    table = pl.DataFrame({"number": range(many), "place": [n * n % 97 - 48 for n in range(many)]}, schema=NUMBERED)
    table = table.with_columns(cell=pl.struct(lo="place", hi="number", null=pl.lit(value=False)))
    found = []
    for kind in (MemoryEngine, DiskEngine):
        with kind(5_000) as engine:
            shards = engine.scatter([table[:9_000], table[9_000:]], table.schema)
            told = engine.scatter([table.select("place", mark="number")[::50]], TOLD)
            only = with_columns_only(shards, ["place", "number"])
            each = [shards.each("place", first_of, table.schema), shards.join(told, "place")]
            found.append(
                [
                    *(one.collect().sort(pl.all()) for one in each),
                    only.count(engines.altogether),
                    only.collect().sort(pl.all()),
                ]
            )
    assert all(one.equals(other) for one, other in zip(*found, strict=True))


def first_of(table):
    return table.sort("number")[:1]


WORKS = [engines.doubled, engines.by_place, engines.altogether, partial(engines.over, least=9)]


@pytest.mark.parametrize("work", WORKS)
def test_work_of_the_contract_keeps_to_it(work):
    table = pl.DataFrame({"number": [1, 2, 3], "place": [0, 1, 0], "name": ["a", None, "b"], "twice": [9, 8, 9]})
    check_work(work, table)


def numbered_by_place(table):
    return table.with_row_index(COUNTED)


def test_work_that_depends_on_the_order_is_found():
    with pytest.raises(AssertionError, match="rows alone"):
        check_work(numbered_by_place, pl.DataFrame({"number": [1, 2, 3]}))


def test_what_killed_runs_left_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(scratch.tempfile, "gettempdir", lambda: str(tmp_path))
    dead = tmp_path / f"{scratch.PREFIX}dead"
    dead.mkdir()
    (dead / "0.arrow").write_bytes(b"raw")
    with DiskEngine(10) as one:
        alive = one.scratch
        with DiskEngine(10) as other:
            assert other.scratch.parent == tmp_path
            assert alive.is_dir()  # it is locked
            assert not dead.exists()
    assert list(tmp_path.iterdir()) == []
