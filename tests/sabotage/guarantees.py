"""Guarantees that forget, count wrongly, or keep their rule by halves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

import reveil as rv
from reveil.core.arrays import Ragged
from reveil.core.json_values import frozen_object
from reveil.guarantees import assembly, draft
from reveil.guarantees.lifetime import global_release, strategies
from reveil.guarantees.refinement import judging, making
from reveil.guarantees.signatures import forms, searching, tau_safety
from reveil.guarantees.signatures.sets import Sets
from reveil.guarantees.worlds import possible_worlds
from reveil.releases.manifest_parts import Counterfeits
from reveil.series import assembly_line
from tests.sabotage.registry import sabotage
from tests.sabotage.scenes import CHANGED, FRAME, LAST, LATER, PEOPLE, PLAIN, anonymized, people, released, series, told

GLOBAL = rv.GlobalGuarantee(l=2, strategy=rv.ConstantRatio(releases=3))
GROWN = pl.concat([FRAME, people(24, 200, 7)])
SERIES = {
    "global": (GLOBAL, [FRAME, FRAME, FRAME, FRAME]),
    "m-invariance": (rv.MInvariance(m=2), [FRAME, LATER]),
    "refinement": (rv.Refinement(k=3, l=2), [FRAME, LATER, CHANGED]),
    "tau-safety": (rv.TauSafety(m=2), [FRAME, LATER, CHANGED]),
    "worlds": (rv.PossibleWorlds(l=3), [FRAME, GROWN]),
}
NONE = np.zeros(0, np.int32)


def drafted(patch, cls, change):
    """Let a guarantee hand over something else than it decided."""
    right = cls.decide
    patch.setattr(cls, "decide", lambda self, *args: change(right(self, *args)))


def promised(**changes):
    """Return what promises something else."""
    return lambda manifest: replace(manifest, promise=replace(manifest.promise, **changes))


def over_each_series(kind):
    """What can be done to every guarantee that remembers."""
    guarantee, frames = SERIES[kind]
    cls = type(guarantee)
    about = f"guarantee {kind}"

    @sabotage(about, name=f"{kind} writes nothing into its ledgers", slow=kind not in ("tau-safety", "global"))
    def silent(patch, tmp_path):
        drafted(patch, cls, lambda made: replace(made, remembered=replace(made.remembered, told=None, entries=())))
        series(tmp_path, guarantee, frames)

    @sabotage(about, name=f"{kind} forgets what was told", slow=kind not in ("m-invariance", "refinement"))
    def forgets(patch, tmp_path):
        right = cls.decide

        def wrong(self, request, rng):
            memory = request.memory
            nobody = np.zeros_like(memory.present)
            empty = replace(
                memory,
                present=nobody,
                changed=nobody,
                sets=Sets(Ragged.of_lengths([], NONE)),
                block_records=NONE,
                block_sets=NONE,
                book=_Blank(memory.book),
            )
            return right(self, replace(request, memory=empty), rng)

        patch.setattr(cls, "decide", wrong)
        series(tmp_path, guarantee, frames)

    @sabotage(about, name=f"{kind} names a wrong previous release", slow=True)
    def misplaced(patch, tmp_path):
        _wrong_previous(patch)
        series(tmp_path, guarantee, frames[:2])

    @sabotage(about, name=f"{kind} claims a grade it does not have", slow=True)
    def graded(patch, tmp_path):
        told(patch, promised(grade="exact"))
        series(tmp_path, guarantee, frames[:1])

    @sabotage(about, name=f"{kind} claims another number in words", slow=True)
    def worded(patch, tmp_path):
        told(patch, promised(claim="Nobody is told with more than 1/99."))
        series(tmp_path, guarantee, frames[:1])

    @sabotage(about, name=f"{kind} holds back a record and does not count it", slow=True)
    def uncounted(patch, tmp_path):
        def change(made):
            release, last = made.release, len(made.placement) - 1
            keep = np.arange(last)
            cut = replace(
                release,
                manifest=replace(release.manifest, rows=last),
                classes=release.classes[keep],
                values=release.values[keep],
                groups=None if release.groups is None else release.groups[keep],
            )
            cut = cut.under(replace(release.manifest, rows=last))
            return replace(made, release=cut, placement=made.placement[keep])

        released(patch, change)
        series(tmp_path, guarantee, frames[:1])

    @sabotage(about, name=f"{kind} swaps the values of two rows", slow=True)
    def swaps(patch, tmp_path):
        def change(made):
            values = made.release.values["ill"]
            row = int((values != values[0]).arg_max())
            swapped = values.scatter([0, row], [values[row], values[0]])
            return replace(made, release=replace(made.release, values=pl.DataFrame([swapped])))

        released(patch, change)
        series(tmp_path, guarantee, frames[:1])


class _Blank:
    """A book in which nothing was ever written."""

    def __init__(self, book) -> None:
        self._book = book

    def __getattr__(self, name):
        return getattr(self._book, name)

    def of_records(self, ledger):
        return self._book.of_records(ledger).clear()

    def rows(self, ledger, column=None, among=None):
        return self._book.rows(ledger, column, among).clear()


def _wrong_previous(patch) -> None:
    told(patch, lambda manifest: replace(manifest, previous="sha256:" + "0" * 64))


for _kind in SERIES:
    over_each_series(_kind)


# Static


@sabotage("guarantee static")
def a_wrong_previous_of_a_static_release(patch, tmp_path):
    _wrong_previous(patch)
    series(tmp_path, rv.Static(k=3), [FRAME, LATER])


def lying(title, change):
    """A manifest of a static release that says something else."""

    @sabotage("guarantee static", "manifest", name=title)
    def run(patch, tmp_path):
        told(patch, change)
        anonymized(rv.KAnonymity(4) & rv.DistinctDiversity(2))


def of(**changes):
    return lambda manifest: replace(manifest, **changes)


def promising(**changes):
    def change(manifest):
        return promised(settings=frozen_object({**manifest.promise.settings, **changes}))(manifest)

    return change


lying("a promise of a smaller k", promising(k=2))
lying("a promise of a larger k", promising(k=40))
lying("a promise of a smaller l", promising(l=1))
lying("a promise without a judge", promising(delta_presence=0.1))
lying("a grade that is not had", promised(grade="blind"))
lying("another kind of guarantee", promised(kind="refinement"))
lying(
    "a claim of another k",
    lambda m: promised(claim=m.promise.claim.replace("at least 4 records", "at least 40 records"))(m),
)
lying("suppressed records that are not", of(suppressed=1))
lying("withheld records that are not", of(withheld=1))
lying("dirty records that are not", of(dirty=1))
lying("counterfeits that are not", of(counterfeits=Counterfeits(1)))
lying("another number of groups", of(groups=2))
lying("another number of rows", of(rows=47))
lying(
    "a sensitive column described as plain",
    lambda m: replace(m, columns=tuple(replace(c, role="plain") if c.name == "ill" else c for c in m.columns)),
)


@sabotage("guarantee static", "order of rows")
def rows_in_the_order_of_the_table(patch, tmp_path):
    patch.setattr(assembly, "shuffled", lambda rng, records: records)
    anonymized(rv.KAnonymity(4))


@sabotage("guarantee static", "order of rows")
def rows_nearly_in_the_order_of_the_table(patch, tmp_path):
    def hardly(rng, records):
        return records[np.argsort(np.arange(len(records)) + rng.generator().uniform(0, 20, len(records)))]

    patch.setattr(assembly, "shuffled", hardly)
    anonymized(rv.KAnonymity(4), frame=people(400), schema=PLAIN)


@sabotage("guarantee static", "metadata")
def a_raw_value_in_parquet_metadata(patch, tmp_path):
    from reveil.tables.formats.parquet_file import ParquetFile

    def wrong(_, table, path):
        table.rechunk().write_parquet(path, compression="zstd", statistics=False, metadata={"first": "P 17"})

    patch.setattr(ParquetFile, "write", wrong)
    made = rv.Series.open(tmp_path / "vault", PEOPLE, rv.Static(k=4))
    made.publish_to(tmp_path / "r.parquet", FRAME)


# Signatures


def remembering(memory, kept):
    """Some of the signatures that people were told."""
    return replace(memory, block_records=memory.block_records[kept], block_sets=memory.block_sets[kept])


@sabotage("guarantee tau-safety")
def a_signature_that_overlaps(patch, tmp_path):
    right = rv.TauSafety.situation

    def wrong(self, memory, schema):
        return right(self, remembering(memory, memory.block_records % 5 != 0), schema)

    patch.setattr(rv.TauSafety, "situation", wrong)
    # A plan prefers signatures that are there already, so that everybody forgotten would get their own again.
    series(tmp_path, rv.TauSafety(m=2, effort="quick"), [FRAME, LATER])


@sabotage("guarantee tau-safety")
def a_returning_person_with_a_new_signature(patch, tmp_path):
    right = rv.TauSafety.situation

    def wrong(self, memory, schema):
        return right(self, remembering(memory, memory.present[memory.block_records]), schema)

    patch.setattr(rv.TauSafety, "situation", wrong)
    back = pl.concat([FRAME[:25], people(13, 300, 11, kinds=5)])
    series(tmp_path, rv.TauSafety(m=2), [FRAME, LATER[30:], back])


@sabotage("guarantee tau-safety", slow=True)
def only_the_last_signature_is_remembered(patch, tmp_path):
    drafted(patch, rv.TauSafety, lambda made: replace(made, remembered=replace(made.remembered, replaces=True)))
    series(tmp_path, rv.TauSafety(m=2), [FRAME, CHANGED.with_columns(pl.col("ill").reverse())])


@sabotage("guarantee tau-safety")
def counterfeits_that_are_not_counted(patch, tmp_path):
    patch.setattr(assembly, "_counterfeits", lambda numbers, record: Counterfeits())
    series(tmp_path, rv.TauSafety(m=3), [FRAME, LATER])


@sabotage("guarantee tau-safety")
def a_group_number_that_is_used_twice(patch, tmp_path):
    def wrong(made):
        groups = made.release.groups
        return replace(made, release=replace(made.release, groups=np.where(groups == 2, 1, groups).astype(np.int32)))

    released(patch, wrong)
    series(tmp_path, rv.TauSafety(m=2), [FRAME])


@sabotage("guarantee tau-safety", slow=True)
def a_counterfeit_in_a_box_of_its_own(patch, tmp_path):
    def wrong(made):
        first = made.rows.record[made.rows.record >= 0][0]
        return replace(made, rows=replace(made.rows, box=np.where(made.rows.box < 0, first, made.rows.box)))

    drafted(patch, rv.TauSafety, wrong)
    series(tmp_path, rv.TauSafety(m=3), [FRAME, LATER])


@sabotage("guarantee tau-safety", slow=True)
def two_tables_with_each_others_values(patch, tmp_path):
    right = assembly.second_table

    def wrong(groups, values):
        made = right(groups, values)
        following = made["group"] % made["group"].max() + 1
        return made.with_columns(following.cast(made["group"].dtype)).sort(made.columns[:-1])

    patch.setattr(assembly, "second_table", wrong)
    series(tmp_path, rv.TauSafety(m=2, angelize=True), [FRAME])


@sabotage("guarantee tau-safety")
def exact_quasi_values_where_boxes_were_asked_for(patch, tmp_path):
    patch.setattr(tau_safety, "partition_of", lambda _, *rest: forms.partition_of(forms.ReleaseForm.EXACT, *rest))
    series(tmp_path, rv.TauSafety(m=2, form="angelized"), [FRAME])


@sabotage("guarantee tau-safety")
def exact_values_of_which_the_promise_says_nothing(patch, tmp_path):
    patch.setattr(tau_safety, "SHOWN", "Who is in the table is not hidden.")
    series(tmp_path, rv.TauSafety(m=2, form="exact"), [FRAME])


@sabotage("guarantee tau-safety")
def an_exact_release_that_calls_itself_angelized(patch, tmp_path):
    right = rv.TauSafety.promise

    def wrong(self, schema, method):
        found = right(self, schema, method)
        settings = {key: value for key, value in found.settings.items() if key != "form"}
        return replace(found, settings=frozen_object({**settings, "angelize": True}))

    patch.setattr(rv.TauSafety, "promise", wrong)
    series(tmp_path, rv.TauSafety(m=2, form="exact"), [FRAME])


@sabotage("guarantee tau-safety")
def records_lost_in_an_exchange(patch, tmp_path):
    right = searching.exchanged

    def wrong(groups, *rest):
        found = right(groups, *rest)
        record = found.record.copy()
        one, other = np.flatnonzero(found.group == 0)[0], np.flatnonzero(found.group == 1)[1]
        record[[one, other]] = record[[other, one]]  # of different values
        return replace(found, record=record)

    patch.setattr(searching, "exchanged", wrong)
    series(tmp_path, rv.TauSafety(m=3), [FRAME])


@sabotage("guarantee m-invariance", slow=True)
def somebody_who_stayed_with_a_new_signature(patch, tmp_path):
    right = rv.MInvariance.situation
    patch.setattr(
        rv.MInvariance,
        "situation",
        lambda self, memory, schema: right(
            self, replace(memory, changed=np.arange(len(memory.changed)) % 3 > 0), schema
        ),
    )
    series(tmp_path, rv.MInvariance(m=2, effort="quick"), [FRAME, LATER])  # a plan would give them their own again


# Budgets


@sabotage("guarantee global")
def a_budget_product_without_its_last_factor(patch, tmp_path):
    patch.setattr(global_release, "updated", lambda before, now: now)
    series(tmp_path, GLOBAL, [FRAME, FRAME, FRAME, FRAME])


@sabotage("guarantee global")
def a_budget_that_is_never_spent(patch, tmp_path):
    right = global_release.PublishableRecords.of.__func__

    def wrong(cls, memory, terms):
        made = right(cls, memory, terms)
        return replace(made, out=np.zeros_like(made.out), needs=np.zeros_like(made.needs))

    patch.setattr(global_release.PublishableRecords, "of", classmethod(wrong))
    series(tmp_path, rv.GlobalGuarantee(l=2, strategy=rv.ConstantRatio(releases=1)), [FRAME, FRAME])


@sabotage("guarantee global")
def a_budget_that_is_spread_over_more_than_there_is(patch, tmp_path):
    patch.setattr(strategies.EvenSpread, "needs", lambda self, survival, links, l: np.zeros(len(survival)))
    series(tmp_path, rv.GlobalGuarantee(l=2, strategy=rv.EvenSpread(releases=1)), [FRAME, FRAME])


@sabotage("guarantee global", slow=True)
def a_value_that_is_declared_harmless_in_secret(patch, tmp_path):
    right = global_release.PublishableRecords.bounded

    def wrong(self, harmless):
        found = right(self, harmless)
        return np.where(found == found.max(), -1, found).astype(np.int32)

    patch.setattr(global_release.PublishableRecords, "bounded", wrong)
    series(tmp_path, GLOBAL, [FRAME, LATER, LAST])


@sabotage("guarantee global")
def a_value_that_is_suppressed_though_nobody_allowed_it(patch, tmp_path):
    right = global_release.PublishableRecords.of.__func__

    def wrong(cls, memory, terms):
        made = right(cls, memory, terms)
        return replace(made, hidden=np.arange(len(made.hidden)) == 0)

    patch.setattr(global_release.PublishableRecords, "of", classmethod(wrong))
    series(tmp_path, GLOBAL, [FRAME])


@sabotage("guarantee global", slow=True)
def a_cohort_that_is_published_in_part(patch, tmp_path):
    right = global_release.Cohorts.of.__func__

    def wrong(cls, rows, records):
        made = right(cls, rows, records)
        return replace(made, broken=NONE)

    patch.setattr(global_release.Cohorts, "of", classmethod(wrong))
    guarantee = rv.GlobalGuarantee(l=2, strategy=rv.ConstantRatio(releases=3), permanent=["flu"])
    series(tmp_path, guarantee, [FRAME, LATER])


@sabotage("guarantee global", slow=True)
def people_who_are_not_on_the_list_dilute_a_group(patch, tmp_path):
    right = global_release.with_absent
    everybody = pl.concat([FRAME, people(300, 1000, 9)]).drop("ill")

    def wrong(snapshot, population, *given):
        return right(snapshot, everybody, *given)

    patch.setattr(global_release, "with_absent", wrong)
    listed = FRAME.drop("ill")
    guarantee = rv.GlobalGuarantee(l=4, strategy=rv.ConstantRatio(releases=1), population=listed)
    series(tmp_path, guarantee, [FRAME])


# Refinement


@sabotage("guarantee refinement")
def a_cell_of_one_person(patch, tmp_path):
    patch.setattr(judging.Judge, "_valid", lambda self, *args, **more: np.ones(self.past.n_cells, np.bool_))
    series(tmp_path, rv.Refinement(k=3), [FRAME, LATER, FRAME[::2]])


@sabotage("guarantee refinement")
def groups_of_less_than_k(patch, tmp_path):

    patch.setattr(rv.Refinement, "model", rv.KAnonymity(1))
    series(tmp_path, rv.Refinement(k=3), [FRAME])


@sabotage("guarantee refinement", slow=True)
def a_stale_value_that_was_changed(patch, tmp_path):
    right = making.MadeRelease.rows

    def wrong(self, book, names, rng):
        made = right(self, book, names, rng)
        values = made.values["ill"].source
        row = int((values != values[0]).arg_max())
        other = replace(made.values["ill"], source=values.scatter([0, row], [values[row], values[0]]))
        return replace(made, values={**made.values, "ill": other})

    patch.setattr(making.MadeRelease, "rows", wrong)
    series(tmp_path, rv.Refinement(k=3, l=2), [FRAME, LATER, CHANGED])


@sabotage("guarantee refinement")
def dirty_records_that_are_not_counted(patch, tmp_path):
    drafted(patch, rv.Refinement, lambda made: replace(made, left=replace(made.left, dirty=0)))
    series(tmp_path, rv.Refinement(k=3), [FRAME, LATER, FRAME[::2]])


@sabotage("guarantee refinement", slow=True)
def stand_ins_that_are_not_counted(patch, tmp_path):
    patch.setattr(assembly, "_counterfeits", lambda numbers, record: Counterfeits())
    series(tmp_path, rv.Refinement(k=3, counterfeits=True, dirty="never"), [FRAME, LATER, FRAME[::2]])


# Worlds


def witnessed(title, change, *, slow=True):
    """Worlds that are not what they should be."""

    @sabotage("guarantee worlds", name=title, slow=slow)
    def run(patch, tmp_path):
        released(patch, lambda made: replace(made, witness=change(made.witness)))
        series(tmp_path, rv.PossibleWorlds(l=3), [FRAME])


def _same(witness):
    sources = witness.sources.copy()
    sources[:] = np.arange(sources.shape[1])
    return replace(witness, sources=sources)


witnessed("a release that nothing shows to fit the worlds", lambda witness: None, slow=False)
witnessed(
    "one world less than promised", lambda own: replace(own, sources=own.sources[:2], rows=own.rows[:2]), slow=False
)
witnessed("worlds that are all the same", _same)
witnessed("rows that are other people's", lambda own: replace(own, rows=own.rows[:, ::-1]))


@sabotage("guarantee worlds")
def boxes_around_the_truth_alone(patch, tmp_path):
    right = draft.boxed

    def wrong(codes, rows, offsets):
        own = rows[offsets[:-1]]
        return right(codes, own, np.arange(len(own) + 1))

    patch.setattr(draft, "boxed", wrong)
    series(tmp_path, rv.PossibleWorlds(l=3), [FRAME])


@sabotage("guarantee worlds", slow=True)
def worlds_that_are_drawn_anew_for_each_release(patch, tmp_path):
    right = possible_worlds.remembered

    def wrong(memory, schema, l, records):
        found = right(memory, schema, l, records)
        return replace(found, tokens=np.full_like(found.tokens, -1), persons=0, batches=0)

    patch.setattr(possible_worlds, "remembered", wrong)
    series(tmp_path, rv.PossibleWorlds(l=3), [FRAME, FRAME])


# What the vault is told


@sabotage("guarantee tau-safety", "vault", slow=True)
def a_release_that_the_archive_has_otherwise(patch, tmp_path):
    right = assembly_line.placements_of

    def wrong(made):
        rows = right(made)
        return rows.with_columns(place=rows["place"].reverse())

    patch.setattr(assembly_line, "placements_of", wrong)
    series(tmp_path, rv.TauSafety(m=2), [FRAME, LATER])
