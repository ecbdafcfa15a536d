"""A master and two workers on this machine, and spark-submit: what each leaves behind, and what kills do.

Once for a static release, and once for a series, whose vault is as it was, or has a pending release, after a kill.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from reveil.series.config import load_config
from reveil.series.publishing import verify_series
from tests.cli.run import reveil
from tests.engines.spark import series, tables
from tests.engines.spark.clusters import LONGEST, Cluster, contents, kill_all_of, surroundings, until

pytestmark = pytest.mark.spark

PAGE = (Path(__file__).parents[3] / "docs" / "scale.md").read_text()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a table, and its release by the disk engine."""
    made = tmp_path_factory.mktemp("table")
    tables.make(made)
    done = reveil("publish", made / "table.parquet", "-c", made / "reveil.toml", "-o", f"{made / 'disk'}/")
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    running = Cluster(tmp_path_factory.mktemp("cluster"))
    yield running
    running.stop()


def test_the_page_starts_a_master_and_workers_as_this_does(cluster):
    for process, kind in zip(cluster.running, ("master.Master", "worker.Worker"), strict=False):
        name, *arguments = re.search(rf"^spark-class org\.apache\.spark\.deploy\.{kind} .*$", PAGE, re.MULTILINE)[
            0
        ].split()[1:]
        options = [own for own in arguments if own.startswith("--")]
        assert name in process.args
        assert set(options) <= set(process.args)


def started(table, temporary, config, out, *more):
    """Start to publish, in a process of its own whose temporary folder is ours."""
    temporary.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-m", "tests.engines.spark.publishing", table, config, f"{out}/", *more],
        env=surroundings(TMPDIR=str(temporary)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def until_it_says(process, line):
    for said in process.stdout:
        if said.strip() == line:
            return
    raise AssertionError(process.stderr.read())


def test_a_killed_driver_and_a_killed_worker(folder, cluster, tmp_path):
    config, temporary = tables.with_engine(folder, f'master = "{cluster.address}"'), tmp_path / "temporary"

    first = started(folder / "table.parquet", temporary, config, folder / "cluster")
    until_it_says(first, "stage grouping")
    kill_all_of(first)
    first.communicate()
    assert not (folder / "cluster").exists(), "a release is there as a whole or not at all"
    left = [path for path in temporary.iterdir() if path.name.startswith("reveil-")]
    assert left, "nobody removed the folder of a killed process"

    second = started(folder / "table.parquet", temporary, config, folder / "cluster")
    until_it_says(second, "stage grouping")
    kill_all_of(cluster.workers[0])
    out, err = second.communicate(timeout=LONGEST)
    assert second.returncode == 0, err
    assert "done" in out
    assert err == "", "Java says nothing on the error stream"
    assert tables.parts(folder / "cluster") == tables.parts(folder / "disk")

    assert not [path for path in temporary.iterdir() if path.name.startswith("reveil-")], "nor that of the first"
    nothing_is_left(cluster, temporary, alive=1)


def nothing_is_left(cluster, temporary, alive):
    """No value where anybody wrote, and nothing but logs on the disk of a worker that is alive."""
    for place in (temporary, cluster.folder):
        assert not [path for path, held in contents(place) if tables.PLANTED.encode() in held]
    until(lambda: not list(contents(cluster.folder / f"worker-{alive}-local")))
    logs = {path.name for path, _ in contents(cluster.folder / f"worker-{alive}-work")}
    assert logs <= {"stdout", "stderr"}, "logs are all that a worker keeps"


@pytest.fixture(scope="module")
def submitted(tmp_path_factory):
    """Return how ``spark-submit`` publishes a table by the program of the page."""
    from pyspark.find_spark_home import _find_spark_home

    place = tmp_path_factory.mktemp("submitted")
    program = place / "submit.py"
    program.write_text(re.search(r"```py file=submit.py\n(.*?)```", PAGE, re.DOTALL)[1])

    def submit(table, config, out, *options, **more):
        return subprocess.run(
            [
                f"{_find_spark_home()}/bin/spark-submit",
                *options,
                program,
                *("publish", table, "-c", config, "-o", f"{out}/"),
            ],
            env=surroundings(TMPDIR=str(place), **more),
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )

    return submit


def test_spark_submit(folder, submitted):
    assert "spark-submit --master local[2] submit.py publish table.parquet -c spark.toml -o release/" in PAGE
    config, out = tables.with_engine(folder), folder / "submitted"
    done = submitted(folder / "table.parquet", config, out, "--master", "local[2]", PYSPARK_PYTHON=sys.executable)
    assert done.returncode == 0, done.stderr
    assert tables.parts(out) == tables.parts(folder / "disk")
    assert tables.PLANTED not in done.stdout + done.stderr


def on(cluster):
    return ["--master", cluster.address, "--conf", f"spark.pyspark.driver.python={sys.executable}"]


def test_a_series_that_is_submitted_and_killed(cluster, submitted, tmp_path, monkeypatch):
    """By two workers, one of which is killed: the bytes of the disk, whatever was killed before."""
    monkeypatch.setenv("REVEIL_KEY", series.KEY)
    raw, disk, own, temporary = series.make(tmp_path), tmp_path / "disk", tmp_path / "own", tmp_path / "temporary"
    for place in (disk, own):
        place.mkdir()
    for n, table in enumerate(raw, start=1):
        done = reveil("publish", table, "-c", series.config(disk), "-o", f"{disk / str(n)}/")
        assert done.returncode == 0, done.stderr
    cluster.add()  # in the place of the one that was killed
    config = series.config(own, 'kind = "spark"')
    done = submitted(raw[0], config, own / "1", *on(cluster), PYSPARK_PYTHON=sys.executable)
    assert done.returncode == 0, done.stdout + done.stderr
    assert tables.parts(own / "1") == tables.parts(disk / "1")
    assert tables.PLANTED not in done.stdout + done.stderr

    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    refused = submitted(raw[1], config, own / "2", *on(cluster), PYSPARK_PYTHON=str(bare))
    assert refused.returncode == 2, refused.stderr
    # spark-submit puts both streams of its program into one.
    assert re.search(r"the workers of Spark have no (pyarrow|reveil|polars)", refused.stdout), refused.stdout
    assert "PYSPARK_PYTHON" in refused.stdout
    assert series.states(config) == ["confirmed"]

    config = series.config(own, 'kind = "spark"', f'master = "{cluster.address}"')
    first = started(raw[1], temporary, config, own / "2")
    until_it_says(first, "stage grouping")
    kill_all_of(first)
    first.communicate()
    assert series.states(config) == ["confirmed"], "the series is as it was"
    assert not (own / "2").exists()

    second = started(raw[1], temporary, config, own / "2", "wait")
    until_it_says(second, "stage grouping")
    kill_all_of(cluster.workers[-1])
    until_it_says(second, "prepared")
    kill_all_of(second)
    second.communicate()
    assert series.states(config) == ["confirmed", "pending"]

    third = started(raw[1], temporary, config, own / "2")
    _, err = third.communicate(timeout=LONGEST)
    assert third.returncode == 0, err
    assert err == "", "Java says nothing on the error stream"
    assert series.states(config) == ["confirmed", "confirmed"]
    assert tables.parts(own / "2") == tables.parts(disk / "2")
    assert verify_series(load_config(config), raw).broken == []
    assert not [path for path in temporary.iterdir() if path.name.startswith("reveil-")]
    nothing_is_left(cluster, temporary, alive=1)
