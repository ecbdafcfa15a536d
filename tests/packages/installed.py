"""What was installed works: ``.ci/packages`` runs this with the interpreter of a clean environment, outside the tree.

It is no test module: there is no pytest where a user installs.
"""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import polars as pl

import reveil as rv

USED = """
import reveil as rv

schema = rv.Schema(quasi=["age"], sensitive="disease")
model = rv.KAnonymity(4) & rv.DistinctDiversity(3)
estimate: float = rv.Release.read("public.csv").count("age >= 30").estimate
"""
MISUSED = 'import reveil as rv\n\nrv.KAnonymity("four")\n'
CONFIG = """
[series]
name = "clinic"

[columns]
pid = "person"
age = "quasi"
disease = "sensitive"

[guarantee]
kind = "static"
k = 5
l = 2
"""


def run(*command):
    return subprocess.run(
        [Path(sys.executable).parent / command[0], *command[1:]], capture_output=True, text=True, check=False
    )


def main(dist):
    home = Path(rv.__file__).parent
    assert "site-packages" in home.parts, f"the tree was imported, not the wheel: {home}"

    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    names = zipfile.ZipFile(wheel).namelist()
    for needed in ("reveil/py.typed", "reveil/releases/manifest.schema.json", "reveil/reporting/templates/style.css"):
        assert needed in names, f"{needed} is not in the wheel"
    assert any(name.endswith("LICENSE") for name in names), "the licence is not in the wheel"
    assert not any(name.startswith(("tests/", "benchmarks/")) for name in names)
    with tarfile.open(sdist) as packed:
        inside = {name.partition("/")[2] for name in packed.getnames()}
    assert {"pyproject.toml", "LICENSE", "README.md", "src/reveil/py.typed"} <= inside

    here = Path.cwd()
    (here / "reveil.toml").write_text(CONFIG)
    pl.DataFrame(
        {"pid": range(60), "age": [20 + n % 40 for n in range(60)], "disease": [f"d{n % 7}" for n in range(60)]}
    ).write_csv(here / "table.csv")
    for command in (
        ("reveil", "--version"),
        ("reveil", "publish", "table.csv", "-c", "reveil.toml", "-o", "public.csv"),
        ("reveil", "verify", "public.csv", "table.csv", "-c", "reveil.toml"),
    ):
        done = run(*command)
        assert done.returncode == 0, f"{command}: {done.stderr}"

    for name, text, code in (("used.py", USED, 0), ("misused.py", MISUSED, 1)):
        (here / name).write_text(text)
        done = run("mypy", "--strict", name)
        assert done.returncode == code, f"{name}: {done.stdout}"
    for file in (*here.glob("*.py"), *here.glob("public.*"), here / "table.csv", here / "reveil.toml"):
        file.unlink()


main(Path(sys.argv[1]))
