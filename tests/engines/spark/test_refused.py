"""What is missing is said before anything is done: thing, place, remedy, exit 2."""

import os
import socket
import sys

import pytest

from reveil.core.errors import ExpressionError, InputError, ReveilError
from reveil.engines.spark import failures, java, session, terms
from reveil.engines.spark.failures import EngineError, in_our_words
from tests.cli.run import reveil
from tests.engines.spark import series, tables

pytestmark = pytest.mark.spark


@pytest.fixture
def nobody(monkeypatch):
    """No session is there, whatever other tests started."""
    monkeypatch.setattr(session, "_given", lambda: None)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)


@pytest.fixture
def refused(nobody, tmp_path):
    """Return what publishing says; nothing may come of it."""
    tables.make(tmp_path)

    def publish(*lines):
        config = tables.with_engine(tmp_path, *lines)
        before = sorted(tmp_path.iterdir())
        done = reveil("publish", tmp_path / "table.parquet", "-c", config, "-o", f"{tmp_path / 'out'}/")
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        assert sorted(tmp_path.iterdir()) == before
        return done.stderr

    return publish


def fake_java(folder, said):
    program = folder / "home" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    program.chmod(0o755)
    return str(folder / "home")


def test_no_java(refused, monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    said = refused('master = "local[2]"')
    assert f"Spark needs Java, and there is none in JAVA_HOME, {tmp_path}/nowhere" in said
    assert "apt-get install openjdk-17-jre-headless" in said
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "Spark needs Java, and there is none\n" in refused('master = "local[2]"')


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2"])
def test_java_that_is_too_old(refused, monkeypatch, tmp_path, version):
    monkeypatch.setenv("JAVA_HOME", fake_java(tmp_path, f'openjdk version "{version}" 2020-01-01'))
    said = refused('master = "local[2]"')
    assert "Spark needs Java 17 or newer, and " in said
    assert f"is Java {version.removeprefix('1.').split('.')[0]}" in said


def test_java_that_says_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", fake_java(tmp_path, "hello"))
    with pytest.raises(EngineError, match="does not say its version"):
        java.check_java()


def test_the_extra_is_not_installed(refused, monkeypatch):
    monkeypatch.setattr(session, "find_spec", lambda name: None)
    said = refused('master = "local[2]"')
    assert "the engine spark needs pyspark, pyarrow, pandas" in said
    assert "pip install 'reveil[spark]'" in said


def test_no_master(refused):
    said = refused()
    assert "the engine has no master" in said
    assert "spark-submit" in said


@pytest.mark.parametrize("master", ["here", "spark://", "http://host:7077", "local[2]x"])
def test_a_master_that_nobody_could_be(refused, master):
    assert "master cannot be" in refused(f"master = {master!r}")


def test_a_master_that_is_not_there(refused):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    said = refused(f'master = "spark://127.0.0.1:{port},127.0.0.1:{port}"')
    assert f"no Spark master answers at spark://127.0.0.1:{port}" in said


def test_a_session_that_writes_in_clear_is_refused(monkeypatch):
    class Given:
        class sparkContext:  # noqa: N801  (as Spark has it)
            master = "local[1]"

            @staticmethod
            def getConf():  # noqa: N802
                return {}

    monkeypatch.setattr(session, "_given", Given)
    with pytest.raises(ReveilError, match="write raw values") as said:
        session.open_session(None)
    assert "spark.io.encryption.enabled" in said.value.hint


def test_what_is_missing_leaves_a_series_as_it_was(nobody, tmp_path, monkeypatch):
    raw = series.make(tmp_path)
    done = reveil("publish", raw[0], "-c", series.config(tmp_path), "-o", f"{tmp_path / '1'}/")
    assert done.returncode == 0, done.stderr
    two = ('kind = "spark"', 'master = "local[2]"')

    def refused(said, *lines, **more):
        config = series.config(tmp_path, *(lines or two), **more)
        before = sorted(tmp_path.iterdir())
        done = reveil("publish", raw[1], "-c", config, "-o", f"{tmp_path / '2'}/")
        assert done.returncode == 2, done.stderr
        assert said in done.stderr
        assert "Traceback" not in done.stderr
        assert sorted(tmp_path.iterdir()) == before
        assert series.states(config) == ["confirmed"]

    angelized = 'kind = "tau-safety"\nm = 2\nform = "angelized"'
    refused("engine = 'spark' cannot be used here", asked=angelized)
    refused("the engine has no master", two[0])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    refused(f"no Spark master answers at spark://127.0.0.1:{port}", two[0], f'master = "spark://127.0.0.1:{port}"')
    monkeypatch.setenv("JAVA_HOME", fake_java(tmp_path, 'openjdk version "11.0.2" 2020-01-01'))
    refused("Spark needs Java 17 or newer")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    refused("Spark needs Java, and there is none")
    monkeypatch.setattr(session, "find_spec", lambda name: None)
    refused("the engine spark needs pyspark, pyarrow, pandas")


@pytest.mark.parametrize("kind", ["global", "worlds"])
def test_a_guarantee_that_is_not_distributed(refused, tmp_path, monkeypatch, kind):
    more = {"global": 'l = 2\nstrategy = "constant-ratio"\nreleases = 2', "worlds": "l = 2"}[kind]
    text = tables.CONFIG.replace('kind = "static"\nk = 5\nl = 2', f'kind = "{kind}"\n{more}')
    monkeypatch.setattr(tables, "CONFIG", text)
    said = refused('master = "local[2]"')
    assert "engine = 'spark' cannot be used here" in said
    assert "--engine local" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ModuleNotFoundError: No module named 'reveil.engines'\n at x", "the workers of Spark have no reveil"),
        ("[PYTHON_VERSION_MISMATCH] Python in worker", "another Python"),
        ('Cannot run program "python9": error=2', "cannot start Python"),
        ("java.io.IOException: No space left on device", "a temporary file could not be written here"),
        ("java.lang.OutOfMemoryError: Java heap space", "too little memory"),
        ("Python worker exited unexpectedly (crashed)", "too little memory"),
        ("Job aborted: 'zanzibar'", "Spark gave up on this work"),
    ],
)
def test_what_spark_says_in_our_words(tmp_path, text, said):
    error = in_our_words(text, tmp_path)
    assert said in error.message
    assert error.hint
    assert "zanzibar" not in str(error)


