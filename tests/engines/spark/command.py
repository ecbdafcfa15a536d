"""The program of docs/scale.md for spark-submit."""

from reveil.cli import main

main()
