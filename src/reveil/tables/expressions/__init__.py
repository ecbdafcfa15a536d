"""The query language of ``reveil query``, ``release.count`` and ``publish --where``.

``syntax`` reads text into a tree, ``binding`` fits the tree to typed columns, ``frames`` asks raw tables and
:mod:`reveil.analysis.questions` asks releases. Every complaint is an :class:`~reveil.core.errors.ExpressionError` with
the place.
"""

from __future__ import annotations

from reveil.tables.expressions.frames import matches
from reveil.tables.expressions.syntax import Expression, parse

__all__ = ["Expression", "matches", "parse"]
