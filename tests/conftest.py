"""Tests write to memory, where there is room: a small vault waits for the disk several times when it is written.

What was written outlives a killed process on either; what a broken machine leaves no test sees.
No test depends on how fast the machine is, so examples have no deadline. ``make test`` tries a third of the examples
that a property asks for, ``make test-slow`` (``REVEIL_EXAMPLES=all``) all of them.

``REVEIL_TURN=2/5`` runs a fifth of those that try many more cases, and of properties: .ci/run takes its
turn from the commit, so that all have been tried after some commits.

What needs a server, a browser or Java is skipped unless ``--services`` is given, as ``make test-slow`` and ``make
test-spark`` do: whoever has these programs should not wait for them.
"""

import os
import shutil
import tempfile
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import settings

from tests.browser import browser, visit
from tests.rarely import in_part

__all__ = ["browser", "visit"]  # fixtures of all tests
MEMORY = Path("/dev/shm")  # noqa: S108 -- a folder of each run's own is made in it
ROOM = 2 << 30  # a run that kept all its files left a third of a gigabyte

SERVICES = {"server": "a PostgreSQL server", "browser": "a browser", "spark": "PySpark and Java"}  # by their marks

settings.register_profile("reveil", deadline=None)
settings.load_profile("reveil")


def pytest_addoption(parser):
    parser.addoption("--services", action="store_true", help="also run what needs a server, a browser or Java")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--services"):
        for item in items:
            for mark, service in SERVICES.items():
                if item.get_closest_marker(mark):
                    item.add_marker(pytest.mark.skip(reason=f"needs {service}: pytest --services runs it"))
    if turn := os.environ.get("REVEIL_TURN"):
        mine, of = (int(own) for own in turn.split("/"))
        others = [item for item in items if repeats(item) and crc32(item.nodeid.encode()) % of != mine % of]
        left = set(map(id, others))
        items[:] = [item for item in items if id(item) not in left]
        config.hook.pytest_deselected(items=others)
    if os.environ.get("REVEIL_EXAMPLES") == "all":
        return
    # Where hypothesis keeps the settings of a test; if that changes, all examples are tried.
    place = "_hypothesis_internal_use_settings"
    for test in {id(item.obj): item.obj for item in items if hasattr(item, "obj")}.values():
        asked = getattr(test, place, None)
        if isinstance(asked, settings):
            setattr(test, place, settings(asked, max_examples=in_part(asked.max_examples)))


def repeats(item):
    """Say whether a test tries more of what others try: ``make test`` tries some examples of each property."""
    marks = {mark.name for mark in item.iter_markers()}
    return "many" in marks or ("hypothesis" in marks and "slow" not in marks)


def pytest_configure(config):
    if "TMPDIR" in os.environ or config.getoption("basetemp") or not os.access(MEMORY, os.W_OK):
        return
    if shutil.disk_usage(MEMORY).free >= ROOM:
        os.environ["TMPDIR"] = str(MEMORY)  # also of the commands that tests start
        tempfile.tempdir = None  # it was asked for before, and is remembered
