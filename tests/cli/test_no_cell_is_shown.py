"""No message shows a cell that may have swallowed others, or a record that stands where names should."""

import json

import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import LONGEST_SHOWN, FileError, excerpt, shown
from tests.cli.run import reveil

CONFIG = """
[columns]
pid = "person"
age = { role = "quasi", type = "number" }
town = { role = "quasi", hierarchy = "town.csv" }
illness = "sensitive"
[guarantee]
kind = "static"
k = 2
"""
SECRETS = ("gout", "dropsy", "ague", "4711", "Quedlinburg")
HEADER = "pid,age,town,illness\n"
RECORDS = "4711,34,Ulm,gout\n4712,35,Ulm,dropsy\n4713,36,Bonn,gout\n4714,37,Bonn,ague\n"

DAMAGED = {
    # a quote that opens in one record and is closed in another, with the right number of cells
    "a swallowed town": HEADER + '1,34,"Ulm,gout\n4711,35,Quedlinburg,dropsy\n3,36,Bonn",gout\n4,37,Ulm,ague\n',
    "a swallowed age": HEADER + '1,"34,Ulm,gout\n4711,35,Quedlinburg",Bonn,gout\n4,37,Ulm,ague\n',
    "a quote in the middle": HEADER + '1,34,Ul"m,gout\n' + RECORDS,
    "a quote that is not closed": HEADER + RECORDS + '5,38,Ulm,"gout\n',
    "a quote in the header": HEADER.replace("town", '"town') + RECORDS + 'Bonn",gout\n',
    "a swallowing header": HEADER.replace("town", '"town,illness\n4711,34,Ulm,gout\n"') + RECORDS,
    "too many cells": HEADER + "4711,34,Ulm,Quedlinburg,gout\n" + RECORDS,
    "too few cells": HEADER + "4711,Quedlinburg,gout\n" + RECORDS,
    "no header": RECORDS,
    "no header, twice the same": "gout,34,Ulm,gout\n" + RECORDS,
    "a header with a record": HEADER.strip() + "4711,34,Quedlinburg,gout\n",
    "a header with a record, another delimiter": (HEADER.strip() + "4711,34,Quedlinburg,gout\n").replace(",", ";"),
    "no line end after the header": HEADER.strip() + RECORDS,
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "reveil.toml").write_text(CONFIG)
    (tmp_path / "town.csv").write_text("Ulm;*\nBonn;*\n")
    return tmp_path


@pytest.mark.parametrize("case", DAMAGED)
@pytest.mark.parametrize("command", ["publish", "verify", "audit", "init"])
def test_damaged_tables_show_no_cell_of_theirs(folder, case, command):
    raw = folder / "raw.csv"
    raw.write_text(DAMAGED[case])
    config = ("-c", folder / "reveil.toml")
    calls = {
        "publish": ("publish", raw, *config, "-o", folder / "out.csv"),
        "verify": ("verify", raw, raw, *config),
        "audit": ("audit", raw, *config, "--population", raw),  # read as a release of any tool
        "init": ("init", raw, "--yes", "-o", folder / "made.toml"),
    }
    done = reveil(*calls[command])
    text = done.stderr + done.stdout
    assert "went wrong" not in text
    # To init, who knows no names, a header without records is empty, and a town over several lines is a town.
    assert done.returncode == 2 or (command == "init" and "swallowed" in case), text
    assert not [secret for secret in SECRETS if secret in text], text


@pytest.mark.parametrize(
    "record", ["4711,34,Quedlinburg,gout", "4711,1954-03-02,x,gout", "gout,12:30,true,4711", "NA,34,Quedlinburg,gout"]
)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_init_does_not_take_a_record_for_names(folder, record, suffix):
    data = folder / f"raw.{suffix}"
    first = pl.read_csv(record.encode(), has_header=False)
    names = record.split(",")
    table = pl.concat([first] * 4).rename(dict(zip(first.columns, names, strict=True)))
    table.write_csv(data) if suffix == "csv" else table.write_parquet(data)
    done = reveil("init", data, "--yes", "-o", folder / "made.toml")
    assert done.returncode == 2
    assert "look like a record" in done.stderr
    assert not [name for name in names if name in done.stderr.replace(str(data), "")]
    assert not (folder / "made.toml").exists()


