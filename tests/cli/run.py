"""Run the command line as a user does: in a process of its own."""

import os
import subprocess
import sys


def reveil(*arguments, **environment):
    """Return the finished process; its output is text."""
    return subprocess.run(
        [sys.executable, "-c", "from reveil.cli import main; main()", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
