"""The dice that fall in every way, and what a publisher's output tells somebody who knows its code."""

from collections import Counter
from fractions import Fraction
from itertools import permutations, product
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reveil.core.randomness import shuffled
from reveil.testing import EnumeratedDice, all_histories, all_tables, outcomes, posterior

half = Fraction(1, 2)


def uniform(things):
    things = list(things)
    assert len(set(things)) == len(things)
    return dict.fromkeys(things, Fraction(1, len(things)))


def numbers(drawn):
    return tuple(np.asarray(drawn).ravel().tolist())


@pytest.mark.parametrize(
    ("draw", "expected"),
    [
        (lambda dice: numbers(dice.permutation(4)), permutations(range(4))),
        (lambda dice: numbers(dice.permutation(np.array([5, 7, 9]))), permutations([5, 7, 9])),
        (lambda dice: tuple(map(tuple, dice.permutation([[1, 2], [3, 4]]).tolist())), permutations([(1, 2), (3, 4)])),
        (lambda dice: numbers(shuffled(dice, np.arange(3, dtype=np.int32))), permutations(range(3))),
        (lambda dice: int(dice.integers(3)), range(3)),
        (lambda dice: int(dice.integers(-1, 2)), range(-1, 2)),
        (lambda dice: int(dice.integers(1, 6, endpoint=True)), range(1, 7)),
        (lambda dice: numbers(dice.integers(0, 3, 2)), product(range(3), repeat=2)),
        (lambda dice: numbers(dice.integers(0, [1, 2, 3])), product([0], range(2), range(3))),
        (lambda dice: numbers(dice.integers(2, size=(2, 2), dtype=np.uint8)), product(range(2), repeat=4)),
        (lambda dice: str(dice.choice(["a", "b", "c"])), "abc"),
        (lambda dice: numbers(dice.choice(3, 2)), product(range(3), repeat=2)),
        (lambda dice: numbers(dice.choice(4, size=2, replace=False)), permutations(range(4), 2)),
        (lambda dice: dice.permutation(0).size + dice.integers(5, 6) + dice.choice([1]), [6]),
    ],
)
def test_every_way_once(draw, expected):
    assert outcomes(draw) == uniform(expected)


def test_shuffles_in_place():
    def run(dice):
        array, words = np.arange(3), ["x", "y"]
        dice.shuffle(array)
        dice.shuffle(words)
        return (*array.tolist(), *words)

    assert outcomes(run) == uniform((*a, *b) for a in permutations(range(3)) for b in permutations("xy"))


def test_shapes_and_types_are_those_of_the_generator():
    real, ours = np.random.default_rng(1), EnumeratedDice()
    for draw in (
        lambda d: d.integers(5),
        lambda d: d.integers(0, 5, 3),
        lambda d: d.integers(0, 5, (2, 3), dtype=np.uint8),
        lambda d: d.permutation(3),
        lambda d: d.permutation(np.zeros((2, 3), np.int32)),
        lambda d: d.choice(["a", "b"]),
        lambda d: d.choice(np.arange(4, dtype=np.int16), (2, 1), replace=False),
    ):
        a, b = draw(real), draw(ours)
        assert type(a) is type(b)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)


@settings(deadline=None, max_examples=30)
@given(st.recursive(st.integers(0, 2), lambda below: st.lists(below, min_size=1, max_size=3), max_leaves=8))
def test_probabilities_follow_the_tree_of_choices(tree):
    def run(dice):
        node = tree
        while isinstance(node, list):
            node = node[int(dice.integers(len(node)))]
        return node

    def expected(node, weight):
        if not isinstance(node, list):
            return Counter({node: weight})
        parts = [expected(child, weight / len(node)) for child in node]
        return Counter({key: sum(part[key] for part in parts) for part in parts for key in part})

    found = outcomes(run)
    assert found == dict(expected(tree, Fraction(1)))
    assert sum(found.values()) == 1


@pytest.mark.parametrize("name", ["random", "normal", "uniform", "bit_generator"])
def test_what_is_continuous_is_refused(name):
    with pytest.raises(AttributeError, match=f"{name}.*finitely many"):
        outcomes(lambda dice: getattr(dice, name)())


def test_refusals():
    with pytest.raises(ValueError, match="equal chances"):
        EnumeratedDice().choice(2, p=[0.1, 0.9])
    with pytest.raises(ValueError, match="fewer"):
        EnumeratedDice().choice(2, 3, replace=False)
    with pytest.raises(ValueError, match="nothing to choose"):
        EnumeratedDice().integers(0)
    with pytest.raises(ValueError, match="cannot be enumerated"):
        outcomes(lambda dice: int(dice.integers(2**63)))
    with pytest.raises(ValueError, match="too many ways"):
        outcomes(lambda dice: numbers(dice.permutation(5)), runs=factorial(5) - 1)
    assert len(outcomes(lambda dice: numbers(dice.permutation(5)), runs=factorial(5))) == factorial(5)
    calls = []
    with pytest.raises(ValueError, match="more than the dice"):
        outcomes(lambda dice: calls.append(0) or int(dice.integers(1 + len(calls))))
    less = iter([3, 3, 1, 1])
    with pytest.raises(ValueError, match="more than the dice"):
        outcomes(lambda dice: numbers(dice.integers(0, 2, next(less))))


