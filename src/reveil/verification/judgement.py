"""Published values counted group by group, and the model asked again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.codes import Codes, SensitiveAttribute, encode_sensitive
from reveil.errors import VerificationError, excerpt
from reveil.groups import Groups, renumbered
from reveil.models.t_closeness import TCloseness
from reveil.release import COUNT, GROUP
from reveil.snapshot import canonical_text
from reveil.statistics import CodeArray, GroupStats, Histogram, Reference

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reveil.models.base import Model
    from reveil.release import Release
    from reveil.schema import Column
    from reveil.snapshot import Snapshot


def group_statistics(
    release: Release,
    values: Mapping[str, CodeArray],
    references: Mapping[str, Reference],
    *,
    placed: bool = False,
) -> GroupStats:
    """Count sizes and sensitive values per group, groups in the order of their numbers.

    ``values`` has one code per published sensitive value, in the order of :meth:`Release.group_values`, or with
    ``placed`` in the order of the rows. Counterfeits are values like others.
    """
    rows = release.classes if release.groups is None else release.groups
    numbers, groups = renumbered(rows if placed else release.group_values()[0])
    n_groups = len(numbers)
    sizes = np.bincount(groups, minlength=n_groups).astype(np.int64)
    histograms = {
        name: Histogram.of(groups, own, n_groups, len(references[name].counts)) for name, own in values.items()
    }
    return GroupStats(sizes, histograms, dict(references))


def describe_group(release: Release, number: int) -> str:
    """Name a group by its number where it has one, else by its published cells."""
    if release.groups is not None:
        return str(number)
    texts = {name: str(own.text[int(own.index[number])]) for name, own in release.cells.items()}
    return ", ".join(f"{name}={excerpt(text)}" for name, text in texts.items())


def check_groups(release: Release, model: Model, stats: GroupStats, groups: Groups) -> dict[str, Any]:
    """Ask the model about every group; return what the release achieves, or raise with the first group that fails."""
    if release.batch is not None:
        told = release.batch.group_by(GROUP).agg(pl.col(COUNT).sum()).sort(GROUP)
        if not (np.array_equal(told[GROUP], groups.numbers) and np.array_equal(told[COUNT], groups.rows)):
            raise VerificationError("the two tables do not have the same groups")
    elif release.groups is not None:
        _check_boxes(release, groups)
    for part in model.parts:
        if release.groups is None and not part.tags.union_closed:
            raise VerificationError(
                f"{part!r} cannot be judged on this table, which has no column {GROUP!r}",
                hint="Groups with equal boxes are one group to a reader, and the model does not survive that union.",
            )
        verdict = part.verdict(stats)
        if not verdict.all():
            worst = int(groups.numbers[np.flatnonzero(~verdict)[0]])
            raise VerificationError(
                f"the group {describe_group(release, worst)} does not satisfy {part!r}",
                hint=f"{int((~verdict).sum()):,} of {stats.n_groups:,} groups fail ({part.sentence()}).",
            )
    return model.achieved(stats)


def with_distances(achieved: dict[str, Any], stats: GroupStats, names: Iterable[str]) -> dict[str, Any]:
    """Add the ``t`` that is reached in some attributes, in their own distance, to what the model says of others."""
    known = achieved.get("t", {})
    more = {
        name: TCloseness(1, attribute=name).achieved(stats)["t"][name]
        for name in names
        if name in stats.histograms and name not in known
    }
    return {**achieved, "t": {**known, **more}} if more else achieved


def _check_boxes(release: Release, groups: Groups) -> None:
    """Check that the rows of a group have one box: beside the values, different ones would say who has which."""
    for name, own in release.cells.items():
        cell = own.index[release.classes]
        one = np.zeros(len(groups.numbers), cell.dtype)
        one[groups.index] = cell
        apart = np.flatnonzero(one[groups.index] != cell)
        if len(apart):
            number = int(groups.numbers[groups.index[apart[0]]])
            raise VerificationError(f"the group {number} has different cells in column {name!r}", column=name)


def published_values(
    release: Release,
    snapshot: Snapshot,
    codes: Codes,
    placement: npt.NDArray[np.integer] | None,
    *,
    loose: bool = False,
) -> dict[str, SensitiveAttribute]:
    """Return the code of each published sensitive value, and what the codes stand for."""
    published = release.group_values()[1]
    fakes = release.manifest["counterfeits"]["total"] > 0
    foreign = fakes or loose or (placement is None and release.manifest["dirty"] > 0)
    whole = None if release.batch is not None or fakes else placement
    found = {}
    for attribute in codes.sensitive:
        own, raw = published[attribute.name], snapshot.frame[attribute.name]
        if whole is not None and own.equals(raw.gather(whole), null_equal=True):
            found[attribute.name] = replace(attribute, codes=attribute.codes[whole])
        else:
            found[attribute.name] = _coded(own, raw, attribute, snapshot.schema[attribute.name], foreign=foreign)
    return found


def _coded(
    published: pl.Series, raw: pl.Series, attribute: SensitiveAttribute, column: Column, *, foreign: bool
) -> SensitiveAttribute:
    """Give published values the codes that the same values have in the snapshot; ``foreign`` rows may have others."""
    known = pl.DataFrame({"value": raw, "code": attribute.codes}).unique("value")
    rows = pl.DataFrame({"value": published})
    try:
        joined = rows.join(known, on="value", how="left", maintain_order="left", nulls_equal=True)
    except pl.exceptions.PolarsError:
        raise VerificationError(
            f"column {published.name!r} has another type than in the snapshot", column=published.name
        ) from None
    if not joined["code"].null_count():
        return replace(attribute, codes=joined["code"].to_numpy().astype(np.int32))
    declared = column.taxonomy.leaves if column.taxonomy is not None else column.order
    unknown = declared is not None and not canonical_text(published).drop_nulls().is_in(list(declared)).all()
    if not foreign or unknown:
        raise VerificationError(
            f"column {published.name!r} has published values that the snapshot does not have", column=published.name
        )
    known = known.drop_nulls("value").sort("value")
    if column.bins is None or not known.height:
        # Coded together with the snapshot's, new values find their place in the order.
        both = encode_sensitive(pl.concat([raw, published]), column)
        return replace(both, codes=both.codes[len(raw) :])
    # The bins are those of the snapshot; a new value is in that of the next larger one.
    bins = known["code"].to_numpy()
    place = known["value"].search_sorted(published.fill_null(known["value"][0])).to_numpy()
    inside = bins[np.minimum(place, len(bins) - 1)]
    own = np.where(published.is_null().to_numpy(), bins[-1] + 1, inside).astype(np.int32)
    return replace(attribute, codes=own, domain=int(bins[-1]) + 2)
