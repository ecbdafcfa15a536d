"""Hand-made releases: published by a list of groups, with cells that name their members' values."""

import polars as pl

import reveil as rv
from reveil.testing.beliefs import Group

SCHEMA = rv.Schema(person="pid", quasi="place", sensitive="disease", types={"place": "text"})


def intervals(frame, groups, quasi, keep):
    """Publish each group with the intervals of its members' quasi values."""
    parts = []
    for group in groups:
        own = frame.filter(pl.col("pid").is_in(list(group)))
        boxes = [pl.format("[{}, {}]", pl.col(name).min(), pl.col(name).max()).alias(name) for name in quasi]
        parts.append(own.select(*boxes, *keep))
    return pl.concat(parts)


def snapshot(values):
    """Return a table in which everybody has a place of their own: ``values`` maps persons to diseases."""
    return pl.DataFrame(
        {"pid": list(values), "place": [f"at {person}" for person in values], "disease": list(values.values())},
        schema={"pid": pl.String, "place": pl.String, "disease": pl.String},
    )


def publish(values, groups):
    """Publish groups of such a table; the cell of a group is the set of its members' places."""
    rows = [
        ("{" + ", ".join(sorted(f"at {member}" for member in group)) + "}", values[person])
        for group in groups
        for person in group
    ]
    return pl.DataFrame(rows, schema={"place": pl.String, "disease": pl.String}, orient="row")


def as_groups(values, groups):
    """Return the same groups for the enumerator of worlds."""
    return [Group(tuple(group), tuple(values[person] for person in group)) for group in groups]


def certain(found):
    """Return what an audit is certain of: person and release to value."""
    return {(row["person"], row["release"]): row["value"] for row in found.certain.iter_rows(named=True)}


def beliefs(found):
    """Return the highest belief of each person, with its value."""
    return {row["person"]: (row["value"], row["belief"], row["exact"]) for row in found.persons.iter_rows(named=True)}
