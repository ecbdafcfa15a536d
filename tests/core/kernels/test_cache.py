"""Compiled kernels are kept where only their owner can write, checked when they are loaded, and done without."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reveil.core import kernels
from reveil.core.kernels import _cache

# Runs one kernel; prints what was loaded and what was compiled.
RUN = """
import resource, sys
if sys.argv[1:] == ["full"]:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
import numpy as np
from reveil.core.kernels.csv_scan import scan
assert scan(np.frombuffer(b"a,b\\n1,2\\n", np.uint8), 44, np.empty(0, np.int64))[4] == 1
print(sum(scan.stats.cache_hits.values()), sum(scan.stats.cache_misses.values()))
"""
LOADED, COMPILED = "1 0", "0 1"


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Return an empty home, and an empty folder for temporary files."""
    for name in ("home", "tmp"):
        (tmp_path / name).mkdir(mode=0o700)
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    _cache.folder.cache_clear()
    yield tmp_path
    _cache.folder.cache_clear()


def run(*arguments):
    done = subprocess.run([sys.executable, "-c", RUN, *arguments], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.strip()


def add(x, y):
    return x + y


def answer():
    """Run a small kernel as a new process would."""
    made = kernels.kernel(add)
    assert made(1, 2) == 3
    return f"{sum(made.stats.cache_hits.values())} {sum(made.stats.cache_misses.values())}"


def kept(places):
    return sorted((places / "home/.cache/reveil/kernels").glob("*"))


def test_a_kernel_is_compiled_once(places):
    assert run() == COMPILED
    (file,) = kept(places)
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert run() == LOADED
    assert not list((places / "tmp").iterdir())


def test_a_damaged_kernel_is_made_again(places):
    assert answer() == COMPILED
    (file,) = kept(places)
    whole = file.read_bytes()
    for damaged in (whole[:100], whole[:-1], whole[:5000] + bytes([whole[5000] ^ 1]) + whole[5001:], b"", whole[:32]):
        file.write_bytes(damaged)
        assert answer() == COMPILED
        assert kept(places) == [file]
        assert answer() == LOADED


def test_a_kernel_of_other_sources_is_made_again(places, monkeypatch):
    assert answer() == COMPILED
    monkeypatch.setattr(_cache, "stamp", lambda: b"another")
    assert answer() == COMPILED
    assert answer() == LOADED
    assert len(kept(places)) == 2  # an installation beside this one does not lose what it compiled


@pytest.mark.slow
def test_installations_with_the_same_sources_share_what_is_compiled(places, tmp_path):
    assert run() == COMPILED
    shutil.copytree(Path(kernels.__file__).parents[2], tmp_path / "elsewhere/reveil")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "elsewhere")}
    done = subprocess.run([sys.executable, "-c", RUN], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == LOADED


def test_a_full_disk_does_without(places):
    assert run("full") == COMPILED
    assert kept(places) == []
    assert not list((places / "tmp").iterdir())


def test_a_disk_that_cannot_be_written_to_does_without(places, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/cache")
    assert answer() == COMPILED
    assert not list((places / "tmp").iterdir())
    assert not list((places / "home").iterdir())


def test_the_folder_is_made_for_its_owner_alone(places):
    before = os.umask(0)
    try:
        assert _cache.folder() == (places / "home/.cache/reveil/kernels").resolve()
    finally:
        os.umask(before)
    for made in (".cache", ".cache/reveil", ".cache/reveil/kernels"):
        assert (places / "home" / made).stat().st_mode & 0o777 == 0o700
    assert kernels.kept() == "once on this machine"


def test_a_folder_that_others_can_read_is_closed_to_them(places):
    own = places / "home/.cache/reveil/kernels"
    own.mkdir(parents=True)
    own.chmod(0o755)
    assert _cache.folder() == own.resolve()
    assert own.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("open_to_others", ["kernels", "reveil", ".cache"])
@pytest.mark.parametrize("mode", [0o777, 0o720])
def test_a_folder_that_others_can_write_to_is_not_used(places, open_to_others, mode):
    own = places / "home/.cache/reveil/kernels"
    own.mkdir(parents=True)
    opened = {"kernels": own, "reveil": own.parent, ".cache": own.parent.parent}[open_to_others]
    opened.chmod(mode)
    assert _cache.folder() is None
    assert opened.stat().st_mode & 0o777 == mode
    assert "not kept" in kernels.kept()
    assert str(own) in kernels.kept()


def test_nothing_is_loaded_from_a_folder_that_others_can_write_to(places):
    assert answer() == COMPILED
    own = places / "home/.cache/reveil/kernels"
    own.chmod(0o777)
    before = {file: file.read_bytes() for file in own.iterdir()}
    _cache.folder.cache_clear()
    assert answer() == COMPILED
    assert {file: file.read_bytes() for file in own.iterdir()} == before


def test_a_link_and_a_file_in_its_place_are_not_used(places):
    own = places / "home/.cache/reveil/kernels"
    own.parent.mkdir(parents=True)
    (places / "elsewhere").mkdir(mode=0o700)
    own.symlink_to(places / "elsewhere")
    assert _cache.folder() is None
    own.unlink()
    own.write_text("")
    _cache.folder.cache_clear()
    assert _cache.folder() is None


def test_a_folder_of_somebody_else_is_not_used(places, monkeypatch):
    assert _cache.folder() is not None
    _cache.folder.cache_clear()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert _cache.folder() is None


def test_a_folder_that_is_given_is_checked_like_any_other(places, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(places / "given"))
    assert _cache.folder() == (places / "given" / "reveil").resolve()
    (places / "given").chmod(0o777)
    _cache.folder.cache_clear()
    assert _cache.folder() is None


@pytest.mark.parametrize("home", [None, "relative"])
def test_without_a_home_nothing_is_kept(places, monkeypatch, home):
    if home is None:
        monkeypatch.setattr(Path, "expanduser", lambda self: (_ for _ in ()).throw(RuntimeError))
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", home)
    assert _cache.folder() is None
    assert "no home" in kernels.kept()
