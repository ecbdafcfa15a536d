"""Sabotages of releases with a table for each sensitive column."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

import reveil as rv
from reveil.core.json_values import FrozenObject, frozen_object
from reveil.guarantees import assembly
from reveil.guarantees.signatures import columns, deciding_pairs, tau_safety
from reveil.releases.manifest_parts import Counterfeits
from tests.sabotage.registry import sabotage
from tests.sabotage.scenes import FRAME, LATER, released, series, told

SCHEMA = rv.Schema(person="pid", quasi=["age", "town"], sensitive=["ill", "drug"], plain="ward")
GUARANTEE = rv.TauSafety(m=2, form="angelized", independent=True)


def wider(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Give everybody a drug and a ward."""
    rng = np.random.default_rng(seed)
    drug = dict(zip(frame["pid"].to_list(), rng.integers(0, 7, frame.height).tolist(), strict=True))
    return frame.with_columns(
        drug=pl.col("pid").replace_strict(drug, return_dtype=pl.Int64).cast(pl.String) + "x",
        ward=pl.Series([f"w{v}" for v in rng.integers(0, 3, frame.height)]),
    )


FIRST = wider(FRAME, 1)
NEXT = wider(LATER, 2)


def published(tmp_path, frames=(FIRST, NEXT), guarantee=GUARANTEE) -> None:
    """Publish a series of such releases, and judge it anew."""
    series(tmp_path, guarantee, frames, schema=SCHEMA)


def changed(patch, place: int, change) -> None:
    """Let the table of one column be another one."""

    def wrong(made):
        seconds = list(made.release.seconds)
        seconds[place] = change(seconds[place])
        return replace(made, release=replace(made.release, seconds=tuple(seconds)))

    released(patch, wrong)


@sabotage("guarantee tau-safety")
def a_column_whose_signatures_are_forgotten(patch, tmp_path):
    right = rv.TauSafety.situation

    def wrong(self, memory, schema):
        none = np.zeros(0, np.int32)
        other = replace(memory, block_records=none, block_sets=none) if schema.sensitive == ("drug",) else memory
        return right(self, other, schema)

    patch.setattr(rv.TauSafety, "situation", wrong)
    published(tmp_path)


@sabotage("guarantee tau-safety", slow=True)
def signatures_of_columns_that_are_not_written_down(patch, tmp_path):
    right = columns.decide_columns

    def wrong(*given):
        made = right(*given)
        return replace(made, remembered=replace(made.remembered, told=made.remembered.told.filter(column="ill")))

    patch.setattr(tau_safety, "decide_columns", wrong)
    published(tmp_path)


@sabotage("guarantee tau-safety")
def groups_of_two_columns_with_one_number(patch, tmp_path):
    def wrong(made):
        one, two = made.release.seconds
        number = int(one.groups[0])
        old = int(two.groups[0])
        groups = np.where(two.groups == old, number, two.groups).astype(np.int32)
        batch = two.batch.with_columns(pl.col("group").replace(old, number)).sort("group", "drug")
        return replace(made, release=replace(made.release, seconds=(one, replace(two, groups=groups, batch=batch))))

    released(patch, wrong)
    published(tmp_path, [FIRST])


@sabotage("guarantee tau-safety")
def a_value_of_one_column_exchanged_between_groups(patch, tmp_path):
    def wrong(second):
        values = second.batch["drug"].to_list()
        of_group = second.batch["group"].to_list()
        other = next(at for at, value in enumerate(values) if value != values[0] and of_group[at] != of_group[0])
        values[0], values[other] = values[other], values[0]
        return replace(second, batch=second.batch.with_columns(drug=pl.Series(values)).sort("group", "drug"))

    changed(patch, 1, wrong)
    published(tmp_path, [FIRST])


@sabotage("guarantee tau-safety")
def a_row_in_a_group_of_somebody_else(patch, tmp_path):
    def wrong(second):
        groups = second.groups.copy()
        other = np.flatnonzero(groups != groups[0])[0]
        groups[0], groups[other] = groups[other], groups[0]
        return replace(second, groups=groups)

    changed(patch, 0, wrong)
    published(tmp_path, [FIRST])


@sabotage("guarantee tau-safety")
def counterfeits_of_one_column_that_are_not_counted(patch, tmp_path):
    patch.setattr(assembly, "_together", lambda counted: counted[0] if counted[0].total else Counterfeits())
    published(tmp_path)


