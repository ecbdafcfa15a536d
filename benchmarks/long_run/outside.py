"""A release as another tool makes it: sorted by age, cut into runs, and nothing remembered."""

from __future__ import annotations

import polars as pl

from reveil.testing.hospital import _tables as places

LEAST, VALUES = 10, 4
COLUMNS = ("age", "town", "diagnosis")
PART_OF = {town: part for part, regions in places.REGIONS.items() for towns in regions.values() for town in towns}


def published_elsewhere(people: pl.DataFrame) -> pl.DataFrame:
    """Return age, part of the country and diagnosis, in classes of at least ten people with four diagnoses."""
    parts = people["town"].replace_strict(PART_OF)
    enough = parts.value_counts().filter(pl.col("count") >= 2 * LEAST)[parts.name].to_list()
    # Parts with few people are not told apart.
    where = pl.when(parts.is_in(enough)).then(parts).otherwise(pl.lit("*")) if len(enough) > 1 else pl.lit("*")
    rows = people.with_columns(where=where)
    if rows.filter(pl.col("where") == "*").height < LEAST:
        rows = rows.with_columns(where=pl.lit("*"))
    done = [_in_runs(part.sort("age")) for part in rows.partition_by("where", maintain_order=True)]
    return pl.concat(done).select("age", town="where", diagnosis="diagnosis").sample(fraction=1, shuffle=True, seed=1)


def _in_runs(part: pl.DataFrame) -> pl.DataFrame:
    """Replace ages by the runs that they are in; people of one age stay together."""
    runs: list[list[dict[str, object]]] = [[]]
    last: object = None
    for row in part.iter_rows(named=True):
        run = runs[-1]
        if len(run) >= LEAST and row["age"] != last and len({one["diagnosis"] for one in run}) >= VALUES:
            runs.append([])
        runs[-1].append(row)
        last = row["age"]
    short = runs[-1]
    if len(runs) > 1 and (len(short) < LEAST or len({one["diagnosis"] for one in short}) < VALUES):
        runs[-2:] = [[*runs[-2], *short]]
    rows = [
        {
            **row,
            "age": f"[{run[0]['age']}, {run[-1]['age']}]" if run[0]["age"] != run[-1]["age"] else str(run[0]["age"]),
        }
        for run in runs
        for row in run
    ]
    return pl.DataFrame(rows, schema={**part.schema, "age": pl.String}, orient="row")
