"""Does everybody keep their signature? The rule of tau-safety, checked from published values and placements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.errors import VerificationError
from reveil.snapshot import canonical_text

if TYPE_CHECKING:
    import numpy.typing as npt

    from reveil.release import Release


def check_signatures(
    release: Release, placement: npt.NDArray[np.integer], told: pl.DataFrame, blocks: pl.DataFrame
) -> None:
    """Raise unless every person's new signature equals each one they were told before, or shares nothing with it.

    ``placement[row]`` is the record of a row, -1 for counterfeits. ``told`` has the columns ``record`` and ``block``:
    the signatures that each record's person was in. ``blocks`` has ``block`` and the text of each ``value`` in it.
    Nothing is taken from the code that made the groups: signatures are read off the published values.
    """
    if release.groups is None:
        raise VerificationError("a release with signatures needs a column of groups")
    groups, values = release.group_values()
    texts = canonical_text(values.to_series())
    names = texts.unique()
    place = pl.DataFrame({"value": names, "code": np.arange(1, len(names) + 1)})
    code = _codes(texts, place)
    # The values of each group, group by group.
    order = np.argsort(groups, kind="stable")
    ends = np.cumsum(np.bincount(groups, minlength=int(groups.max(initial=0)) + 1))
    sizes = np.diff(ends, prepend=0)
    members = code[order]
    # Values of blocks that are not in the release have the code 0, which no group has.
    block = blocks["block"].to_numpy().astype(np.int64)
    room = len(names) + 1
    known = np.sort(block * room + _codes(blocks["value"], place))
    block_sizes = np.bincount(block)
    # Persons of one group were mostly told the same: each pair of a group and a block is looked at once.
    group_of = np.full(max(int(placement.max(initial=-1)), int(told["record"].max() or 0)) + 1, -1, np.int64)  # type: ignore[arg-type]
    group_of[placement[placement >= 0]] = release.groups[placement >= 0]
    met = group_of[told["record"].to_numpy()]
    span = len(block_sizes) + 1
    key, persons = np.unique(met[met >= 0] * span + told["block"].to_numpy()[met >= 0], return_counts=True)
    group, before = key // span, key % span
    starts = np.concatenate([[0], np.cumsum(sizes[group])])
    inside = np.arange(starts[-1]) - np.repeat(starts[:-1], sizes[group])
    own = members[np.repeat(ends[group] - sizes[group], sizes[group]) + inside]
    wanted = np.repeat(before, sizes[group]) * room + own
    found = np.searchsorted(known, wanted)
    hit = (found < len(known)) & (known[np.minimum(found, len(known) - 1)] == wanted) if len(known) else wanted < 0
    common = np.bincount(np.repeat(np.arange(len(key)), sizes[group])[hit], minlength=len(key))
    broken = (common > 0) & ((common != sizes[group]) | (common != block_sizes[before]))
    if broken.any():
        raise VerificationError(
            f"{int(persons[broken].sum()):,} persons would get a signature that is neither equal to one they were told "
            "nor shares nothing with it",
            hint="This release is not safe and was not published. Please report it.",
        )


def check_alone(release: Release, placement: npt.NDArray[np.integer], alone: pl.DataFrame) -> None:
    """Raise unless whoever must be alone in a group is.

    ``alone`` has the columns ``record`` and ``value``, a text: with this value in the release, the record's group has
    no other record.
    """
    if not alone.height:
        return
    if release.groups is None:
        raise VerificationError("a release with signatures needs a column of groups")
    groups, values = release.group_values()
    rows = pl.DataFrame({"group": groups, "value": canonical_text(values.to_series())}).unique()
    real = placement >= 0
    placed = pl.DataFrame({"record": placement[real].astype(np.int64), "group": release.groups[real]})
    crowded = placed.filter(pl.len().over("group") > 1)
    met = alone.cast({"record": pl.Int64}).join(crowded, on="record")
    met = met.join(rows.cast({"group": met.schema["group"]}), on=["group", "value"], nulls_equal=True)
    if met.height:
        raise VerificationError(
            f"{met['record'].n_unique():,} persons would share a group that they have to be alone in",
            hint="This release is not safe and was not published. Please report it.",
        )


def _codes(texts: pl.Series, place: pl.DataFrame) -> npt.NDArray[np.int64]:
    """Return the code of each text, 0 for those that have none."""
    joined = (
        texts.alias("value").to_frame().join(place, on="value", how="left", maintain_order="left", nulls_equal=True)
    )
    return joined["code"].fill_null(0).to_numpy().astype(np.int64)
