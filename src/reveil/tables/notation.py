"""The notation of published cells: typed columns to text and back.

=========== ======================= ================================= =======================
form        typed (Parquet)         text (CSV)                        null among others
=========== ======================= ================================= =======================
``interval`` struct lo, hi, null    ``21`` or ``[21, 23]``            ``[21, 23] | null``
``set``     list                    ``a`` or ``{a, b}``               ``{a, b} | null``
``label``   text                    the label of a taxonomy node      ``Europe | null``
``value``   the column's own type   the value as it is
``foreign`` text                    as another tool wrote it
=========== ======================= ================================= =======================

A cell that is null alone is empty. Text that would read as something else is written as a JSON string: text that
is empty, ``*``, begins like an interval, a set or a quote, ends like a null among others, holds control
characters, or begins like a formula (a spreadsheet would run it) or with a mark that is not seen (a byte order mark,
which programs swallow, and what follows it may be a formula). In a set also text with a comma, brace or quote.
Every function here works on columns of *distinct* cells; rows are gathered from them.
"""

from __future__ import annotations

import json
import re
from enum import StrEnum

import polars as pl

from reveil.tables import marks
from reveil.tables.snapshot import canonical_text

OR_NULL = " | null"
SUPPRESSED = "*"
SUPPRESSED_VALUE = marks.SUPPRESSED_VALUE
_READS_OTHERWISE = r'^$|^\*$|^[\[{"=+\-@\t\r\p{Cf}]|[\x00-\x1f\x7f]| \| null$|^\s|\s$'
_IN_SET = r'[,{}\[\]"]'
_SET_PART = re.compile(r' ?("(?:[^"\\]|\\.)*"|[^,]+)')


class Form(StrEnum):
    """What the cells of a published column look like."""

    INTERVAL = "interval"
    SET = "set"
    LABEL = "label"
    VALUE = "value"
    FOREIGN = "foreign"


def quoted(text: pl.Series, pattern: str = _READS_OTHERWISE) -> pl.Series:
    """Write as JSON strings the texts that would read as notation or as a formula."""
    strange = text.str.contains(pattern)
    if not strange.any():
        return text
    distinct = text.filter(strange.fill_null(False)).unique()
    mapping = {value: json.dumps(value, ensure_ascii=False) for value in distinct if value != SUPPRESSED_VALUE}
    return text.replace({**mapping, SUPPRESSED_VALUE: SUPPRESSED})


def unquoted(text: pl.Series) -> pl.Series:
    """Undo :func:`quoted`."""
    strange = text.str.starts_with('"')
    if not strange.any():
        return text
    distinct = text.filter(strange.fill_null(False)).unique()
    return text.replace({value: json.loads(value) for value in distinct})


def to_text(cells: pl.Series, form: Form) -> pl.Series:
    """Write typed cells as text."""
    if form is Form.INTERVAL:
        return _intervals_to_text(cells)
    if form is Form.SET:
        return _sets_to_text(cells)
    if form is Form.VALUE and cells.dtype == pl.String:
        return quoted(cells)
    return canonical_text(cells)  # labels and foreign cells are notation already, other values have none


def from_text(text: pl.Series, form: Form, dtype: pl.DataType) -> pl.Series:
    """Read text cells as typed ones; ``dtype`` is that of the column's values. Unreadable text raises ValueError."""
    if form is Form.INTERVAL:
        return _intervals_from_text(text, dtype)
    if form is Form.SET:
        return _sets_from_text(text)
    if form is Form.VALUE and dtype == pl.String:
        values = unquoted(text)
        hidden = text == SUPPRESSED
        if not hidden.any():
            return values
        return values.zip_with(~hidden.fill_null(False), pl.Series([SUPPRESSED_VALUE]).new_from_index(0, len(text)))
    return text if form in (Form.LABEL, Form.FOREIGN) else parsed(text, dtype)


