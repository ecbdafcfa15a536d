"""What must hold of every command, whatever it was given."""

import hashlib
import json
import re
from contextlib import closing
from dataclasses import dataclass

import duckdb

from reveil.core.errors import VaultError
from reveil.vault.anchor import Anchor

SECRET = re.compile(r"zqx|88170\d\d\d", re.IGNORECASE)  # planted in every person, identifier and sensitive value
MOST_DUMPS = 40
_INSIDE = re.compile(r"something went wrong inside Reveil \(([^)]*)\)")


@dataclass(frozen=True)
class Finding:
    """A property that does not hold: ``cause`` is the same for cases that are probably the same defect."""

    cause: str
    detail: str


def said(ran, *, remedy=False):
    """Check the exit code and what was said."""
    talk = ran.err + ran.spilled
    if ran.escaped is not None:
        yield Finding(f"escaped: {ran.escaped} from {ran.asked[0]}", _first(talk))
    elif ran.code not in (0, 1, 2):
        yield Finding(f"exit code {ran.code} from {ran.asked[0]}", _first(talk))
    for inside in _INSIDE.findall(talk):
        yield Finding(f"inside Reveil: {inside}", str(ran))
    if "panicked at" in talk:
        yield Finding(f"panic text: {_plain(talk[talk.index('panicked at') :])[:60]}", str(ran))
    if "Traceback (most recent" in talk + ran.out:
        yield Finding(f"traceback from {ran.asked[0]}", _first(talk))
    if ran.code in (1, 2):
        yield from _explained(ran, remedy=remedy)
    yield from _leaks(ran, talk)


def _explained(ran, *, remedy):
    lines = [line for line in ran.err.splitlines() if line.strip()]
    about = next((line for line in lines if re.match(r"(?i)error: ", line)), None)
    if not lines or (ran.code == 2 and about is None):
        yield Finding(f"exit {ran.code} without an error from {ran.asked[0]}", str(ran))
    elif about is not None and len(about.split()) < 4:
        yield Finding(f"an error that names nothing: {_plain(about)}", str(ran))
    elif remedy and lines == [about] and "must" not in about:
        yield Finding(f"an error without a remedy: {_plain(about)}", str(ran))


def _leaks(ran, talk):
    # The audit names people and values on stdout, and the budget values: they are for the owner's eyes.
    shown = talk if ran.asked[:1] == ["audit"] or "--budget" in ran.asked else talk + ran.out
    for word in sorted(ran.asked, key=len, reverse=True):  # what the user typed may be repeated
        shown = shown.replace(word, "")
    found = SECRET.search(shown)
    if found:
        line = next(line for line in shown.splitlines() if found.group() in line)
        yield Finding(f"leak: {ran.asked[0]} says {_plain(line)[:90]}", line[:300])


def _plain(text):
    """Return a message without what differs from case to case."""
    text = re.sub(r"'[^']*'|\"[^\"]*\"", "'...'", text.splitlines()[0] if text else "")
    return re.sub(r"\S*\.(csv|parquet|toml|json)(:\d+)?", "FILE", re.sub(r"\d[\d,.]*", "0", text))


def _first(text):
    return next((line for line in text.splitlines() if line.strip()), "")[:300]


