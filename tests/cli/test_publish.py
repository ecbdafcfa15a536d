"""``reveil publish`` and ``reveil verify``: exit codes, words, and that nothing is written when something is wrong."""

import json
import subprocess
import sys

import polars as pl
import pytest

import reveil as rv
from reveil.cli import COMMANDS, cli
from reveil.testing import hospital
from tests.cli.run import reveil
from tests.rarely import mostly_slow


@pytest.fixture
def folder(tmp_path):
    hospital.month(400, seed=1).write_csv(tmp_path / "raw.csv")
    (tmp_path / "reveil.toml").write_text(hospital.config())
    return tmp_path


def publish(folder, out="out.csv", data="raw.csv"):
    return reveil("publish", folder / data, "-c", folder / "reveil.toml", "-o", folder / out)


def files(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
def test_publish_then_verify(folder, out):
    done = publish(folder, out)
    assert (done.returncode, done.stdout) == (0, "")
    assert "400 rows" in done.stderr
    assert files(folder) == sorted(["raw.csv", "reveil.toml", out, "out.manifest.json"])
    manifest = json.loads((folder / "out.manifest.json").read_text())
    assert manifest["digest"].startswith("sha256:")
    assert manifest["rows"] == 400
    checked = reveil("verify", folder / out, folder / "raw.csv", "-c", folder / "reveil.toml")
    assert checked.returncode == 0
    assert "is sound" in checked.stderr


def test_a_broken_release_ends_with_1(folder):
    publish(folder)
    (folder / "out.csv").write_text((folder / "out.csv").read_text().replace("asthma", "gout"))
    done = reveil("verify", folder / "out.csv", folder / "raw.csv", "-c", folder / "reveil.toml")
    assert done.returncode == 1
    assert "error:" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_cannot_be_kept_ends_with_1_and_writes_nothing(folder):
    config = folder / "reveil.toml"
    config.write_text(config.read_text().replace("k = 10", "k = 401"))
    before = files(folder)
    done = publish(folder)
    assert done.returncode == 1
    assert "k = 400" in done.stderr
    assert files(folder) == before


@pytest.mark.parametrize("victim", ["raw.csv", "h.csv"])
def test_nothing_that_is_read_is_written_over(folder, victim):
    (folder / "h.csv").write_text("f;*\nm;*\nx;*\n")
    config = folder / "reveil.toml"
    config.write_text(config.read_text().replace('sex = "quasi"', 'sex = { role = "quasi", hierarchy = "h.csv" }'))
    before = (folder / victim).read_bytes()
    done = publish(folder, victim)
    assert done.returncode == 2, done.stderr
    assert "replace" in done.stderr
    assert (folder / victim).read_bytes() == before


@pytest.mark.parametrize(
    "lie",
    [
        {"claim": "every group has at least 1000 records"},
        {"guarantee": {"kind": "static", "k": 1000}},
        {"counterfeits": {"total": 30, "per_group": {}}},
        {"dirty": 3},
    ],
    ids=str,
)
def test_verify_does_not_repeat_what_it_did_not_check(folder, lie):
    publish(folder)
    path = folder / "out.manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **lie}))
    done = reveil("verify", folder / "out.csv", folder / "raw.csv", "-c", folder / "reveil.toml")
    assert done.returncode == 1
    assert "is sound" not in done.stderr


def test_a_file_without_a_header_does_not_show_its_first_person(folder):
    lines = (folder / "raw.csv").read_text().splitlines()[1:]
    (folder / "raw.csv").write_text("\n".join(lines) + "\n")
    done = publish(folder)
    assert done.returncode == 2
    assert "header" in done.stderr
    assert not any(cell in done.stderr for cell in lines[0].split(",") if len(cell) > 3)


def test_a_hierarchy_of_a_sensitive_column_is_not_shown(folder):
    config = folder / "reveil.toml"
    text = config.read_text()
    for content in (
        "secretflu;a;*\nsecretflu;b;*\n",
        "x;secretflu\ny;secretrash\n",
        "x;s;*\ny;s;*\ns;secret;*\nz;q;*\n",
    ):
        (folder / "d.csv").write_text(content)
        config.write_text(
            text.replace('diagnosis = "sensitive"', 'diagnosis = { role = "sensitive", hierarchy = "d.csv" }')
        )
        done = publish(folder)
        assert done.returncode == 2
        assert "d.csv" in done.stderr
        assert "secret" not in done.stderr


def test_a_dry_run_measures_and_writes_nothing(folder):
    before = files(folder)
    done = reveil("publish", folder / "raw.csv", "-c", folder / "reveil.toml", "-o", folder / "o.csv", "--dry-run")
    assert done.returncode == 0
    assert "would publish" in done.stderr
    assert "gcp" in done.stdout
    assert files(folder) == before


def test_the_demo_spares_a_config_that_is_not_its_own(folder):
    (folder / "naive.toml").write_text("# mine\n")
    before = files(folder)
    done = reveil("demo", "--out", folder)
    assert done.returncode == 2
    assert (folder / "naive.toml").read_text() == "# mine\n"
    assert files(folder) == before


BAD_TABLES = {
    "undeclared column": (lambda t: t.replace("pid,", "extra,pid,", 1).replace("\n", "\n1,").rstrip("1,"), "extra"),
    "missing column": (lambda t: t.replace(",diagnosis", ",diag", 1), "diag"),
    "ragged": (lambda t: t + "1,2,3\n", "402"),
    "duplicate header": (lambda t: t.replace("pid,name", "pid,pid", 1), "columns 1 and 2"),
    "empty table": (lambda t: t.splitlines()[0] + "\n", "no r"),
    "empty file": (lambda _: "", "empty"),
    "uncovered value": (lambda t: t.replace("Ulmenau", "Atlantis"), "Atlantis"),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_bad_tables_end_with_2_and_write_nothing(folder, case):
    change, word = BAD_TABLES[case]
    raw = folder / "raw.csv"
    secrets = set(hospital.month(400, seed=1)["diagnosis"].drop_nulls()) | set(hospital.month(400, seed=1)["name"])
    raw.write_text(change(raw.read_text()))
    before = files(folder)
    done = publish(folder)
    assert done.returncode == 2, done.stderr
    assert word in done.stderr
    assert "raw.csv" in done.stderr
    assert "Traceback" not in done.stderr
    assert "polars" not in done.stderr.lower()
    assert not any(secret in done.stderr for secret in secrets)
    assert files(folder) == before


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ('kind = "static"', 'kind = "magic"', "magic"),
        ("k = 10", "k = 0", "k must be"),
        ("k = 10", "kk = 10", "kk"),
        ('diagnosis = "sensitive"', 'diagnosis = "secret"', "role"),
        ('diagnosis = "sensitive"', 'diagnosis = { role = "sensitive", colour = 1 }', "colour"),
        ('pid = "person"', 'pid = "person"\nname2 = "person"', "two person columns"),
        ("[columns]", "[column]", "column"),
        ("[columns]", "[columns", "TOML"),
        ("[guarantee]", '[method]\nkind = "mondrian"\ncut = "odd"\n[guarantee]', "cut must be"),
        ("[guarantee]", '[method]\nkind = "mondrian"\nspeed = 3\n[guarantee]', "speed"),
    ],
)
def test_bad_configs_end_with_2(folder, old, new, word):
    config = folder / "reveil.toml"
    text = config.read_text()
    assert old in text
    config.write_text(text.replace(old, new, 1))
    done = publish(folder)
    assert done.returncode == 2, done.stderr
    assert word in done.stderr
    assert "reveil.toml" in done.stderr
    assert "Traceback" not in done.stderr


