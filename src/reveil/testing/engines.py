"""What every engine must satisfy, and works for it that any engine can run."""

from __future__ import annotations

import pickle
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import DataError, InputError, ReveilError
from reveil.core.randomness import Dice
from reveil.engines.memory import MemoryEngine
from reveil.engines.shards import COUNTED, with_columns_only

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from reveil.engines.shards import Engine, Shards, Work

_TYPES: dict[str, pl.DataType] = {
    "number": pl.Int64(),
    "place": pl.Int32(),
    "name": pl.String(),
    "cell": pl.List(pl.String),
    "weight": pl.Float64(),
}
SCHEMA = pl.Schema(_TYPES)
DOUBLED = pl.Schema({"number": pl.Int64, "place": pl.Int32, "twice": pl.Int64})
SUMMED = pl.Schema({"place": pl.Int32, "rows": pl.Int64, "first": pl.Int64})
TOLD_OF = pl.Schema({"number": pl.Int64, "told": pl.String})
_DICE = Dice.of_seed(1).child("contract")


def check_shards(open_engine: Callable[[int], Engine], rows: int = 300) -> None:
    """Compare an engine with tables in memory; ``open_engine`` is given how many rows are worked on at once.

    The rows are the same however the table is cut, errors arrive as they were raised, and nothing is left in the
    engine's private folder.
    """
    table = _table(rows)
    for sizes in ([rows], [7, 0, rows - 8, 1], [], [rows // 3, rows // 3, rows - 2 * (rows // 3)]):
        expected, cut = _pieces(table, sizes)
        with open_engine(50) as engine, MemoryEngine(50) as plain:
            private = engine.scratch
            assert private.stat().st_mode & 0o077 == 0, "nobody else reads what is worked on"
            _check_rows(engine, plain, expected, cut)
            _check_joins(engine, plain, expected, cut)
            (private / "left").write_bytes(b"anything")
        assert not private.exists(), "nothing is left on the disk"
    _check_failures(open_engine, table)


def check_work(work: Work, table: pl.DataFrame) -> None:
    """Refuse work that cannot be sent to another process, or whose result depends on the order of the rows.

    For work that is given to ``map``, ``count`` or ``each``; the rows are compared without their order.
    """
    sent: Work = pickle.loads(pickle.dumps(work))  # noqa: S301  (written in this line)
    assert _same(work(table), sent(table.reverse())), "the result depends on the rows alone"
    assert work(table.clear()).schema == work(table).schema, "the columns do not depend on the rows"


def _table(rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    names = np.array(["ü", "b,c", "", "d"])[rng.integers(0, 4, rows)]
    return pl.DataFrame(
        {
            "number": np.arange(rows),
            "place": rng.integers(-2, 5, rows),
            "name": pl.Series(names).set(pl.Series(rng.random(rows) < 0.1), None),
            "cell": [["x", "y"][: n % 3] for n in range(rows)],
            "weight": rng.integers(0, 3, rows) / 4,
        },
        schema=SCHEMA,
    )


def _pieces(table: pl.DataFrame, sizes: list[int]) -> tuple[pl.DataFrame, list[pl.DataFrame]]:
    ends = np.cumsum(sizes, dtype=np.int64).tolist()
    cut = [table[end - size : end] for end, size in zip(ends, sizes, strict=True)]
    return table[: sum(sizes)], cut


def _check_rows(engine: Engine, plain: Engine, table: pl.DataFrame, cut: Iterable[pl.DataFrame]) -> None:
    there, here = engine.scatter(cut, SCHEMA), plain.scatter([table], SCHEMA)
    assert there.schema == SCHEMA
    assert _same(there.collect(), table), "what was laid out is there"
    assert _same(pl.concat([table.clear(), *there.tables()]), table)
    ways: list[Callable[[Shards], Shards]] = [
        lambda shards: shards.map(doubled, DOUBLED),
        lambda shards: shards.map(doubled, DOUBLED).map(partial(over, least=3), DOUBLED).kept(),
        lambda shards: shards.each("place", summed, SUMMED),
        lambda shards: shards.each(["place", "number"], summed, SUMMED),
        lambda shards: shards.map(doubled, DOUBLED).each("number", twofold, DOUBLED).each("place", summed, SUMMED),
        lambda shards: shards.map(diced, DOUBLED),
        lambda shards: with_columns_only(shards, ["place", "number"]).map(doubled, DOUBLED),
    ]
    for way in ways:
        assert _same(way(there).collect(), way(here).collect()), "every engine gives the same rows"
    for counting in (by_place, altogether):
        found = there.count(counting)
        assert found.equals(here.count(counting)), "counts come in the order of their keys"
    kept = there.map(doubled, DOUBLED).kept()
    assert _same(kept.collect(), doubled(table))
    kept.drop()
    assert _same(there.collect(), table), "dropping what came of shards leaves them"


def _check_joins(engine: Engine, plain: Engine, table: pl.DataFrame, cut: Iterable[pl.DataFrame]) -> None:
    there, here = engine.scatter(cut, SCHEMA), plain.scatter([table], SCHEMA)
    numbers = np.arange(-5, 2 * table.height, 2)
    told = pl.DataFrame({"number": numbers, "told": [f"t{n}" for n in numbers]}, schema=TOLD_OF)
    that, this = engine.scatter([told[:3], told[3:]], TOLD_OF), plain.scatter([told], TOLD_OF)
    for how in ("left", "outer", "semi", "anti"):
        one, other = there.join(that, "number", how), here.join(this, ["number"], how)
        assert dict(one.schema) == dict(other.schema)
        assert _same(one.collect(), other.collect()), "every engine joins the same rows"
    pair = pl.Schema({"place": pl.Int32, "weight": pl.Float64, "pair": pl.Int64})
    both = table.select("place", "weight").unique().sort("place", "weight").with_row_index("pair")
    both = both.select(pl.col("place"), pl.col("weight"), pl.col("pair").cast(pl.Int64))
    on = ["place", "weight"]
    found = there.join(engine.scatter([both], pair), on).collect()
    assert _same(found, here.join(plain.scatter([both], pair), on).collect())


def _check_failures(open_engine: Callable[[int], Engine], table: pl.DataFrame) -> None:
    with open_engine(50) as engine:
        there = engine.scatter([table[:10], table[10:]], SCHEMA)
        for refuse in (lambda: there.count(by_place, most=2), lambda: there.collect(most=10)):
            refused = _raised(refuse)
            assert isinstance(refused, InputError), "what is too large is refused"
            assert refused.hint, "with a remedy"
        private = engine.scratch
        for do in (
            lambda: there.map(failing, SCHEMA).collect(),
            lambda: there.each("place", failing, SCHEMA).collect(),
            lambda: there.count(failing),
        ):
            arrived = _raised(do)
            assert type(arrived) is DataError, "an error of work arrives as it was raised"
            assert (arrived.message, arrived.hint, arrived.column) == ("planted", "mend it", "name")
    assert not private.exists(), "nothing is left after a failure"


def _raised(do: Callable[[], pl.DataFrame]) -> ReveilError | None:
    try:
        do()
    except ReveilError as error:
        return error
    return None


def doubled(table: pl.DataFrame) -> pl.DataFrame:
    """Keep numbers and places."""
    return table.select("number", "place", (pl.col("number") * 2).alias("twice"))


def twofold(table: pl.DataFrame) -> pl.DataFrame:
    """Have a row more for each."""
    return pl.concat([table, table])


def over(table: pl.DataFrame, least: int) -> pl.DataFrame:
    """Keep some rows."""
    return table.filter(pl.col("twice") >= least)


def summed(table: pl.DataFrame) -> pl.DataFrame:
    """Count the rows of a key, all of which are here."""
    assert table["place"].n_unique() == 1, "one key at a time"
    return table.select(
        pl.col("place").first(), pl.len().cast(pl.Int64).alias("rows"), pl.col("number").min().alias("first")
    )


def diced(table: pl.DataFrame) -> pl.DataFrame:
    """Draw for each row by its number."""
    drawn = Dice(_DICE.child("row").generator().bytes(32)).coins(table["number"].to_numpy())
    return doubled(table).with_columns(pl.Series("twice", drawn.astype(np.int64)))


def by_place(table: pl.DataFrame) -> pl.DataFrame:
    """Count rows by two columns."""
    return table.group_by("place", "name").agg(pl.len().cast(pl.Int64).alias(COUNTED))


def altogether(table: pl.DataFrame) -> pl.DataFrame:
    """Count all rows."""
    return pl.DataFrame({COUNTED: [table.height]}, schema={COUNTED: pl.Int64})


def failing(table: pl.DataFrame) -> pl.DataFrame:
    """Fail where there is a row."""
    if table.height:
        raise DataError("planted", hint="mend it", column="name")
    return table


def _same(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    """Return whether two tables have the same rows, as often."""
    if dict(one.schema) != dict(other.schema):
        return False
    if not one.columns:
        return one.height == other.height
    names = one.columns
    plain = [table.select(names).with_columns(pl.col(pl.List(pl.String)).list.join("\x1f")) for table in (one, other)]
    return plain[0].sort(names).equals(plain[1].sort(names), null_equal=True)
