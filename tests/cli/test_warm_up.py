"""After ``reveil warm-up`` nothing is left to compile, for any guarantee and method that can be published."""

import os
import re
import time
from contextlib import contextmanager

import pytest
from numba.core import event

from reveil.cli import rehearsals, warm_up
from reveil.cli.rehearsals import REHEARSALS, Rehearsal, go_through
from reveil.core import kernels, registry
from reveil.core.kernels import _cache, _warm
from tests.cli.run import reveil

LESS_USUAL = [
    Rehearsal('kind = "static"\nk = 5\nl = 2\ndiversity = "recursive"\nc = 3.0'),
    Rehearsal('kind = "static"\nk = 5\nl = 2', 'kind = "mondrian"\nchoose = "gain"'),
    Rehearsal('kind = "tau-safety"\nm = 3\nform = "exact"'),
    Rehearsal('kind = "refinement"\nk = 3\nt = 0.7'),
    Rehearsal('kind = "worlds"\nl = 3\nblind = true', recipients=True),
]


def kinds(section):
    found = set()
    for rehearsal in REHEARSALS:
        found |= set(re.findall(r'^kind = "(.+)"', getattr(rehearsal, section), re.MULTILINE))
    return found


def test_every_guarantee_and_every_method_is_gone_through():
    assert kinds("guarantee") == set(registry.names("guarantees"))
    assert kinds("method") == set(registry.names("groupers"))


@contextmanager
def compilations():
    names = []

    class Listener(event.Listener):
        def on_start(self, event):
            names.append(f"{event.data['dispatcher'].py_func.__name__}{event.data['args']}")

        def on_end(self, event):
            pass

    with event.install_listener("numba:compile", Listener()):
        yield names


@pytest.mark.slow
def test_nothing_is_left_to_compile():
    if not kernels.are_kept():
        pytest.skip(kernels.kept())
    assert reveil("warm-up").returncode == 0
    with compilations() as compiled:
        for rehearsal in [*REHEARSALS, *LESS_USUAL]:
            # Other people, and more of them, than were gone through before.
            assert go_through(rehearsal, people=300, seed=2), rehearsal.text
            assert not compiled, f"{rehearsal.text}: {compiled}"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return an empty folder for kernels."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    _cache.folder.cache_clear()
    yield tmp_path / "reveil"
    _cache.folder.cache_clear()


def test_what_was_compiled_is_found_again(folder, monkeypatch):
    gone_through = []
    monkeypatch.setattr(warm_up, "_compile", gone_through.append)
    folder.mkdir(mode=0o700)
    (folder / "some.kernel").touch()
    assert "all kernels are compiled, once" in reveil("warm-up").stderr
    assert "already" in reveil("warm-up").stderr
    assert len(gone_through) == 1
    (folder / "some.kernel").unlink()
    assert "already" not in reveil("warm-up", "--quiet").stderr
    monkeypatch.setattr(_warm, "_digest", lambda: "of other sources")
    reveil("warm-up")
    assert len(gone_through) == 3


def test_what_nobody_used_for_long_is_removed(folder, monkeypatch):
    monkeypatch.setattr(warm_up, "_compile", lambda console: None)
    folder.mkdir(mode=0o700)
    for name, age in (("old.kernel", 100), ("new.kernel", 1), ("warm-old", 100)):
        (folder / name).touch()
        used = time.time() - age * 24 * 3600
        os.utime(folder / name, (used, used))
    assert reveil("warm-up", "--quiet").returncode == 0
    left = {path.name for path in folder.iterdir()}
    assert "new.kernel" in left
    assert not left & {"old.kernel", "warm-old"}


def test_kernels_that_cannot_be_kept_are_not_compiled(tmp_path, monkeypatch):
    monkeypatch.setattr(_cache, "folder", lambda: None)
    ran = reveil("warm-up")
    assert ran.returncode == 2
    assert "in vain" in ran.stderr


def test_what_is_refused_ends_a_rehearsal(monkeypatch):
    monkeypatch.setattr(rehearsals, "MONTHS", 1)
    assert go_through(Rehearsal('kind = "static"\nk = 500'), people=20) == 0
