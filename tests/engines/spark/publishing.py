"""A program: publish a table, and say when each stage begins; ``wait`` as its last word: do not confirm it."""

import sys
import time

from reveil.series.config import load_config
from reveil.series.publishing import publish_file
from reveil.vault import Vault


def _say(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _wait(*_, **__):
    _say("prepared")
    time.sleep(600)


if __name__ == "__main__":
    data, config, out, *more = sys.argv[1:]
    if more == ["wait"]:
        Vault.confirm = _wait
    publish_file(load_config(config), data, out, stage=lambda name: _say(f"stage {name}"))
    _say("done")
