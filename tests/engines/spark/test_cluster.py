"""A master and two workers on this machine, and spark-submit: what each leaves behind, and what kills do."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.run import reveil
from tests.engines.spark import tables
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


def started(folder, temporary, config, out):
    """Start to publish, in a process of its own whose temporary folder is ours."""
    temporary.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-m", "tests.engines.spark.publishing", folder / "table.parquet", config, f"{out}/"],
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

    first = started(folder, temporary, config, folder / "cluster")
    until_it_says(first, "stage grouping")
    kill_all_of(first)
    first.communicate()
    assert not (folder / "cluster").exists(), "a release is there as a whole or not at all"
    left = [path for path in temporary.iterdir() if path.name.startswith("reveil-")]
    assert left, "nobody removed the folder of a killed process"

    second = started(folder, temporary, config, folder / "cluster")
    until_it_says(second, "stage grouping")
    kill_all_of(cluster.workers[0])
    out, err = second.communicate(timeout=LONGEST)
    assert second.returncode == 0, err
    assert "done" in out
    assert err == "", "Java says nothing on the error stream"
    assert tables.parts(folder / "cluster") == tables.parts(folder / "disk")

    assert not [path for path in temporary.iterdir() if path.name.startswith("reveil-")], "nor that of the first"
    for place in (temporary, cluster.folder):
        assert not [path for path, held in contents(place) if tables.PLANTED.encode() in held]
    alive = cluster.folder / "worker-1-local"
    until(lambda: not list(contents(alive)))  # nothing is left on the disk of a worker
    logs = {path.name for path, _ in contents(cluster.folder / "worker-1-work")}
    assert logs <= {"stdout", "stderr"}, "logs are all that a worker keeps"


def test_spark_submit(folder, cluster, tmp_path):
    from pyspark.find_spark_home import _find_spark_home

    config = tables.with_engine(folder)
    program = tmp_path / "submit.py"
    program.write_text(re.search(r"```py file=submit.py\n(.*?)```", PAGE, re.DOTALL)[1])
    assert "spark-submit --master local[2] submit.py publish table.parquet -c spark.toml -o release/" in PAGE

    def submitted(out, *options, **more):
        return subprocess.run(
            [
                f"{_find_spark_home()}/bin/spark-submit",
                *options,
                program,
                "publish",
                folder / "table.parquet",
                "-c",
                config,
                "-o",
                f"{folder / out}/",
            ],
            env=surroundings(TMPDIR=str(tmp_path), **more),
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )

    done = submitted("submitted", "--master", "local[2]", PYSPARK_PYTHON=sys.executable)
    assert done.returncode == 0, done.stderr
    assert tables.parts(folder / "submitted") == tables.parts(folder / "disk")
    assert tables.PLANTED not in done.stdout + done.stderr

    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    refused = submitted(
        "bare",
        "--master",
        cluster.address,
        "--conf",
        f"spark.pyspark.driver.python={sys.executable}",
        PYSPARK_PYTHON=str(bare),
    )
    assert refused.returncode == 2, refused.stderr
    assert re.search(r"the workers of Spark have no (pyarrow|reveil|polars)", refused.stderr)
    assert "PYSPARK_PYTHON" in refused.stderr
    assert not (folder / "bare").exists()
