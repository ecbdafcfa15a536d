"""The one place where releases are put together: what it does with a draft, whoever decided it."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.core.randomness import Dice
from reveil.grouping.recoders.boxes import BoxRecoder
from reveil.guarantees.assembly import Heading, assemble
from reveil.guarantees.draft import Covering, Draft, GivenColumn, Grouped, Left, Rows, Witness
from reveil.models.encoding import encode
from reveil.models.statistics import Partition
from reveil.releases.promise import Promise
from reveil.tables.snapshot import Snapshot

SCHEMA = rv.Schema(person="pid", quasi=["age"], sensitive="ill")
FRAME = pl.DataFrame({"pid": range(5), "age": [20, 21, 30, 31, 40], "ill": ["flu", "gout", "flu", "cold", "gout"]})
SNAPSHOT = Snapshot(FRAME, SCHEMA, "the frame", "polars")
CODES = encode(SNAPSHOT)
RECORD = np.array([0, 1, 2, 3, -1], np.int32)  # the last person rests, and there is a counterfeit
GROUP = np.array([0, 0, 1, 1, 1], np.int32)
PARTITION = Partition(np.arange(4, dtype=np.int32), np.array([0, 2, 4], np.int64), 5)
WORDS = pl.Series(["flu", "gout", "cold"])


def draft(**changes):
    rows = Rows(RECORD, RECORD, GROUP, {"ill": GivenColumn(WORDS, np.array([0, 1, 0, 2, 1], np.int32))})
    made = Draft(
        rows,
        Grouped(CODES, PARTITION, BoxRecoder()),
        rv.KAnonymity(2) & rv.DistinctDiversity(2),
        Promise("mine", "Nothing."),
        SNAPSHOT,
        CODES,
        left=Left(withheld=1),
    )
    return replace(made, **changes)


@pytest.mark.parametrize("seed", range(4))
def test_rows_keep_their_boxes_values_and_groups_in_any_order(seed):
    made = assemble(draft(), Dice.of_seed(seed), Heading("s", 3))
    ages, ills = made.release.text["age"].to_list(), made.release.text["ill"].to_list()
    told = dict(zip(made.placement.tolist(), zip(ages, ills, strict=True), strict=True))
    assert told == {
        0: ("[20, 21]", "flu"),
        1: ("[20, 21]", "gout"),
        2: ("[30, 31]", "flu"),
        3: ("[30, 31]", "cold"),
        -1: ("[30, 31]", "gout"),  # borrowed
    }
    manifest, numbers = made.release.manifest, made.release.groups
    assert sorted(set(numbers.tolist())) == [1, 2]
    fake = int(numbers[made.placement < 0][0])
    assert manifest.counterfeits.to_json() == {"total": 1, "per_group": {str(fake): 1}}
    assert (manifest.series, manifest.release, manifest.rows, manifest.groups) == ("s", 3, 5, 2)
    assert (manifest.withheld, dict(manifest.achieved)) == (1, {"k": 2, "l": 2})
    assert [column.name for column in manifest.columns] == ["age", "ill", "group"]


def test_every_order_and_every_numbering_happens():
    seen, numbered = set(), set()
    for seed in range(400):
        made = assemble(draft(), Dice.of_seed(seed))
        seen.add(tuple(made.placement.tolist()))
        numbered.add(int(made.release.groups[made.placement == 0][0]))
    assert len(seen) > 110  # of 120
    assert numbered == {1, 2}


def test_values_in_a_table_of_their_own():
    release = assemble(draft(apart=True), Dice.of_seed(1)).release
    assert release.text.columns == ["age", "group"]
    assert release.batch.columns == ["group", "ill", "count"]
    assert sorted(release.batch["ill"].to_list()) == ["cold", "flu", "flu", "gout", "gout"]


def test_groups_without_a_column_are_the_classes():
    rows = Rows(RECORD[:4], RECORD[:4], None, {"ill": GivenColumn(FRAME["ill"], RECORD[:4], CODES.sensitive[0])})
    made = assemble(draft(rows=rows), Dice.of_seed(2))
    assert made.release.text.columns == ["age", "ill"]
    assert made.release.groups is None
    assert made.release.manifest.groups == 2


def test_rows_that_cover_several_records_and_their_witness():
    members = np.array([[0, 1, 2, 3, 4], [1, 0, 3, 2, 4]], np.int32)
    own = np.arange(5, dtype=np.int32)
    rows = Rows(own, own, None, {"ill": GivenColumn(FRAME["ill"], own)})
    whole = draft(rows=rows, boxes=Covering(CODES, members), model=rv.KAnonymity(1), witness=Witness(members, members))
    made = assemble(whole, Dice.of_seed(3))
    assert made.release.text["age"].to_list() == [
        {0: "[20, 21]", 1: "[20, 21]", 2: "[30, 31]", 3: "[30, 31]", 4: "40"}[n] for n in made.placement.tolist()
    ]
    assert made.witness.rows[0].tolist() == made.placement.tolist()
    assert made.witness.rows[1].tolist() == members[1][made.placement].tolist()


def test_a_column_that_is_called_like_one_of_the_release_is_refused():
    schema = rv.Schema(person="pid", quasi=["group"], sensitive="ill")
    snapshot = Snapshot(FRAME.rename({"age": "group"}), schema, "the frame", "polars")
    codes = encode(snapshot)
    changed = draft(snapshot=snapshot, codes=codes, boxes=Grouped(codes, PARTITION, BoxRecoder()))
    with pytest.raises(rv.ConfigError, match="of its own"):
        assemble(changed, Dice.of_seed(0))