@pytest.mark.parametrize(
    "text",
    [
        "age,2019,2020\n34,1,2\n35,3,4\n",  # a name over numbers that is none: these are names
        "pid,town,illness\n1,Ulm,gout\n2,Ulm,dropsy\n",
        "illness,town\ngout,Ulm\ndropsy,Bonn\n",
    ],
)
def test_init_takes_names_for_names(folder, text):
    (folder / "raw.csv").write_text(text)
    assert reveil("init", folder / "raw.csv", "--yes", "-o", folder / "made.toml").returncode == 0


def test_names_are_shown_where_at_least_half_are_known(folder):
    raw = folder / "raw.csv"
    raw.write_text(HEADER.replace("town", "twon") + RECORDS)
    done = reveil("publish", raw, "-c", folder / "reveil.toml", "-o", folder / "out.csv")
    assert "column 'twon' is not declared" in done.stderr
    raw.write_text("pid,a,b,c,d\n1,2,3,4,5\n")
    done = reveil("publish", raw, "-c", folder / "reveil.toml", "-o", folder / "out.csv")
    assert "4 of the 5 columns of this table are not declared: 2, 3, 4, 5, counted from 1" in done.stderr
    frame = pl.DataFrame({"4711": [1], "Quedlinburg": ["x"], "gout": ["x"]})
    with pytest.raises(rv.DataError) as caught:
        rv.anonymize(frame, rv.Schema(quasi="age", sensitive="illness"), rv.KAnonymity(2))
    assert not [secret for secret in SECRETS if secret in str(caught.value)]


def test_a_table_given_as_a_hierarchy_is_not_listed(folder):
    (folder / "town.csv").write_text(HEADER + RECORDS)
    (folder / "raw.csv").write_text(HEADER + RECORDS)
    done = reveil("publish", folder / "raw.csv", "-c", folder / "reveil.toml", "-o", folder / "out.csv")
    assert done.returncode == 2
    assert "4 roots" in done.stderr
    assert not [secret for secret in SECRETS if secret in done.stderr]


def test_labels_of_a_sensitive_hierarchy_are_not_shown(folder):
    (folder / "illness.toml").write_text('[all]\ngout = "dropsy"\n')
    config = CONFIG.replace('illness = "sensitive"', 'illness = { role = "sensitive", hierarchy = "illness.toml" }')
    (folder / "reveil.toml").write_text(config)
    (folder / "raw.csv").write_text(HEADER + RECORDS)
    done = reveil("publish", folder / "raw.csv", "-c", folder / "reveil.toml", "-o", folder / "out.csv")
    assert "neither a table nor a list" in done.stderr
    assert not [secret for secret in SECRETS if secret in done.stderr]


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("Ulm", "'Ulm'"),
        ("Ulm, Neu-Ulm", "'Ulm, Neu-Ulm'"),
        ("Ulm,gout\n4711,Bonn", "'Ulm…'"),
        ("Ulm\rgout", "'Ulm…'"),
        ("Ulm\u2028gout", "'Ulm…'"),
        ("\nUlm", "'…'"),
        ("U" * 41, f"'{'U' * 39}…'"),
        ("U" * 40, f"'{'U' * 40}'"),
        ("\x1b[31m\ufeff", "'\N{REPLACEMENT CHARACTER}[31m\N{REPLACEMENT CHARACTER}'"),
        (None, "'None'"),
    ],
)
def test_an_excerpt_is_short_and_of_one_cell(cell, told):
    assert excerpt(cell) == told
    assert len(json.loads(json.dumps(excerpt(cell)))) <= LONGEST_SHOWN + 2


def test_ten_values_are_shown():
    assert shown(range(12)) == ", ".join(f"'{i}'" for i in range(10)) + " and 2 more"


def test_a_path_in_an_error_is_on_one_line():
    told = str(FileError("cannot write here", file="out\n\x1b[2J.csv", hint="Choose another name."))
    assert told.splitlines()[0] == "out��[2J.csv: cannot write here"
    assert len(told.splitlines()) == 2
