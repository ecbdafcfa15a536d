"""What the source says, and where its listing goes wrong."""

from __future__ import annotations

import polars as pl

import reveil as rv
from tests.guarantees.plain_book import PlainSeries
from tests.guarantees.refinement.plain_cells import Told

SCHEMA = rv.Schema(person="pid", quasi=("age",), sensitive="disease")


def listing_1(cell: dict[int, int], classes: list[set[int]], k: int) -> tuple[dict[int, int], list[set[int]]]:
    """Carry out Listing 1 of the source for k-anonymity: the cell (neighbourhood) of each record, candidate classes.

    Return the cells afterwards and what is published.
    """

    def valid(people: set[int]) -> bool:
        return not people or len(people) >= k

    cell, shown = dict(cell), {person for own in classes for person in own}
    published, fresh = [], max(cell.values(), default=-1)
    for candidate in classes:
        own, rejected, touched = set(candidate), False, []
        for person in sorted(candidate):
            number = cell.get(person)
            old = {p for p, n in cell.items() if n == number} if number is not None else set()
            touched.append(old)
            if not valid(own - old):
                rejected = True
                break
            if not valid(old - own):
                absent = {p for p in old if p not in shown}
                own |= absent
                shown |= absent
            if not valid(old & own):
                absent = {p for p in old if p not in shown}
                if not valid((own | absent) & old):
                    rejected = True
                    break
                own |= absent
                shown |= absent
        if rejected:
            shown -= own
            continue
        for old in touched:
            if old & own:
                fresh += 1
                cell |= dict.fromkeys(old & own, fresh)
        if any(person not in cell for person in own):
            fresh += 1
            cell |= {person: fresh for person in own if person not in cell}
        published.append(own)
    return cell, published


def test_the_listing_leaves_somebody_alone() -> None:
    """A class is accepted although it leaves one record behind that another class has, and that class is rejected."""
    cell, published = listing_1({}, [{1, 2, 3, 4}, {5, 6, 7, 8}], 2)
    assert [len(own) for own in published] == [4, 4]
    cell, published = listing_1(cell, [{1, 2, 3}, {4, 5}, {6, 7, 8}], 2)
    assert {1, 2, 3} in published
    assert not any(4 in own for own in published)
    alone = [p for p, number in cell.items() if number == cell[4]]
    assert alone == [4]  # known to whoever subtracts the second release from the first


def test_ours_does_not() -> None:
    guarantee = rv.Refinement(k=2, slack=1)
    series, told = PlainSeries(SCHEMA, guarantee), Told()
    # The same people; then ages move, so that other classes would be formed.
    for ages in ([20, 21, 22, 23, 30, 31, 32, 33], [20, 21, 22, 29, 30, 31, 32, 33]):
        frame = pl.DataFrame({"pid": range(1, 9), "age": ages, "disease": list("abcdabcd")})
        prepared = series.publish(frame)
        told.add(prepared.release, series.placed(prepared, frame["pid"].to_list()), frame["pid"].to_list())
        assert not told.invalid(guarantee)
    assert prepared.release.manifest["withheld"] == 0


def test_table_1_published_again_with_refinement() -> None:
    """Fran and George, Ellis and Helen: whoever follows records learns nothing that the model refuses."""
    tables = [
        {"Alice": "flu", "Charlotte": "migraine", "Bob": "pneumonia", "Dave": "HIV"},
        {"Alice": "flu", "Dave": "HIV", "Fran": "flu", "George": "cancer"},
        {"Fran": "flu", "George": "cancer", "Ellis": "HIV", "Helen": "HIV"},
    ]
    guarantee = rv.Refinement(k=2, l=2, slack=1)
    series, told = PlainSeries(SCHEMA, guarantee), Told()
    for table in tables:
        people = list(table)
        frame = pl.DataFrame({"pid": people, "age": [35] * 4, "disease": list(table.values())})
        prepared = series.publish(frame)
        told.add(prepared.release, series.placed(prepared, people), people)
        assert not told.invalid(guarantee)
    # Ellis and Helen have one value between them: they are new, and wait.
    assert not {"Ellis", "Helen"} & set(told.releases[-1])
    assert prepared.release.manifest["withheld"] == 2


def test_values_of_every_release_count() -> None:
    """R1 one class b, c, c, c; R2 p2 c and p3 b: fine today, but by ids both had c."""
    guarantee = rv.Refinement(l=2, dirty="never", slack=1)
    series = PlainSeries(SCHEMA, guarantee)
    series.publish(pl.DataFrame({"pid": range(4), "age": [30] * 4, "disease": list("bccc")}))
    newcomers = pl.DataFrame({"pid": [7, 8], "age": [50, 50], "disease": ["b", "c"]})
    two = pl.DataFrame({"pid": [2, 3], "age": [30, 30], "disease": ["c", "b"]})
    prepared = series.publish(pl.concat([two, newcomers]))
    assert set(series.placed(prepared, [2, 3, 7, 8])) == {7, 8}
    assert prepared.release.manifest["withheld"] == 2


def test_beside_the_absent_nobody_changes() -> None:
    """Who left is one of the rows that did not change: so none does, and those who are there are shown as told."""
    series = PlainSeries(SCHEMA, rv.Refinement(k=2, slack=1))
    told = Told()
    for values, people in (("abc", [0, 1, 2]), ("xc", [1, 2]), ("xy", [1, 2])):
        frame = pl.DataFrame({"pid": people, "age": [30] * len(people), "disease": list(values)})
        prepared = series.publish(frame)
        told.add(prepared.release, series.placed(prepared, people), people)
    assert [sorted(value for _, value in own.values()) for own in told.releases] == [list("abc")] * 3
    manifest = prepared.release.manifest
    assert (manifest["dirty"], manifest["stale"]) == (1, 2)
    # When all of them are back, they are shown as they are.
    last = series.publish(pl.DataFrame({"pid": [0, 1, 2], "age": [30] * 3, "disease": list("axy")}))
    assert sorted(last.release.table["disease"]) == list("axy")
