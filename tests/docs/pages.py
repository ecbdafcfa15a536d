"""Read the pages of the documentation, and do what they say.

A fenced block is carried out by its language: ``console`` (commands after ``$``, then what they print), ``python``,
``pycon``, and any other with ``file=NAME``, whose text is written to that file. Others are for the eye only.
"""

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from tests.cli.run import reveil

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
PROGRESS = re.compile(r"^[^\n]* … \d+ s\n", re.MULTILINE)
FENCE = re.compile(r"^```(\S+)?([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the words behind it, and the line it begins in."""

    language: str
    words: str
    text: str
    line: int

    @property
    def file(self):
        found = re.search(r"file=(\S+)", self.words)
        return None if found is None else found[1]


def page(name):
    return (DOCS / name).read_text(encoding="utf-8")


def blocks(text):
    """Return the fenced blocks of a page in their order."""
    return [
        Block(found[1] or "", found[2].strip(), found[3], text.count("\n", 0, found.start()) + 1)
        for found in FENCE.finditer(text)
    ]


def sections(text, level="##"):
    """Return what stands under each heading of a level."""
    parts = re.split(rf"^{level} (.+)$", FENCE.sub("", text), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows(text):
    """Return the cells of the first table in a text, line by line, the head first."""
    lines = re.search(r"(?:^\|.*\|$\n?)+", text, re.MULTILINE)[0].splitlines()
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [line for number, line in enumerate(cells) if number != 1]


def links(text):
    """Return what a page points at, outside of its blocks: a path, and an anchor or an empty text."""
    return re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)", FENCE.sub("", text))


def anchors(text):
    """Return the names by which the headings of a page can be pointed at."""
    heads = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def agrees(shown, said):
    """Return whether a text is the one that is shown, in which ``...`` stands for anything."""
    shown, said = ("\n".join(line.rstrip() for line in text.strip().splitlines()) for text in (shown, said))
    return re.fullmatch(".*?".join(map(re.escape, shown.split("..."))), said, re.DOTALL) is not None


class Follower:
    """Somebody who types a page into a terminal, in the folder where they are."""

    def __init__(self, name):
        self.name = name
        self.names = {"__name__": "__main__"}
        self.code = 0

    def follow(self, text):
        for block in blocks(text):
            with self._place(block):
                self._do(block)
        assert self.code == 0, f"{self.name}: the last command failed, and nothing says so"

    @contextlib.contextmanager
    def _place(self, block):
        try:
            yield
        except Exception as error:
            error.add_note(f"docs/{self.name}, the block in line {block.line}")
            raise

    def _do(self, block):
        if block.file is not None:
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            exec(compile(block.text, self.name, "exec"), self.names)  # noqa: S102
        elif block.language == "pycon":
            self._answer(block)
        elif block.language == "console":
            for command, shown in commands(block.text):
                said = self._type(command)
                assert agrees(shown, said), f"$ {command}\nshown:\n{shown}\nsaid:\n{said}"

    def _answer(self, block):
        test = doctest.DocTestParser().get_doctest(block.text, self.names, self.name, self.name, block.line)
        report = io.StringIO()
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
        runner.run(test, out=report.write, clear_globs=False)
        self.names.update(test.globs)
        assert not runner.failures, report.getvalue()

    def _type(self, command):
        if command == "echo $?":
            code, self.code = self.code, 0
            return str(code)
        assert self.code == 0, f"before $ {command}: the last command failed, and nothing says so"
        words = shlex.split(command)
        named = [word for word in words if re.match(r"[A-Z_]+=", word)]
        if words[len(named)] == "reveil":
            with mock.patch.dict(os.environ, dict(word.split("=", 1) for word in named)):
                done = reveil(*words[len(named) + 1 :])
        else:
            done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)  # noqa: S607
        self.code = done.returncode
        assert "inside Reveil" not in done.stderr
        # On a busy machine a command may last for more than ten seconds, and says so.
        return PROGRESS.sub("", done.stdout + done.stderr)


def commands(text):
    """Return each command of a block with what is shown after it; a line that ends in a backslash goes on."""
    found = []
    for line in text.splitlines():
        if found and found[-1][0].endswith("\\"):
            found[-1][0] = found[-1][0][:-1] + line.strip()
        elif line.startswith("$ "):
            found.append([line[2:], ""])
        else:
            found[-1][1] += line + "\n"
    return found
