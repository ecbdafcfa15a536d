"""Cells of the common refinement: what was told of them, and which pieces of them a release may show."""
