"""The comparison with other tools: what checks their output, on tables made by hand, and the tools where they are."""

import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from benchmarks.peers import arx, checks, comparison, ours, running, words
from benchmarks.peers.checking import Attribute, Published, check
from benchmarks.peers.job import Job
from benchmarks.peers.tools import ANONYPY, FREE, Run, after_first, rival

from reveil.analysis.measures.base import Subject
from reveil.analysis.measures.certainty import Certainty
from reveil.analysis.measures.discernibility import Discernibility
from reveil.releases.release import Release
from reveil.tables.snapshot import read_snapshot

RAW = pl.DataFrame(
    {
        "age": [20, 22, 30, 40],
        "town": ["a", "b", "c", "c"],
        "ill": ["x", "y", "x", "z"],
    }
)
JOB = Job(table="", out="", quasi=["age", "town"], sensitive="ill", numbers=["age"], k=2)


def published(rows, job=JOB, columns=("age", "town", "ill")):
    return Published(pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row"), job)


SOUND = [("[20, 22]", "{a, b}", "x"), ("[20, 22]", "{a, b}", "y"), ("[30, 40]", "c", "x"), ("[30, 40]", "c", "z")]


def test_a_sound_table_is_measured_from_its_cells_and_from_its_values():
    found = check(RAW, published(SOUND))
    assert (found.rows, found.groups, found.left_out, found.k, found.l) == (4, 2, 0, 2, 2)
    assert found.dcp == 8
    # Class 1: 2/20 and 1/2, class 2: 10/20 and 0, two records each, eight cells.
    assert found.gcp_cells == found.gcp_values == pytest.approx(2 * (0.1 + 0.5 + 0.5) / 8)
    # Class 1 has halves of x and y where the table has 1/2, 1/4, 1/4.
    assert found.t == Fraction(1, 4)
    assert found.truthful is True
    assert found.faults(JOB) == []
    assert found.faults(replace(JOB, k=3, l=3, t=0.2)) == ["k is 2", "l is 2", "t is 0.250"]


def test_counts_and_other_notations_say_the_same():
    rows = [(a.replace("[", "").replace("]", "").replace(", ", "-"), t.strip("{}"), s, "1") for a, t, s in SOUND]
    rows = [(f"['{a}']", f"['{t}']", s, n) for a, t, s, n in rows]
    counted = check(RAW, published(rows, columns=("age", "town", "ill", "count")))
    assert counted == check(RAW, published(SOUND))
    twice = check(RAW, published([*rows[:3], (*rows[3][:3], "2")], columns=("age", "town", "ill", "count")))
    assert (twice.rows, twice.truthful, twice.k) == (5, False, 2)


@pytest.mark.parametrize(
    "wrong",
    [
        [*SOUND[:3], ("[30, 40]", "c", "y")],  # a value that nobody there has
        [*SOUND[:2], ("[30, 39]", "c", "x"), ("[30, 39]", "c", "z")],  # a record outside its class
        [("20", "a", "x"), ("22", "b", "y"), ("30", "c", "x"), ("40", "c", "x")],
    ],
)
def test_a_table_that_does_not_hold_its_records_is_found(wrong):
    found = check(RAW, published(wrong))
    assert found.truthful is False
    assert "cells that do not hold their records" in found.faults(JOB)


def test_labels_need_record_numbers_and_left_out_records_count_as_lost(tmp_path):
    (tmp_path / "town.csv").write_text("a;north;*\nb;north;*\nc;south;*\nd;south;*\n")
    job = replace(JOB, hierarchies={"town": str(tmp_path / "town.csv")}, suppress=0.25)
    rows = [("[20, 30]", "*", "x"), ("[20, 30]", "*", "y"), ("[20, 30]", "*", "x")]
    numbered = [(*rows[0], "0"), (*rows[2], "2"), (*rows[1], "1")]
    linked = published(numbered, replace(job, link="record"), ("age", "town", "ill", "record"))
    found = check(RAW, published(rows, job), linked)
    assert (found.left_out, found.dcp, found.truthful) == (1, 9 + 4, True)
    assert found.gcp_cells == found.gcp_values == pytest.approx((3 * (0.5 + 1) + 2) / 8)
    assert found.faults(job) == []
    assert found.faults(replace(job, suppress=0.2)) == ["25.0% left out"]
    half = published([("[20, 30]", "north", s) for *_, s in rows], job)
    with pytest.raises(ValueError, match="not the one that was timed"):
        check(RAW, half, linked)
    narrow = [(a, "north", s, n) for a, _, s, n in numbered]
    told = published(narrow, replace(job, link="record"), ("age", "town", "ill", "record"))
    assert check(RAW, half, told).truthful is False  # the record in town c is not in the north


def test_who_is_whose_is_not_guessed_and_strange_columns_are_named():
    overlapping = [("[20, 30]", "{a, b, c}", "x"), ("[20, 40]", "{a, b, c}", "y")] * 2
    found = check(RAW, published(overlapping))
    assert (found.truthful, found.gcp_values) == (None, None)
    extra = check(RAW, published([(*row, "7") for row in SOUND], columns=("age", "town", "ill", "index")))
    assert extra.faults(JOB) == ["publishes a column 'index'"]


def test_a_cell_that_cannot_be_read_is_an_error_not_a_guess():
    own = Attribute.of(RAW["town"], number=False)
    with pytest.raises(ValueError, match="neither a value"):
        own.admitted("{a, q}")
    with pytest.raises(ValueError, match="cannot tell from notation"):
        Attribute.of(pl.Series("town", ["a,b", "c"]), number=False)
    with pytest.raises(ValueError, match="cannot tell from notation"):
        Attribute.of(pl.Series("town", ["a", None]), number=False)
    one = Attribute.of(pl.Series("town", ["a", "a"]), number=False)
    assert one.widths(np.ones((3, 1), bool)).tolist() == [0, 0, 0]


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 80, 150),
            "town": rng.choice(list("abcd"), 150),
            "ill": rng.choice(["flu", "gout", "rash"], 150),
        }
    )


