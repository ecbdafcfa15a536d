"""``reveil.testing`` without its extra: the oracles work, and what draws examples says what it needs."""

import subprocess
import sys

BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("hypothesis", "pytest", "_pytest"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
import reveil.testing as t

assert t.enumerate_worlds and t.posterior and t.all_tables
assert set(dir(t)) == set(t.__all__)
for name in ("tables", "histories", "check_model", "check_grouper", "Table", "group_statistics"):
    try:
        getattr(t, name)
    except ImportError as error:
        assert "needs hypothesis" in str(error) and "reveil[testing]" in str(error), error
    else:
        raise AssertionError(name)
try:
    t.nothing_such
except AttributeError as error:
    assert "nothing_such" in str(error)
assert not {"hypothesis", "pytest"} & sys.modules.keys()
"""


def test_the_oracles_need_no_extra():
    done = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_everything_is_there_with_it():
    import reveil.testing

    assert all(getattr(reveil.testing, name) is not None for name in reveil.testing.__all__)
