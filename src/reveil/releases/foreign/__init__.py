"""Releases made by any tool: their tables, and what their cells say.

A table that another program wrote has no manifest and its own way to write a range. It is read into the same
:class:`reveil.releases.release.Release` as one of Reveil's. Its generalised cells stay text, and get a meaning when
somebody asks what they admit among the values of a snapshot or a population.
"""

from __future__ import annotations

from reveil.releases.foreign.cells import ForeignCells
from reveil.releases.foreign.reader import read_release
from reveil.releases.foreign.translated import translated

__all__ = ["ForeignCells", "read_release", "translated"]