@pytest.fixture
def job(small, tmp_path):
    (tmp_path / "town.csv").write_text("a;north;*\nb;north;*\nc;south;*\nd;south;*\n")
    (tmp_path / "age.csv").write_text(
        "".join(f"{age};{age // 20 * 20}-{age // 20 * 20 + 19};*\n" for age in range(100))
    )
    small.with_row_index("record").write_csv(tmp_path / "in.csv")
    hierarchies = {name: str(tmp_path / f"{name}.csv") for name in ("age", "town")}
    return replace(
        JOB,
        table=str(tmp_path / "in.csv"),
        out=str(tmp_path / "out.csv"),
        k=5,
        hierarchies=hierarchies,
        link="record",
        method="mondrian",
        suppress=0.1,
    )


def test_reveil_is_right_and_measures_as_the_check_does(small, job):
    plain = replace(job, hierarchies={})
    assert ours.publish(plain)["rows"] == 150
    written = Published.read(job.out, plain)
    found = check(small, written, written)
    assert found == check(small, written)  # no two boxes overlap, so that nobody needs the numbers
    assert found.faults(plain) == []
    subject = Subject(read_snapshot(plain.table, ours.schema(plain)), Release.read(job.out))
    assert found.gcp_cells == pytest.approx(Certainty().of(subject)["gcp"])
    assert found.dcp == Discernibility().of(subject)["dcp"]
    levels = ours.check(replace(plain, table=job.out))["levels"]
    assert (levels["k"], levels["l"]) == (found.k, found.l)
    assert levels["t"] == pytest.approx(float(found.t), abs=1.1e-6)
    ours.publish(replace(job, l=2, t=0.4))
    labelled = check(small, Published.read(job.out, job), Published.read(job.out, job))
    assert labelled.faults(replace(job, l=2, t=0.4)) == []
    assert labelled.gcp_values <= labelled.gcp_cells