@sabotage("guarantee tau-safety")
def boxes_for_the_smallest_m(patch, tmp_path):
    right = columns.tight_partition
    patch.setattr(columns, "tight_partition", lambda codes, real, m, rng: right(codes, real, m - 1, rng))
    published(tmp_path, [FIRST], rv.TauSafety(m={"ill": 2, "drug": 3}, form="angelized", independent=True, fixed=True))


@sabotage("guarantee tau-safety")
def a_smaller_m_for_one_column(patch, tmp_path):
    right = rv.TauSafety.of_column

    def wrong(self, name):
        return right(replace(self, m={"ill": 3, "drug": 2}), name)

    patch.setattr(rv.TauSafety, "of_column", wrong)
    published(tmp_path, [FIRST], rv.TauSafety(m={"ill": 3, "drug": 3}, form="angelized", independent=True, fixed=True))


@sabotage("guarantee tau-safety")
def a_bound_of_one_column_that_is_too_good(patch, tmp_path):
    told(
        patch,
        lambda manifest: replace(
            manifest, promise=replace(manifest.promise, bounds=FrozenObject({"ill": 0.5, "drug": 0.25}))
        ),
    )
    published(tmp_path, [FIRST])


@sabotage("guarantee tau-safety")
def independence_of_which_the_promise_says_nothing(patch, tmp_path):
    def wrong(manifest):
        promise = manifest.promise
        kept = tuple(word for word in promise.not_covered if "independent" not in word)
        return replace(manifest, promise=replace(promise, not_covered=kept))

    told(patch, wrong)
    published(tmp_path, [FIRST])


@sabotage("guarantee tau-safety")
def pairs_that_nobody_looks_at_and_nobody_declares(patch, tmp_path):
    patch.setattr(columns, "check_pairs", lambda *_, **__: None)
    right = rv.TauSafety.promise

    def wrong(self, schema, method):
        found = right(replace(self, independent=True), schema, method)
        settings = {key: value for key, value in found.settings.items() if key != "independent"}
        return replace(found, settings=frozen_object(settings))

    assert deciding_pairs.DECIDES
    patch.setattr(rv.TauSafety, "promise", wrong)
    published(tmp_path, [FIRST], rv.TauSafety(m=2, form="angelized"))


@sabotage("guarantee tau-safety")
def a_plain_value_of_somebody_else(patch, tmp_path):
    def wrong(made):
        values = made.release.values["ward"].to_list()
        return replace(made, release=replace(made.release, values=pl.DataFrame({"ward": [*values[1:], values[0]]})))

    released(patch, wrong)
    published(tmp_path, [FIRST])


@sabotage("guarantee tau-safety")
def a_counterfeit_in_a_row_of_the_first_table(patch, tmp_path):
    def wrong(made):
        release = made.release
        rows = np.append(np.arange(len(release.classes)), 0)
        seconds = tuple(replace(own, groups=own.groups[rows]) for own in release.seconds)
        other = replace(release, classes=release.classes[rows], values=release.values[rows], seconds=seconds)
        manifest = replace(release.manifest, rows=len(rows))
        return replace(made, release=other.under(manifest), placement=np.append(made.placement, -1))

    released(patch, wrong)
    published(tmp_path, [FIRST])


@sabotage("guarantee tau-safety")
def numbers_in_other_bins_than_declared(patch, tmp_path):
    from reveil.tables.snapshot import table

    right = table.in_bins
    patch.setattr(table, "in_bins", lambda series, edges: right(series + 1, edges))
    schema = rv.Schema(
        person="pid", quasi=["age", "town"], sensitive=["ill", "pay"], bins={"pay": [10, 20, 30, 40, 50, 60]}
    )
    frame = FRAME.with_columns(pay=pl.Series(np.random.default_rng(3).integers(0, 70, FRAME.height)))
    series(tmp_path, GUARANTEE, [frame], schema=schema)


@sabotage("guarantee tau-safety")
def a_joint_value_that_is_taken_apart(patch, tmp_path):
    right = columns.split_values

    def wrong(joined, types):
        found = right(joined, types)
        return found.with_columns(pl.col("drug").reverse())

    patch.setattr(columns, "split_values", wrong)
    published(tmp_path, [FIRST], rv.TauSafety(m=2, form="angelized", together=[["ill", "drug"]]))
