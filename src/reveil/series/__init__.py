"""Series: releases of one table that remember each other."""

from __future__ import annotations

from reveil.series.adoption import Adopted
from reveil.series.published import Published
from reveil.series.series import Series

__all__ = ["Adopted", "Published", "Series"]
