"""Keyed digests of many texts: what hmac says of each, and the same numbers where there are no rounds to call."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from reveil.core.kernels import keyed_digests
from reveil.vault import keys
from reveil.vault.keys import Key

TEXTS = [*map(str, range(2_000)), *("x" * n for n in range(300)), "", "é", "日本", "a" * 5_000]


def test_digests_are_those_of_hmac() -> None:
    """Of every length around the ends of blocks, of none, and of letters of several bytes."""
    if not keyed_digests.are_possible():
        pytest.skip("the library of this Python does not show its rounds")
    key = bytes(range(32))
    content = [text.encode() for text in TEXTS]
    out = np.empty((len(content), 2), np.int64)
    offsets = np.cumsum([0, *map(len, content)]).astype(np.int64)
    keyed_digests.digests(np.frombuffer(b"".join(content), np.uint8), offsets, *keyed_digests.halves(key), out)
    assert out.tolist() == [keyed_digests.plain(key, text).tolist() for text in content]


@pytest.mark.parametrize("possible", [True, False])
def test_pseudonyms_do_not_depend_on_how_they_are_made(possible: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once or one by one, in pieces or not, under a key that took the place of another one, too."""
    if not possible:
        monkeypatch.setattr(keyed_digests, "are_possible", lambda: False)
    key = Key(bytes(range(32)), Key(bytes(range(1, 33))))
    persons = pl.Series(TEXTS)
    few = key.pseudonyms(persons)
    monkeypatch.setattr(keys, "MANY", 700)
    monkeypatch.setattr(keys, "PIECE", 300)
    many = key.pseudonyms(persons)
    for one, other in zip(few, many, strict=True):
        assert np.array_equal(one, other)


def test_a_library_that_shows_nothing_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then digests are made one by one."""
    monkeypatch.setattr(keyed_digests, "_address", lambda: None)
    keyed_digests.are_possible.cache_clear()
    assert not keyed_digests.are_possible()
    keyed_digests.are_possible.cache_clear()


def test_rounds_that_give_something_else_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library whose numbers are others is left alone."""
    monkeypatch.setattr(keyed_digests, "plain", lambda key, text: np.zeros(2, np.int64))
    keyed_digests.are_possible.cache_clear()
    assert not keyed_digests.are_possible()
    monkeypatch.undo()
    keyed_digests.are_possible.cache_clear()