@pytest.mark.parametrize("name", ["anjana", "anonypy", "pycanon"])
def test_a_peer_runs_where_it_is_installed(name, small, job):
    said = running.missing(name)
    if said is not None:
        pytest.skip(said)
    if name == "pycanon":
        job = replace(job, hierarchies={})
        ours.publish(job)
        answer = running.ask(name, replace(job, table=job.out))
        assert answer.told["levels"]["k"] == check(small, Published.read(job.out, job)).k
        return
    answer = running.ask(name, job if name == "anjana" else replace(job, link=None))
    assert min(answer.whole, *answer.seconds) > 0
    written = Published.read(job.out, job)
    found = check(small, written, written if name == "anjana" else None)
    assert (found.k >= job.k, found.truthful) == (True, True)
    if name == "anjana":
        assert running.ask(name, replace(job, quasi=["nothing"])) == "anjana ended with an error"


def test_who_is_not_there_is_said(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(running, "PLACE", tmp_path)
    monkeypatch.setenv("ARX", str(tmp_path / "no-such-program"))
    assert arx.command() is None
    assert "not installed" in running.missing("arx")
    assert "--install" in running.missing("anonypy")
    assert running.missing("ours") is None
    monkeypatch.setattr(comparison, "SHARED", tmp_path)
    monkeypatch.setattr(checks, "SHARED", tmp_path)
    assert comparison.run(tmp_path, fast=True) is None
    assert "not beside the repository" in capsys.readouterr().out
    nothing = checks.run(tmp_path, fast=True)
    assert checks.tables(nothing) == []
    assert checks.findings(nothing)[0].agrees == "not compared"


def test_a_program_that_wraps_arx_is_asked_as_the_others_are(monkeypatch, tmp_path):
    program = tmp_path / "arx"
    words = "from benchmarks.peers.job import serve\nserve(lambda job: {'rows': job.k, 'said': job.link}, '3.9')\n"
    program.write_text(f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(running.ROOT)!r})\n{words}")
    program.chmod(0o700)
    monkeypatch.setenv("ARX", str(program))
    assert running.missing("arx") is None
    answer = running.ask("arx", replace(JOB, repeat=3), times=2)
    assert (answer.version, answer.told) == ("3.9", {"rows": 2, "said": None})
    assert len(answer.seconds) == len(answer.cpu) == 3
    assert answer.whole > sum(answer.seconds)
    monkeypatch.setattr(running, "LIMIT", 0)
    assert running.ask("arx", JOB) == "arx had not answered after 0 s"


def test_goals_are_judged_by_what_was_found():
    def answer(seconds):
        return running.Answer("1", seconds + 1, seconds + 1, [9.0, seconds], [9.0, seconds], 2**20, {"rows": 4})

    verdict = check(RAW, published(SOUND))
    own, slow = Run(FREE, JOB, answer(0.1), verdict), Run(ANONYPY, JOB, answer(10.0), verdict)
    assert after_first([3.0]) == 3.0
    assert rival(slow, [slow, own]) is own
    told = {found.what: found.agrees for found in words.findings({"k": [own, slow]})}
    assert told["anonypy's time over Reveil's, k = 10"] == "partly"  # a hundred times inside, ten for the process
    assert told["Reveil's GCP beside anonypy's, k = 10"] == "yes"
    assert told["ANJANA beside Reveil"] == "not compared"
    checked = checks.Checked(4, 2, *[replace(answer(1.0), told=_levels(took)) for took in (0.01, 5.0)], {"t": 0.25})
    assert [found.agrees for found in checks.findings(checked)] == ["partly"]
    assert [row[-1] for row in checks.tables(checked)[0].rows] == ["yes", "yes", None]
    assert not checked.agree(replace(checked.ours, told={"levels": {"t": 0.26}}))


def _levels(took):
    return {"levels": {"t": 0.25}, "took": {"read": 1.0, "k": took, "l": took, "t": took}}
