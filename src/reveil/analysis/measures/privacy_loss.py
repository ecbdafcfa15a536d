"""The largest distance of any group to the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from reveil.analysis.measures.base import Meaning, Subject, Sum, SummedMeasure, Sums
from reveil.core.errors import DataError
from reveil.core.json_values import objects_in
from reveil.models.domains import SensitiveDomain
from reveil.models.encoding import SensitiveAttribute, encode_sensitive
from reveil.models.statistics import Histogram, Reference
from reveil.models.t_closeness import earth_movers_distance
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from reveil.core.json_values import JSON


class PrivacyLoss(SummedMeasure):
    """``privacy_loss``: per sensitive attribute, how far the farthest group is from the table.

    *Definition*: the largest earth mover's distance between the values of a group and those of all published rows,
    by the taxonomy of the attribute, else by its order, else all values equally far; or as the guarantee asks.
    *Range*: 0 (groups like the table) to 1; smaller tells less about persons. *Suppressed and withheld records* are
    not in the table a reader compares with. *Counterfeits* are rows like others: a reader cannot tell them.
    *Source*: 002 (Li, Li, Venkatasubramanian 2007).
    """

    meanings: ClassVar = {"privacy_loss": Meaning("largest distance of a group to the table", "smaller")}
    place: ClassVar = 90

    def of_classes(self, subject: Subject) -> Sums:
        """Measure every sensitive attribute that is published."""
        published = [name for name in subject.schema.sensitive if name in subject.published_values[1].columns]
        return {name: _largest(subject, name) for name in published}

    def merged(self, found: Sequence[Sum]) -> Sum:
        """Return the largest."""
        return max(float(one) for one in found)

    def reason_against_parts(self, subject: Subject) -> str | None:
        """Bins of a column are looked for in the whole table."""
        binned = [name for name in subject.schema.sensitive if isinstance(subject.schema[name].bins, int)]
        return f"the bins of column {binned[0]!r} are those of the whole table" if binned else None

    def figures(self, sums: Mapping[str, Sum], subject: Subject) -> Mapping[str, JSON]:
        """Return what was found by attribute."""
        found: dict[str, JSON] = {name: float(sums[name]) for name in subject.schema.sensitive if name in sums}
        return {"privacy_loss": found}


def _largest(subject: Subject, name: str) -> float:
    groups = len(subject.group_rows)
    if not groups:
        return 0.0
    values, known = subject.published_values[1][name], subject.published_domain(name)
    if known is None:
        attribute = _encoded(subject, name)
        reference = attribute.reference()
    else:
        attribute, reference = SensitiveAttribute(known[0], known[0].code(values)), known[1]
    histogram = Histogram.of(subject.published_values[0], attribute.codes, groups, attribute.domain)
    numerator, denominator = earth_movers_distance(histogram, reference, _distance(subject, name, reference))
    return float((numerator.astype(np.float64) / denominator.astype(np.float64)).max())


def _distance(subject: Subject, name: str, reference: Reference) -> str | None:
    """Return the distance that the guarantee names for an attribute, where the attribute has it."""
    guarantee: dict[str, JSON] = dict(subject.release.manifest.promise.guarantee())
    possible = {"equal": True, "ordered": reference.ordered, "taxonomy": reference.levels is not None}
    for part in (guarantee, *objects_in(guarantee.get("all"))):
        t = part.get("t")
        concerns = name in t if isinstance(t, Mapping) else t is not None
        if concerns and possible.get(str(part.get("distance")), False):
            return str(part["distance"])
    return None


def _encoded(subject: Subject, name: str) -> SensitiveAttribute:
    """Give published values codes of their own; bins are those of the snapshot, as for the model."""
    column, values = subject.schema[name], subject.published_values[1][name]
    declared = column.taxonomy.leaves if column.taxonomy is not None else column.order
    if declared is not None and not canonical_text(values).drop_nulls().is_in(list(declared)).all():
        raise DataError(
            f"column {name!r} has published values that the config does not know",
            column=name,
            hint="Use the config with which it was published.",
        )
    if column.bins is None:
        return encode_sensitive(values, column)
    raw = subject.snapshot.frame[name]
    known = (
        pl.DataFrame({"value": raw, "code": encode_sensitive(raw, column).codes}).drop_nulls("value").unique("value")
    )
    if not known.height:
        return encode_sensitive(values, column)
    known = known.sort("value")
    place = known["value"].search_sorted(values.fill_null(known["value"][0])).to_numpy()
    bins = known["code"].to_numpy()
    codes = np.where(values.is_null().to_numpy(), bins[-1] + 1, bins[np.minimum(place, len(bins) - 1)])
    return SensitiveAttribute(SensitiveDomain(name, int(bins[-1]) + 2, ordered=True), codes.astype(np.int32))
