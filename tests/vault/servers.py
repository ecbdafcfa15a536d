"""A PostgreSQL server for tests: in a temporary folder, as an unprivileged user, on a socket there and nowhere else."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

OWNER = "owner"


def binaries() -> Path | None:
    """Return the folder of the server's programs, None where there is no server."""
    found = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True), *_on_the_path()]
    return next((folder for folder in found if (folder / "initdb").exists() and (folder / "postgres").exists()), None)


def _on_the_path() -> list[Path]:
    program = shutil.which("initdb")
    return [] if program is None else [Path(program).parent]


def reason() -> str | None:
    """Return why there is no server here, None if there is one."""
    if binaries() is None:
        return "no PostgreSQL server is installed (apt-get install postgresql)"
    if os.getuid() == 0 and _other() is None:
        return "PostgreSQL does not run as root, and there is no other user"
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed"
    return None


def _other() -> pwd.struct_passwd | None:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None


class Server:
    """A server that can be stopped, started and killed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._user = _other() if os.getuid() == 0 else None
        self.own(folder)
        self._run("initdb", "-D", self.data, "-U", OWNER, "-A", "trust", "--no-sync", "--locale=C", "--encoding=UTF8")
        conf = (
            f"local all {OWNER} trust",
            f"local replication {OWNER} trust",
            "local all asks password",
            "local all all trust",
            "hostssl all all 127.0.0.1/32 trust",
        )
        (Path(self.data) / "pg_hba.conf").write_text("\n".join(conf) + "\n")

    @property
    def data(self) -> str:
        return str(self.folder / "data")

    def _run(self, program: str, *arguments: str, check: bool = True) -> None:
        more: dict[str, Any] = (
            {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []} if self._user else {}
        )
        subprocess.run(
            [str((binaries() or Path()) / program), *arguments],
            check=check,
            capture_output=True,
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": str(self.folder)},
            **more,
        )

    def start(self, *settings: str, listen: str = "") -> None:
        options = f"-k {self.folder} -c listen_addresses='{listen}' -c fsync=off -c max_connections=20"
        options += "".join(f" -c {setting}" for setting in settings)
        log = str(self.folder / "log")
        self._run("pg_ctl", "-D", self.data, "-w", "-s", "-l", log, "-o", options, "start")

    def own(self, path: Path) -> Path:
        """Give a file or folder to the user that the server runs as."""
        if self._user is not None:
            os.chown(path, self._user.pw_uid, self._user.pw_gid)
        return path

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "-D", self.data, "-w", "-s", "-m", mode, "stop", check=False)

    def copied(self, folder: Path) -> Server:
        """Return a read-only copy of this server that follows it, in a folder of its own, started."""
        copy = object.__new__(Server)
        copy.folder, copy._user = folder, self._user
        folder.mkdir(mode=0o755)
        self.own(folder)
        self._run(
            "pg_basebackup", "-D", copy.data, "-h", str(self.folder), "-U", OWNER, "-R", "-c", "fast", "--no-sync"
        )
        copy.start()
        return copy

    def address(self, schema: str, user: str = OWNER, **more: object) -> str:
        query = "".join(f"&{name}={value}" for name, value in more.items())
        return f"postgresql://{user}@/postgres?host={self.folder}&schema={schema}{query}"

    def dump(self) -> bytes:
        """Return everything that the database has, and the bytes of its files: tables, log, dead rows."""
        self.stop("fast")
        content = b"".join(path.read_bytes() for path in sorted(Path(self.data).rglob("*")) if path.is_file())
        self.start()
        return content


@contextmanager
def running() -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as folder:  # the path of a socket must be short
        Path(folder).chmod(0o711)
        inner = Path(folder) / "s"
        inner.mkdir(mode=0o755)
        server = Server(inner)
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")
