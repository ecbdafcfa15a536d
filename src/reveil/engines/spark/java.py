"""Whether there is a Java that Spark can use."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from reveil.core.errors import printed
from reveil.engines.spark.failures import EngineError

LEAST = 17
_HINT = f"Install it (apt-get install openjdk-{LEAST}-jre-headless), or let the variable JAVA_HOME name its folder."
_VERSION = re.compile(r'version "(?:1\.)?([0-9]+)')


def check_java() -> None:
    """Refuse a machine without Java, and one whose Java is too old."""
    home = os.environ.get("JAVA_HOME")
    named = shutil.which("java") if not home else shutil.which(f"{home}/bin/java")
    if named is None:
        where = f" in JAVA_HOME, {printed(home)}" if home else ""
        raise EngineError(f"Spark needs Java, and there is none{where}", hint=_HINT)
    try:
        said = subprocess.run([named, "-version"], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        said = None
    found = None if said is None else _VERSION.search(said.stderr + said.stdout)
    if found is None:
        raise EngineError(f"this Java does not say its version: {printed(named)}", hint=_HINT)
    if int(found[1]) < LEAST:
        raise EngineError(f"Spark needs Java {LEAST} or newer, and {printed(named)} is Java {found[1]}", hint=_HINT)
