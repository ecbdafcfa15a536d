"""Values that look alike: ``flu``, ``flu `` and ``Flu`` are one value, and one spelling of it is published.

Told apart, they would make a group diverse in which everybody has flu; and a spelling that is published is a
fingerprint of who wrote it. So texts are *folded*: compatibility forms (NFKC), case and invisible characters do not
count, and white space is trimmed and joined. What a column declares (its order, its hierarchy, a domain) or has told
before fixes the spelling; else it is the one that most of its records have, the smallest of equally frequent ones. That
choice depends on how often each spelling occurs and never on who wrote which.

Folding is by value, not by cell: the distinct texts of a column are folded, however many records there are.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# What shows nothing tells no two texts apart: controls that are no white space, what Unicode calls default ignorable,
# marks of annotations, controls of hieroglyphs, and a note without a head. Fillers are among the ignorable ones.
_CONTROLS = r"\x00-\x08\x0e-\x1b\x7f"
_INVISIBLE = re.compile(
    f"[{_CONTROLS}\x80-\x84\x86-\x9f"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_BLANK = "\u2800"  # a cell of braille without a dot: a gap like a space, but no white space to Unicode
_SPACE = rf"[\s\x1c-\x1f{_BLANK}]+"  # what str.split takes for white space, and that


def fold_text(text: str) -> str:
    """Return what a text is compared by.

    >>> fold_text(" Flu  Type B "), fold_text("STRASSE") == fold_text("straße")
    ('flu type b', True)
    """
    while True:  # a case fold can leave what NFKC changes again, and NFKC a space at the end
        plain = unicodedata.normalize("NFKC", text).casefold().replace(_BLANK, " ")
        found = " ".join(_INVISIBLE.sub("", plain).split())
        if found == text:
            return found
        text = found


def fold_distinct(texts: pl.Series) -> pl.Series:
    """Fold texts that are all different, or nearly: each is folded by itself; null stays null."""
    if texts.is_empty():
        return texts
    text = pl.col("text")
    shown = text.str.to_lowercase().str.replace_all(f"[{_CONTROLS}]", "").str.replace_all(_SPACE, " ")
    # In one query: for few texts, each query takes longer than its work.
    table = texts.to_frame("text").select_seq(
        found=shown.str.strip_chars(" "),
        simple=(text.str.len_bytes() == text.str.len_chars()).fill_null(value=True),
    )
    found, simple = table["found"].rename(texts.name), table["simple"]
    if simple.all():
        return found
    others = pl.Series([fold_text(text) for text in texts.filter(~simple)], dtype=pl.String)
    return found.scatter((~simple).arg_true(), others)


def folded(cells: pl.Series) -> pl.Series:
    """Fold a column of text."""
    distinct = cells.drop_nulls().unique()
    return _replaced(cells, distinct, fold_distinct(distinct))


def one_spelling(cells: pl.Series, known: Iterable[str] = (), missing: Iterable[str] = ()) -> pl.Series:
    """Write each value of a column of text in one way: as ``known`` does, the first of which wins, or as most do.

    A blank text is a missing value, as it is in a file, unless it is known as a value. So is what looks like a mark for
    ``missing`` cells, known or not: else those who have none could be told apart, and pass for diverse.
    """
    distinct = cells.drop_nulls().unique()
    table = spelling_of_each(
        distinct, lambda: cells.alias("text").to_frame().group_by("text").len("records"), known, missing
    )
    return _replaced(cells, table["text"], table["spelling"])


def spelling_of_each(
    distinct: pl.Series, counted: Callable[[], pl.DataFrame], known: Iterable[str] = (), missing: Iterable[str] = ()
) -> pl.DataFrame:
    """Return each of some different texts with its ``spelling``; ``counted`` says how many ``records`` have it."""
    table = pl.DataFrame({"text": distinct, "fold": fold_distinct(distinct)})
    table = table.join(spellings(known), on="fold", how="left")
    table = table.with_columns(tidy=pl.col("text").str.replace_all(_SPACE, " ").str.strip_chars(" "))
    open_ = table.filter(pl.col("spelling").is_null())
    if open_["fold"].n_unique() < open_.height:
        most = (
            open_.join(counted(), on="text")
            .group_by("fold", "tidy")
            .agg(pl.col("records").sum())
            .sort("records", "tidy", descending=[True, False])
            .unique("fold", keep="first", maintain_order=True)
        )
        table = table.join(most.select("fold", most="tidy"), on="fold", how="left")
    else:
        table = table.with_columns(most=pl.col("tidy"))
    blank = pl.when(pl.col("fold") != "").then(pl.col("most"))
    marks = fold_distinct(pl.Series(list(missing), dtype=pl.String)).implode()
    return table.with_columns(
        spelling=pl.when(~pl.col("fold").is_in(marks)).then(pl.coalesce("spelling", blank)),
    )


def spellings(known: Iterable[str]) -> pl.DataFrame:
    """Return the texts by what they are compared by: ``fold`` and ``spelling``, the first of those that look alike."""
    texts = pl.Series("spelling", list(known), dtype=pl.String).unique(maintain_order=True)
    return pl.DataFrame({"fold": fold_distinct(texts), "spelling": texts}).unique(
        "fold", keep="first", maintain_order=True
    )


def spelled_as(cells: pl.Series, known: Iterable[str]) -> pl.Series:
    """Write the values that are known as they are known, and leave the others as they are."""
    distinct = cells.drop_nulls().unique()
    table = pl.DataFrame({"text": distinct, "fold": fold_distinct(distinct)}).join(
        spellings(known), on="fold", how="left"
    )
    return _replaced(cells, table["text"], table.select(pl.coalesce("spelling", "text")).to_series())


def alike(texts: Iterable[str]) -> int:
    """Return how many of some different texts look like another one that came before."""
    found = pl.Series(list(texts), dtype=pl.String).unique()
    return len(found) - fold_distinct(found).n_unique()


def _replaced(cells: pl.Series, before: pl.Series, after: pl.Series) -> pl.Series:
    """Replace texts by others; a column in which nothing changes is handed back as it is."""
    if before.equals(after):
        return cells
    differs = (before != after).fill_null(value=True)
    return cells.replace(before.filter(differs), after.filter(differs))