def test_terms_of_work(tmp_path, monkeypatch):
    agreed = terms.WorkTerms.here(tmp_path)
    agreed.check()
    for change, said in (
        ({"versions": {"polars": "0.1"}}, "has polars .*, and this machine 0.1"),
        ({"sources": "other"}, "has other sources of Reveil"),
        ({"folder": tmp_path / "elsewhere"}, f"does not reach the temporary folder {tmp_path}"),
    ):
        other = terms.WorkTerms(**{**vars(agreed), "token": "another", **change})
        with pytest.raises(EngineError, match=said) as refused:
            other.check()
        assert refused.value.hint


def test_errors_travel_whole():
    for error in (
        EngineError("a", hint="b"),
        InputError("c", file="f", line=3, column="d"),
        ExpressionError("e", text="age in", position=4),
    ):
        with pytest.raises(type(error)) as arrived:
            failures.raise_packed(failures.packed_error(error))
        assert str(arrived.value) == str(error)
    with pytest.raises(EngineError, match="too little memory"):
        failures.raise_packed(failures.packed_error(MemoryError()))


def test_the_python_of_workers(monkeypatch):
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    with session._python_of_workers({}):
        assert os.environ["PYSPARK_PYTHON"] == sys.executable
    with session._python_of_workers({"spark.pyspark.python": "./environment/bin/python"}):
        assert os.environ["PYSPARK_PYTHON"] == "./environment/bin/python"
    assert "PYSPARK_PYTHON" not in os.environ