def label_cells(labels: pl.Series, null: pl.Series, *, exact: pl.Series) -> pl.Series:
    """Build typed label cells. ``exact`` marks leaves: raw values, quoted where they read as notation."""
    plain = quoted(labels, r'^["=+\-@\t\r\p{Cf}]|[\x00-\x1f\x7f]| \| null$')
    return _or_null(pl.select(pl.when(exact).then(quoted(labels)).otherwise(plain)).to_series(), null)


def split_label(cells: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Split label cells into the labels and whether null is admitted."""
    text, null = _split_null(cells)
    return unquoted(text), null


def parsed(text: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Read values of a type from their canonical text; text stays as it is."""
    try:
        if dtype == pl.Boolean:
            return text.replace_strict({"true": True, "false": False}, return_dtype=pl.Boolean)
        if dtype == pl.Date:
            return text.str.to_date("%Y-%m-%d")
        if dtype == pl.Time:
            return text.str.to_time("%H:%M:%S%.f")
        if isinstance(dtype, pl.Datetime):
            zone = "" if dtype.time_zone is None else "%:z"
            return text.str.to_datetime(f"%Y-%m-%dT%H:%M:%S%.f{zone}", time_unit=dtype.time_unit).cast(dtype)
        return text.cast(dtype)
    except (pl.exceptions.PolarsError, ValueError):
        raise ValueError("a cell cannot be read") from None


def _or_null(text: pl.Series, null: pl.Series) -> pl.Series:
    if not null.any():
        return text
    return pl.select(pl.when(null & text.is_not_null()).then(text + OR_NULL).otherwise(text)).to_series()


def _split_null(text: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Split off the mark of a null among others; a null cell admits null alone."""
    x = pl.col("x")
    marked = (x.str.ends_with(OR_NULL) & ~x.str.starts_with('"').fill_null(False)) | x.str.ends_with('"' + OR_NULL)
    parts = text.to_frame("x").select_seq(
        bare=pl.when(marked).then(x.str.strip_suffix(OR_NULL)).otherwise(x), null=marked.fill_null(True)
    )
    return parts["bare"].rename(text.name), parts["null"].rename(text.name)


def _intervals_to_text(cells: pl.Series) -> pl.Series:
    fields = cells.struct.unnest()
    lo, hi = canonical_text(fields["lo"]), canonical_text(fields["hi"])
    interval = pl.select(
        pl.when(lo == hi).then(lo).otherwise(pl.concat_str(pl.lit("["), lo, pl.lit(", "), hi, pl.lit("]")))
    )
    return _or_null(interval.to_series(), fields["null"]).alias(cells.name)


def _intervals_from_text(text: pl.Series, dtype: pl.DataType) -> pl.Series:
    bare, null = _split_null(text)
    x = pl.col("x")
    ends = x.str.strip_prefix("[").str.strip_suffix("]").str.split_exact(", ", 1)
    first, second = ends.struct.field("field_0"), ends.struct.field("field_1")
    found = bare.to_frame("x").select_seq(lo=first, hi=pl.when(x.str.starts_with("[")).then(second).otherwise(first))
    lo, hi = parsed(found["lo"], dtype), parsed(found["hi"], dtype)
    return pl.DataFrame({"lo": lo, "hi": hi, "null": null}).to_struct(text.name)


def _sets_to_text(cells: pl.Series) -> pl.Series:
    members = cells.explode(empty_as_null=True)
    if members.dtype == pl.String and not _needs_care(members):
        return _plain_sets_to_text(cells)
    frame = pl.DataFrame({"cell": pl.Series(range(len(cells)), dtype=pl.UInt32), "value": cells}).explode("value")
    text = canonical_text(frame["value"])
    frame = frame.with_columns(one=quoted(text), member=quoted(text, _READS_OTHERWISE + "|" + _IN_SET))
    merged = frame.group_by("cell", maintain_order=True).agg(
        pl.col("one").drop_nulls().first(),
        pl.col("member").drop_nulls().str.join(", "),
        pl.col("member").is_not_null().sum().alias("count"),
        pl.col("value").is_null().any().alias("null"),
    )
    several = pl.concat_str(pl.lit("{"), "member", pl.lit("}"))
    cell = pl.when(pl.col("count") > 1).then(several).when(pl.col("count") == 1).then("one")
    return _or_null(merged.select(cell).to_series(), merged["null"]).alias(cells.name)


def _needs_care(members: pl.Series) -> bool:
    """Return whether some of the members are quoted in a set, or written otherwise than they stand here."""
    return canonical_text(members) is not members or bool(members.str.contains(_READS_OTHERWISE + "|" + _IN_SET).any())


def _plain_sets_to_text(cells: pl.Series) -> pl.Series:
    """Write sets of which no member needs quotes; most sets are such, and this is far less work."""
    named = pl.col("x").list.drop_nulls()
    count, joined = named.list.len(), named.list.join(", ")
    several = pl.concat_str(pl.lit("{"), joined, pl.lit("}"))
    cell = pl.when(count > 1).then(several).when(count == 1).then(joined)
    marked = pl.when(pl.col("x").list.len() > count).then(cell + OR_NULL).otherwise(cell)
    return cells.to_frame("x").select_seq(marked).to_series().alias(cells.name)


def _plain_sets_from_text(text: pl.Series) -> pl.Series:
    """Read sets in which nothing is quoted."""
    x, none = pl.col("x"), pl.lit(pl.Series([[None]], dtype=pl.List(pl.String)))
    marked = x.str.ends_with(OR_NULL)
    bare = pl.when(marked).then(x.str.strip_suffix(OR_NULL)).otherwise(x)
    found = text.to_frame("x").select_seq(bare.alias("x"), null=marked)
    inside = x.str.slice(1, x.str.len_chars() - 2)
    several = x.str.starts_with("{") & x.str.ends_with("}")
    lists = pl.when(several).then(inside.str.split(", ")).when(x.is_not_null()).then(pl.concat_list(x))
    found = found.select_seq(lists.alias("x"), "null")
    with_null = pl.when(pl.col("null")).then(x.list.concat(none)).when(x.is_null()).then(none).otherwise(x)
    return found.select_seq(with_null).to_series().alias(text.name)


def _sets_from_text(text: pl.Series) -> pl.Series:
    if not text.str.contains('"', literal=True).any():
        return _plain_sets_from_text(text)
    bare, null = _split_null(text)
    x = pl.col("x")
    is_several, inside = x.str.starts_with("{") & x.str.ends_with("}"), x.str.slice(1, x.str.len_chars() - 2)
    found = bare.to_frame("x").select_seq(
        several=is_several, inner=inside, quotes=is_several & inside.str.contains('"', literal=True)
    )
    several, inner, quotes = found.get_columns()
    lists = pl.select(
        pl.when(several).then(inner.str.split(", ")).when(bare.is_not_null()).then(pl.concat_list(unquoted(bare)))
    ).to_series()
    if quotes.any():
        # Only sets with quoted members go through Python, and there are as many as there are distinct cells.
        parts = {cell: _members(cell) for cell in inner.filter(quotes.fill_null(False)).unique()}
        members = pl.Series([parts.get(cell) for cell in inner], dtype=pl.List(pl.String))
        lists = pl.select(pl.when(quotes).then(members).otherwise(lists)).to_series()
    with_null = pl.select(
        pl.when(null & lists.is_not_null())
        .then(lists.list.concat(pl.Series([[None]], dtype=pl.List(pl.String))))
        .when(null)
        .then(pl.Series([[None]], dtype=pl.List(pl.String)))
        .otherwise(lists)
    )
    return with_null.to_series().alias(text.name)


def _members(inner: str) -> list[str]:
    return [json.loads(part) if part.startswith('"') else part for part in _SET_PART.findall(inner)]
