"""Uses every toy as its owner would, by the library and the command line. Run where the toys are installed.

Each function is about one row of the table in CONTRIBUTING; what works is printed.
"""

import json
import os
import sys
from importlib.metadata import entry_points
from pathlib import Path
from unittest import mock

import polars as pl

import reveil as rv
from reveil.releases.release import Release
from reveil.series.config import load_config
from reveil.series.publishing import publish_file
from reveil.tables.snapshot import read_snapshot
from reveil.verification import verify
from tests.cli.run import reveil

RECORDS = 24
SCHEMA = rv.Schema(person="pid", quasi=("age", "zip"), sensitive="s")
COLUMNS = """
[columns]
pid = "person"
age = "quasi"
zip = "quasi"
s = "sensitive"
"""
STATIC = f"""{COLUMNS}
[guarantee]
kind = "static"
k = 3
"""


def people(first=0):
    """A table in which every cell is text, so that it is the same in every format."""
    at = range(first, first + RECORDS)
    return pl.DataFrame(
        {
            "pid": [f"p{n}" for n in at],
            "age": [str(20 + 7 * n % 40) for n in at],
            "zip": [str(1000 + 13 * n % 90) for n in at],
            "s": [f"s{n % 6}" for n in at],
        }
    )


def run(*words):
    """Run a command that must succeed, and return what it said."""
    done = reveil(*words)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout + done.stderr


def written(text, name="reveil.toml"):
    Path(name).write_text(text)
    return name


def table(name="raw.csv", first=0):
    people(first).write_csv(name)
    return name


def published(config, out="r1.csv", raw=None):
    """Publish by a config, and verify what was written; return the manifest."""
    raw = raw or table()
    run("publish", raw, "-c", config, "-o", out)
    run("verify", out, raw, "-c", config)
    return json.loads(Path(out).with_suffix(".manifest.json").read_text())


def a_model():
    from reveil_toys.multiple_of import MultipleOf

    raw, config = table(), written(STATIC)
    for model in (MultipleOf(2), MultipleOf(3) & rv.KAnonymity(4)):
        rv.anonymize(raw, SCHEMA, model, seed=1).write("r1.csv")
        release = Release.read("r1.csv")
        sizes = release.text.group_by("age", "zip").len()["len"].to_list()
        assert len(sizes) > 1
        assert not any(size % model.parts[0].number for size in sizes)
        assert release.manifest.promise.settings["multiple_of"] == model.parts[0].number
        verify(release, read_snapshot(raw, SCHEMA), model)
        run("audit", "r1.csv", "--truth", raw, "-c", config)  # by the limit that the manifest states
    try:
        verify(release, read_snapshot(raw, SCHEMA), MultipleOf(RECORDS))
    except rv.VerificationError as error:
        assert "MultipleOf" in str(error)  # noqa: PT017
    else:
        raise AssertionError("the judge did not look")


def a_grouper():
    made = published(written(STATIC + '[method]\nkind = "everybody"\n'))
    assert made["groups"] == 1


def a_recoder():
    boxes = published(written(STATIC), "boxes.csv")
    made = published(written(STATIC + '[method]\nkind = "mondrian"\nrecode = "wide"\n'))
    assert 1 < made["groups"] == boxes["groups"] // 2
    assert made["achieved"]["k"] > boxes["achieved"]["k"]


def a_format_of_files():
    from reveil_toys.json_lines import JsonLines

    JsonLines().write(people(), Path("raw.jsonl"))
    made = published(written(STATIC), "r1.jsonl", "raw.jsonl")
    assert list(made["digests"]) == ["jsonl"]
    assert Release.read("r1.jsonl").text.height == RECORDS


def a_measure():
    config = written(STATIC)
    published(config)
    run("measure", "raw.csv", "r1.csv", "-c", config, "--json", "m.json")
    sizes = Release.read("r1.csv").text.group_by("age", "zip").len()["len"]
    assert json.loads(Path("m.json").read_text())["measures"]["largest"] == sizes.max()


