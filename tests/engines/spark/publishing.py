"""A program: publish a table, and say when each stage begins."""

import sys

from reveil.series.config import load_config
from reveil.series.publishing import publish_file


def _stage(name):
    sys.stdout.write(f"stage {name}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    data, config, out = sys.argv[1:]
    publish_file(load_config(config), data, out, stage=_stage)
    sys.stdout.write("done\n")