def test_bad_paths_end_with_2(folder):
    for arguments in (
        ("publish", "none.csv", "-c", folder / "reveil.toml", "-o", folder / "o.csv"),
        ("publish", folder / "raw.csv", "-c", "none.toml", "-o", folder / "o.csv"),
        ("publish", folder / "raw.csv", "-c", folder / "reveil.toml", "-o", folder / "o.xlsx"),
        ("publish", folder / "raw.csv", "-c", folder / "reveil.toml", "-o", folder / "no" / "o.csv"),
        ("publish", folder / "raw.csv"),
        ("no-such-command",),
        ("verify", folder / "raw.csv", folder / "raw.csv", "-c", folder / "reveil.toml"),
    ):
        done = reveil(*arguments)
        assert done.returncode == 2, arguments
        assert "Traceback" not in done.stderr
        assert done.stdout == ""


def test_quiet_says_nothing(folder):
    done = reveil("publish", folder / "raw.csv", "-c", folder / "reveil.toml", "-o", folder / "o.csv", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_bug_shows_no_cells(folder, monkeypatch):
    """An unexpected exception's text may quote cells: it is not shown."""
    code = (
        "import reveil.series.publishing as p\n"
        "def broken(*a, **k): raise RuntimeError('cell: hiv')\n"
        "p.publish_file = broken\n"
        "from reveil.cli import main; main()"
    )
    arguments = ["publish", str(folder / "raw.csv"), "-c", str(folder / "reveil.toml"), "-o", str(folder / "o.csv")]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "hiv" not in done.stderr
    assert "RuntimeError" in done.stderr


@pytest.mark.parametrize("stage", ["read_snapshot", "verify"])
@pytest.mark.parametrize("swallowed", mostly_slow([False, True]), ids=["raised", "swallowed by a callback"])
def test_an_interrupt_leaves_nothing_behind(folder, stage, swallowed):
    before = files(folder)
    code = f"""
import os, signal
import reveil.series.publishing as p
original = p.{stage}
def interrupted(*a, **k):
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        if not {swallowed}: raise
    return original(*a, **k)
p.{stage} = interrupted
from reveil.cli import main; main()"""
    arguments = ["publish", str(folder / "raw.csv"), "-c", str(folder / "reveil.toml"), "-o", str(folder / "o.csv")]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    if stage == "verify" and swallowed:
        assert done.returncode == 0, "too late: it is published, whole"
        assert {"o.csv", "o.manifest.json"} <= set(files(folder))
    else:
        assert done.returncode == 130
        assert "interrupted" in done.stderr
        assert files(folder) == before


def test_the_config_and_the_python_way_agree(folder):
    publish(folder)
    schema = rv.Schema.load(folder / "reveil.toml")
    assert schema.quasi == hospital.schema().quasi
    release = rv.anonymize(folder / "raw.csv", schema, rv.KAnonymity(10) & rv.DistinctDiversity(3))
    assert release.manifest["groups"] == json.loads((folder / "out.manifest.json").read_text())["groups"]
    assert pl.read_csv(folder / "out.csv", infer_schema=False).columns == list(release.columns)


def test_every_command_is_listed_and_described():
    help_text = reveil("--help").stdout
    for name in COMMANDS:
        assert name in help_text
        assert cli.get_command(None, name).help
    assert reveil("--version").stdout.startswith("reveil ")
