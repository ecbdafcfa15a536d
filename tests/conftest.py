"""Tests write to memory, where there is room: a small vault waits for the disk several times when it is written.

What was written outlives a killed process on either; what a broken machine leaves no test sees.
No test depends on how fast the machine is, so examples have no deadline. ``make test`` tries a third of the examples
that a property asks for, ``make test-slow`` (``REVEIL_EXAMPLES=all``) all of them.
"""

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import settings

from tests.browser import browser, visit
from tests.rarely import in_part

__all__ = ["browser", "visit"]  # fixtures of all tests
MEMORY = Path("/dev/shm")  # noqa: S108 -- a folder of each run's own is made in it
ROOM = 2 << 30  # a run that kept all its files left a third of a gigabyte

settings.register_profile("reveil", deadline=None)
settings.load_profile("reveil")


def pytest_collection_modifyitems(items):
    if os.environ.get("REVEIL_EXAMPLES") == "all":
        return
    # Where hypothesis keeps the settings of a test; if that changes, all examples are tried.
    place = "_hypothesis_internal_use_settings"
    for test in {id(item.obj): item.obj for item in items if hasattr(item, "obj")}.values():
        asked = getattr(test, place, None)
        if isinstance(asked, settings):
            setattr(test, place, settings(asked, max_examples=in_part(asked.max_examples)))


def pytest_configure(config):
    if "TMPDIR" in os.environ or config.getoption("basetemp") or not os.access(MEMORY, os.W_OK):
        return
    if shutil.disk_usage(MEMORY).free >= ROOM:
        os.environ["TMPDIR"] = str(MEMORY)  # also of the commands that tests start
        tempfile.tempdir = None  # it was asked for before, and is remembered