def a_question():
    published(written(STATIC))
    found = json.loads(run("query", "r1.csv", "missing(s)", "--json", "-"))
    assert (found["estimate"], found["lower"], found["upper"]) == (0, 0, 0)


def an_attack():
    config = written(STATIC)
    published(config)
    run("audit", "r1.csv", "--truth", "raw.csv", "-c", config, "--attack", "first", "--json", "a.json", "--all")
    found = json.loads(Path("a.json").read_text())
    assert {person["attack"] for person in found["persons"]} == {"first"}
    assert len(found["persons"]) == RECORDS


def a_guarantee():
    config = written(f'[series]\nname = "toy"\n{COLUMNS}[guarantee]\nkind = "crowd"\nk = 4\n')
    raws = [table(f"raw{number}.csv", number) for number in (1, 2)]
    for number, raw in enumerate(raws, 1):
        made = published(config, f"r{number}.csv", raw)
        assert (made["release"], made["guarantee"]["kind"], made["guarantee"]["k"]) == (number, "crowd", 4)
    from reveil_toys.crowd_judge import Crowd

    with mock.patch.object(Crowd, "rule", wraps=Crowd.rule) as asked:
        assert "2 releases" in run("verify", "--series", "--truth", *raws, "-c", config)
    assert asked.call_count == len(raws)
    with mock.patch.object(Crowd, "rule", side_effect=rv.VerificationError("broken")):
        assert reveil("verify", "--series", "-c", config).returncode == 1
        assert reveil("publish", table("raw3.csv", 3), "-c", config, "-o", "r3.csv").returncode == 1
    written(Path(config).read_text().replace("k = 4", "k = 5"), "other.toml")
    refused = reveil("verify", "r2.csv", raws[1], "-c", "other.toml")
    assert refused.returncode == 1, (refused.stdout, refused.stderr)


def an_engine():
    config = written(f'[series]\nname = "toy"\n{STATIC}\n[engine]\nkind = "counting"\n')
    people().write_parquet("raw.parquet")
    run("publish", "raw.parquet", "-c", config, "-o", "out/", "-q")
    assert json.loads(Path("out", "manifest.json").read_text())["engine"]["kind"] == "counting"
    run("verify", "out/", "raw.parquet", "-c", config)
    from reveil_toys.counting_engine import CountingEngine

    published_here = publish_file(load_config(config), "raw.parquet", "again/")
    assert (published_here.how, CountingEngine.opened_for[-1]) == ("published", RECORDS)


def a_store_of_vaults():
    config = written(f'[series]\nname = "toy"\nvault = "pieces://{Path.cwd()}/kept"\n{STATIC}')
    for number in (1, 2):
        raw = table(f"raw{number}.csv", number)
        assert published(config, f"r{number}.csv", raw)["release"] == number
    assert Path("kept", "current").exists()
    assert not Path("kept", "vault.duckdb").exists()
    assert Path("kept.anchor").exists()
    series = rv.Series.load(config)
    assert [row["state"] for row in series.history()] == ["confirmed", "confirmed"]
    run("verify", "--series", "-c", config)
    run("history", "-c", config, "--check", ".")
    run("report", "-c", config, "-o", "report.html")


TRIALS = (
    a_model,
    a_grouper,
    a_recoder,
    a_format_of_files,
    a_measure,
    a_question,
    an_attack,
    a_guarantee,
    an_engine,
    a_store_of_vaults,
)


def main():
    assert any(point.value.startswith("reveil_toys") for point in entry_points(group="reveil.models"))
    folder = Path.cwd()
    for trial in TRIALS:
        name = trial.__name__.replace("_", " ")
        own = folder / name.replace(" ", "-")
        own.mkdir()

        os.chdir(own)
        trial()
        sys.stdout.write(f"{name}\n")


if __name__ == "__main__":
    main()