class Place:
    """The files of a case: what they were before a command, and what may not have become of them."""

    def __init__(self, folder):
        self.folder = folder
        self.look()

    def look(self):
        """Take the present state as the one before."""
        self.files = digests(self.folder)
        self.anchors = anchors(self.folder)
        self.vaults = {path: dump(path) for path in _vaults(self.folder)}
        self.keys = {path: path.read_bytes() for path in sorted(self.folder.glob("*.vault/key"))}

    def changed(self, ran, temporary):
        """Check the files after a command: inputs are as they were, a refused command changed nothing, no drafts."""
        after = digests(self.folder)
        # A broken bound is told after all was done: a report that says so is written.
        done = ran.code == 0 or (ran.code == 1 and "BROKEN" in ran.err) or ran.asked[:1] == ["history"]
        for path, before in self.files.items():
            now = after.get(path)
            if now != before and not (done and _replaceable(path, ran)):
                what = "is gone" if now is None else "was changed"
                yield Finding(f"{ran.asked[0]} (exit {ran.code}): a file {what}", f"{path}: {ran}")
        for path in sorted(after.keys() - self.files.keys()):
            name = path.rsplit("/", 1)[-1]
            hidden = any(part.startswith(".") for part in path.split("/"))
            if hidden or (not done and path not in _meant_json(ran)):
                yield Finding(f"{ran.asked[0]} (exit {ran.code}) leaves {_kind(name)}", f"{path}: {ran}")
            elif name.endswith(".json"):
                yield from _complete(self.folder / path, ran)
        left = sorted(path.name for path in temporary.iterdir())
        if left:
            yield Finding(f"{ran.asked[0]} leaves something in the temporary folder", f"{left}: {ran}")
        if not done:
            yield from self._vaults_kept(ran)
        yield from self._anchors_kept(ran)
        for path, before in self.keys.items():  # no command changes a key, whatever becomes of the rest
            if not path.exists() or path.read_bytes() != before:
                yield Finding(f"{ran.asked[0]} (exit {ran.code}): the key is another one", str(ran))

    def _vaults_kept(self, ran):
        for path, known in self.vaults.items():
            if dump(path) != known:
                yield Finding(f"{ran.asked[0]} (exit {ran.code}) changed the vault", str(ran))
        for path in _vaults(self.folder):
            if path not in self.vaults and (dump(path) or {}).get("releases"):
                yield Finding(f"{ran.asked[0]} (exit {ran.code}) left a vault with a release", str(ran))

    def _anchors_kept(self, ran):
        """An anchor is there, whole, where it was or further on, and the vault contains it as it did before."""
        after = anchors(self.folder)
        for path, (before, held) in self.anchors.items():
            if before is None:
                continue
            now, holds = after.get(path, (None, False))
            aside = (self.folder / f"{path}.{before.series}").exists()  # of a series that was ended by --new-series
            if now is None:
                yield Finding(f"{ran.asked[0]} (exit {ran.code}): an anchor is gone", f"{path}: {ran}")
            elif now.series == before.series and now.entry < before.entry:
                yield Finding(f"{ran.asked[0]} (exit {ran.code}): an anchor went back", f"{path}: {ran}")
            elif now.series != before.series and not aside:
                yield Finding(f"{ran.asked[0]} (exit {ran.code}): an anchor was lost to another series", str(ran))
            elif held and not holds:
                yield Finding(f"{ran.asked[0]} (exit {ran.code}): the vault does not contain its anchor", str(ran))


def anchors(folder):
    """Return every anchor of a folder, None for a damaged one, and whether the chain of its vault contains it."""
    found = {}
    for path in sorted(folder.glob("*.anchor")):
        try:
            anchor = Anchor.read(path)
        except VaultError:
            found[path.name] = None, False
            continue
        known = dump(path.with_suffix(".vault")) or {}
        found[path.name] = (
            anchor,
            any((row[0], row[-1]) == (anchor.entry, anchor.digest) for row in known.get("chain", [])),
        )
    return found


def digests(folder):
    """Return a digest of every file under a folder, but those of vaults inside it and the temporary folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and ".vault/" not in name and not name.startswith("tmp/") and not name.endswith(".anchor"):
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def dump(vault):
    """Return all that the database of a vault says, table by table; None where it cannot be read."""
    files = [vault / name for name in ("vault.duckdb", "vault.duckdb.wal")]
    return _dump(vault, tuple(hashlib.sha256(path.read_bytes()).digest() for path in files if path.is_file()))


_DUMPS = {}  # of the last databases: most commands change none, and most cases begin with a copy of the same one


def _dump(vault, content):
    if content not in _DUMPS:
        if len(_DUMPS) >= MOST_DUMPS:
            _DUMPS.pop(next(iter(_DUMPS)))
        _DUMPS[content] = _read(vault)
    return _DUMPS[content]


def _read(vault):
    try:
        with closing(duckdb.connect(str(vault / "vault.duckdb"), read_only=True)) as connection:
            names = [row[0] for row in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
            return {name: sorted(connection.table(name).fetchall(), key=repr) for name in sorted(names)}
    except duckdb.Error:
        return None


def _vaults(folder):
    return [path.parent for path in sorted(folder.glob("*.vault/vault.duckdb"))]


def _replaceable(path, ran):
    """Return whether a command may write over a file: releases without a vault, and JSON, of the name ``out``.

    And a damaged release by one that was told; its family looks that it is the same one.
    """
    if ran.asked[:1] == ["publish"] and "already release" in ran.err:  # what was told is put in place again
        target = ran.asked[ran.asked.index("-o") + 1] if "-o" in ran.asked else ""
        return path.split(".")[0] == target.split(".")[0]
    return path.startswith("out") and ran.asked[:1] != ["init"]


def _meant_json(ran):
    words = dict(zip(ran.asked, ran.asked[1:], strict=False))
    return {words["--json"]} if "--json" in words else set()


def _kind(name):
    return "a draft" if name.startswith(".") else "." + ".".join(name.split(".")[1:])


def _complete(path, ran):
    try:
        json.loads(path.read_bytes())
    except ValueError:
        yield Finding(f"{ran.asked[0]} leaves half a JSON file", f"{path.name}: {ran}")
