"""Exact Bayes over all dice: what the releases tell somebody who knows this code and everything but the dice."""

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from math import prod

import numpy as np
import polars as pl
import pytest

from reveil.guarantees.worlds import drawing
from reveil.guarantees.worlds.buckets import is_diverse
from reveil.guarantees.worlds.drawing import draw_worlds
from reveil.guarantees.worlds.matching import better, matched
from reveil.guarantees.worlds.projection import projected
from reveil.testing import outcomes
from tests.guarantees.worlds.small import boxes, codes_of, only
from tests.rarely import mostly_slow

# A second attribute that does not follow the first: the releases put different persons together.
SECOND = ["u", "w", "u", "v", "w"]


def beliefs(values, l, releases, monkeypatch, *, greedy=False, project=False, cut=None):
    """Return the strongest belief of any output, over all the tables that deal these values to these persons.

    The dice fall twice: for the worlds, and for the releases, which see nothing but worlds and quasi values. A table
    for which ``cut`` has no buckets is not one that may be.
    """
    n = len(values)
    frame = pl.DataFrame({"one": [f"{i}" for i in range(n)], "two": SECOND[:n], "value": list(values)})
    codes = codes_of(frame, ["one", "two"])
    found: dict[object, Counter] = {}
    bucketed = drawing.blind_buckets
    cut = cut or bucketed

    def one_release(tokens, kinds, names):
        own = only(codes, *names)

        def run(dice):
            rows = projected(np.array(tokens))
            if not project:
                rows = better(own, np.array(kinds), matched(own, np.array(kinds), 100, dice), rows)
            values_of = np.array(kinds)[0][rows[0]]
            return tuple(sorted(zip(boxes(own, rows), values_of.tolist(), strict=True)))

        return outcomes(run)

    def published(tokens, kinds):
        # Given the worlds, releases have nothing but their own dice.
        each = [one_release(tokens, kinds, names).items() for names in releases]
        return {tuple(o for o, _ in some): prod(chance for _, chance in some) for some in product(*each)}

    release = cache(published)
    tables = sorted(set(permutations(sorted(values))))
    for table in tables:
        told = np.array([ord(value) for value in table], np.int32) - ord("a")
        here = codes_of(frame.with_columns(value=pl.Series(table)), ["one", "two"])
        # The buckets of a table do not depend on dice.
        buckets = None if greedy else cut(here, told, l)
        if buckets is None and not greedy:
            continue
        monkeypatch.setattr(drawing, "blind_buckets", lambda *_, b=buckets: b)
        monkeypatch.setattr(drawing, "diverse_buckets", lambda *_: np.zeros(n, np.int64))  # the source's may be one

        def draw(dice, here=here, told=told):
            worlds = draw_worlds(here, told, l, dice, blind=not greedy, greedy=greedy)
            both = zip(told[worlds.sources].tolist(), worlds.tokens.tolist(), strict=True)
            # Releases take the worlds in an order of their own; sorted, fewer are different.
            values_of, tokens = zip(*sorted((tuple(v), tuple(t)) for v, t in both), strict=True)
            return tokens, values_of

        for worlds, chance in outcomes(draw).items():
            for output, then in release(*worlds).items():
                found.setdefault(output, Counter())[table] += chance * then
    monkeypatch.setattr(drawing, "blind_buckets", bucketed)
    highest = Fraction(0)
    for chances in found.values():
        total = sum(chances.values())
        for person in range(n):
            shares = Counter()
            for table, chance in chances.items():
                shares[table[person]] += chance / total
            highest = max(highest, *shares.values())
    return highest


TABLES = [("abc", 2), ("abcd", 2), ("aabbc", 2), ("abcd", 3)]
ONE, TWO = [("one",)], [("one",), ("two",)]


@pytest.mark.parametrize(("values", "l"), TABLES)
@pytest.mark.parametrize("releases", mostly_slow([ONE, TWO]), ids=["one release", "two releases"])
def test_exact_posterior_of_blind_worlds(values, l, releases, monkeypatch):
    assert beliefs(values, l, releases, monkeypatch) == Fraction(1, l)


@pytest.mark.parametrize(("values", "l"), TABLES)
def test_exact_posterior_of_the_source(values, l, monkeypatch):
    assert beliefs(values, l, ONE, monkeypatch, greedy=True) == 1


@pytest.mark.parametrize(("values", "l"), [("abcd", 2), ("abcd", 3)])
def test_exact_posterior_of_blind_projections(values, l, monkeypatch):
    assert beliefs(values, l, TWO, monkeypatch, project=True) == Fraction(1, l)


def test_the_smallest_size_that_works_would_tell(monkeypatch):
    # A world of the set that a smaller size would have fitted cannot have led to this release.
    def smallest(codes, values, l):
        for size in range(l, codes.n + 1):
            labels = np.arange(codes.n) * (codes.n // size) // codes.n
            if is_diverse(labels, values, l):
                return labels
        raise AssertionError("the table itself is diverse")

    assert beliefs("aabbc", 2, ONE, monkeypatch, cut=smallest) == 1


# The grade *worlds*: the buckets are given, whatever made them, and every table that is diverse in them counts.


def given_buckets(*labels):
    """Take these buckets for every table; one that is not diverse in them is not among those that may be."""

    def cut(codes, values, l):
        return np.array(labels) if is_diverse(np.array(labels), values, l) else None

    return cut


@pytest.mark.parametrize(
    ("values", "l", "labels"),
    [("abab", 2, (0, 0, 1, 1)), ("abcd", 2, (0, 0, 1, 1)), ("aabbc", 2, (0, 0, 1, 1, 1)), ("abcd", 2, (0, 1, 1, 0))],
)
@pytest.mark.parametrize("releases", [ONE, TWO], ids=["one release", "two releases"])
def test_given_the_buckets_the_exact_posterior_is_one_in_l(values, l, labels, releases, monkeypatch):
    assert beliefs(values, l, releases, monkeypatch, cut=given_buckets(*labels)) == Fraction(1, l)


def test_the_share_of_all_tables_that_agree_is_another_number_and_larger():
    # The source's example 4.2, of l = 2 worlds: all tables that agree counted alike, which no grade promises here.
    first = {"rt": "abe", "r": "ab", "s": "cd"}
    second = {"xz": "ade", "y": "bc", "x": "ad"}
    rows = [
        [(first["rt"], 1), (first["r"], 2), (first["s"], 3), (first["s"], 2), (first["rt"], 3)],
        [(second["xz"], 1), (second["y"], 2), (second["y"], 3), (second["x"], 2), (second["xz"], 3)],
    ]

    def agrees(table, release):
        return any(
            all(person in box and table[person] == value for person, (box, value) in zip(order, release, strict=True))
            for order in permutations("abcde")
        )

    tables = {tuple(values) for values in permutations((1, 2, 3, 2, 3))}
    left = [t for t in tables if all(agrees(dict(zip("abcde", t, strict=True)), release) for release in rows)]
    assert (len(left), sum(table[1] == 2 for table in left)) == (3, 2)


def test_who_asks_why_the_buckets_are_as_they_are_may_be_certain(monkeypatch):
    # Two buckets where the values allow it, else one: tables of one set of worlds are cut differently.
    def by_value(codes, values, l):
        halves = np.arange(codes.n) * 2 // codes.n
        return halves if is_diverse(halves, values, l) else np.zeros(codes.n, np.int64)

    assert beliefs("aabbc", 2, ONE, monkeypatch, cut=by_value) > Fraction(1, 2)