DOMAIN = ("a", "b", "c")


def fill_by_frequency(table, dice):
    """Two with the same value get the least frequent values as counterfeits, in turn."""
    (p, v), (q, w) = table.items()
    if v != w:
        return frozenset({((p, q), frozenset({v, w}))})
    fakes = [value for value in DOMAIN if value != v]
    return frozenset({((p,), frozenset({v, fakes[0]})), ((q,), frozenset({w, fakes[1]}))})


def fill_blindly(table, dice):
    """One signature for the block, padded by the dice from the rest of the domain."""
    persons, signature = tuple(table), set(table.values())
    rest = [value for value in DOMAIN if value not in signature]
    signature |= {str(value) for value in dice.choice(rest, 2 - len(signature), replace=False)}
    together = len(set(table.values())) == len(persons)
    groups = [persons] if together else [(person,) for person in persons]
    return frozenset((members, frozenset(signature)) for members in groups)


def same(table):
    return table


def test_counterfeits_chosen_by_value_tell_the_value():
    belief, output, person, value = posterior(all_tables("pq", DOMAIN), fill_by_frequency, same).highest()
    assert belief == 1
    assert len(output) == 2, "two groups, one for each: only one table is published so"
    assert person in "pq"
    assert value in DOMAIN


def test_a_block_padded_by_the_dice_tells_no_more_than_its_signature():
    found = posterior(all_tables("pq", DOMAIN), fill_blindly, same)
    assert found.highest()[0] == half
    assert sum(found.outputs.values()) == 1
    for output in found.outputs:
        for beliefs in found.given(output).values():
            assert sorted(beliefs.values()) == [half, half]
    with pytest.raises(ValueError, match="cannot occur"):
        found.given("something else")


def test_priors_weigh():
    tables = [({"p": "a"}, Fraction(3, 4)), ({"p": "b"}, Fraction(1, 4))]
    found = posterior(tables, lambda table, dice: "seen" if table["p"] == "a" or dice.integers(2) else "not", same)
    assert found.outputs == {"seen": Fraction(7, 8), "not": Fraction(1, 8)}
    assert found.given("seen") == {"p": {"a": Fraction(6, 7), "b": Fraction(1, 7)}}
    assert found.highest() == (1, "not", "p", "b")


def test_all_tables():
    tables = list(all_tables("pq", DOMAIN))
    assert len(tables) == 9
    assert sum(prior for _, prior in tables) == 1
    assert ({"p": "a", "q": "c"}, Fraction(1, 9)) in tables


def test_all_histories():
    attendance = [{"p", "q"}, {"q"}, {"p", "q"}]
    found = list(all_histories("pq", "ab", attendance, {"p": {2: True}, "q": {1: False}}))
    assert len(found) == 2 * 4
    assert sum(prior for _, prior in found) == 1
    for history, _ in found:
        assert [table.keys() for table in history] == attendance
        assert history[2]["p"] != history[0]["p"]
        assert history[1]["q"] == history[0]["q"]
    assert len({repr(history) for history, _ in found}) == len(found)
    assert list(all_histories("p", "a", [{"p"}, {"p"}], {"p": {1: True}})) == []
    with pytest.raises(ValueError, match="a change is known"):
        next(all_histories("p", "a", [{"p"}], {"p": {0: True}}))
    with pytest.raises(ValueError, match="not among"):
        next(all_histories("p", "a", [{"q"}]))


def test_bayes_over_a_series():
    # The signature {a, b}, then {b, c}, for somebody known to have changed: what the dice make of it is told.
    def publish(history, dice):
        seen = []
        for table in history:
            rest = [value for value in DOMAIN if value != table["p"]]
            seen.append(frozenset({table["p"], str(dice.choice(rest))}))
        return tuple(seen)

    tables = all_histories("p", DOMAIN, ["p", "p"], {"p": {1: True}})
    found = posterior(tables, publish, lambda history: {t: table["p"] for t, table in enumerate(history)})
    assert found.given((frozenset("ab"), frozenset("bc")))[0] == {"a": Fraction(2, 3), "b": Fraction(1, 3)}
    assert found.given((frozenset("ab"), frozenset("ab")))[0] == {"a": half, "b": half}
