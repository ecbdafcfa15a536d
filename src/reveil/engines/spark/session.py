"""A Spark application: the caller's, that of ``spark-submit``, or one that is started here.

What raw values must not reach is switched off: the pages, the event log, logs of the driver. What Spark writes to disks
on its own account (shuffles, broadcasts) is encrypted with a key that lives as long as the application.
"""

from __future__ import annotations

import atexit
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import warnings
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from reveil.core.errors import ConfigError, printed
from reveil.engines.scratch import Scratch
from reveil.engines.spark.failures import EngineError, in_our_words
from reveil.engines.spark.java import check_java

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark import SparkConf
    from pyspark.sql import SparkSession

PATIENCE = 20.0  # seconds for a master to answer
_NEEDED = ("pyspark", "pyarrow", "pandas")
_ENCRYPTED = "spark.io.encryption.enabled"
_MASTER = re.compile(r"local(\[[^\]]+\])?|spark://(?P<hosts>[^/]+)|local-cluster\[[^\]]+\]|yarn|k8s://.+")
_QUICK = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData"  # Java moves bytes here, for minutes

SETTINGS = {
    "spark.app.name": "reveil",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "false",
    "spark.log.level": "OFF",
    _ENCRYPTED: "true",
    "spark.shuffle.compress": "false",  # pieces are compressed
    "spark.shuffle.spill.compress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.executorEnv.POLARS_MAX_THREADS": "1",
    "spark.executorEnv.REVEIL_THREADS": "1",
}
"""What every application of Reveil's has; a session of the caller's needs the encryption."""


def open_session(master: str | None) -> tuple[SparkSession, bool]:
    """Return a session, and whether it was started here."""
    _check_installed()
    given = _given()
    if given is not None:
        return _checked(given, master), False
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if master is None and not submitted:
        raise ConfigError(
            "the engine has no master",
            hint='Add master = "local[2]" or "spark://host:7077" under [engine], or run this inside spark-submit.',
        )
    if master is not None:
        _check_master(master)
    if not submitted:
        check_java()
    return _started(master, submitted=submitted), True


def _given() -> SparkSession | None:
    """Return the session of the caller's."""
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def _check_installed() -> None:
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise EngineError(
            f"the engine spark needs {', '.join(missing)}", hint="Install it with: pip install 'reveil[spark]'."
        )


def _checked(session: SparkSession, master: str | None) -> SparkSession:
    """Return a session of the caller's, if what it writes to disks is encrypted."""
    context = session.sparkContext
    if master is not None and master != context.master:
        raise ConfigError(
            f"there is a Spark session already, and its master is {printed(context.master)}",
            hint="Stop it, or take master out of [engine]: then it is used.",
        )
    if context.getConf().get(_ENCRYPTED, "false") != "true":
        raise ConfigError(
            "this Spark session would write raw values to its workers' disks",
            hint=f"Start it with {_ENCRYPTED} = true, or stop it: Reveil starts its own.",
        )
    return session


def _check_master(master: str) -> None:
    """Refuse a master that nobody could be, or that does not answer."""
    found = _MASTER.fullmatch(master)
    if found is None:
        raise ConfigError(
            f"master cannot be {printed(master)!r}", hint='For example "local[2]", "spark://host:7077" or "yarn".'
        )
    if found["hosts"] is None:
        return
    for host in found["hosts"].split(","):
        name, _, port = host.rpartition(":")
        with suppress(OSError, ValueError), socket.create_connection((name, int(port)), PATIENCE):
            return
    raise EngineError(
        f"no Spark master answers at {printed(master)}",
        hint="Start it (sbin/start-master.sh of Spark), or mend master under [engine].",
    )


def _started(master: str | None, *, submitted: bool) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=submitted)
    for name, value in _settings(master, conf).items():
        conf.set(name, value)
    with _python_of_workers(conf), _signals_kept(), quiet():
        try:
            gateway = None
            if not submitted and SparkContext._gateway is None:
                silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
                gateway = launch_gateway(conf, silent)
            return SparkSession(SparkContext(conf=conf, gateway=gateway))
        except Exception as error:  # noqa: BLE001  (of py4j, of Java or of the system, and all of them quote settings)
            raise _not_started(error) from None


def _not_started(error: Exception) -> Exception:
    text = str(error)
    if "JAVA_GATEWAY_EXITED" in text:
        return EngineError(
            "Java could not be started for Spark",
            hint="`spark-submit --version` says why; JAVA_HOME and spark-defaults.conf are where to look.",
        )
    return in_our_words(text, local_folder().folder.parent)


def _settings(master: str | None, conf: SparkConf) -> dict[str, str]:
    """Return what an application that is started here is to have."""
    settings_here = {**SETTINGS, "spark.local.dir": str(local_folder().folder)}
    settings_here["spark.sql.warehouse.dir"] = f"{local_folder().folder}/warehouse"
    for java in ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"):
        settings_here[java] = f"{conf.get(java, '')} {_QUICK}".strip()
    if master is not None:
        settings_here["spark.master"] = master
        if master.startswith(("local", "spark://127.0.0.1:", "spark://localhost:")):
            settings_here |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return settings_here


@cache
def local_folder() -> Scratch:
    """Return the private folder of the driver's Java, which keeps one while this process lives."""
    scratch = Scratch()
    atexit.register(scratch.remove)
    return scratch


@contextmanager
def _python_of_workers(conf: SparkConf) -> Iterator[None]:
    """Let workers run the Python that was asked for; the one that runs here, where nobody asked."""
    before = os.environ.get("PYSPARK_PYTHON")
    os.environ["PYSPARK_PYTHON"] = before or str(conf.get("spark.pyspark.python", sys.executable))
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYSPARK_PYTHON"]


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Keep what an interrupt does: a context of Spark puts a handler of its own in front."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if main:
            signal.signal(signal.SIGINT, before)


@contextmanager
def quiet() -> Iterator[Any]:
    """Keep to itself what PySpark says of the pandas that it wants installed, and of a Java that is gone already."""
    with warnings.catch_warnings():
        for category in (FutureWarning, RuntimeWarning):
            warnings.filterwarnings("ignore", category=category, module=r"pyspark\.")
        yield
