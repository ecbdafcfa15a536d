"""What the vault remembers of cells.

Of each person the cell, and the values they were published with; of each cell its size and, per version, its
histogram. Who leaves the table stays in the cell that they were in, so that a release costs what it touches. An erased
person is nobody's any more, and stays in the size and the histogram of the cell: the world still knows that somebody
was there.
"""

from __future__ import annotations

from reveil.vault.protocol import Ledger

CELLS = Ledger("cells", whole=("cell",))
TOLD_VALUES = Ledger("told_values", keys=("attribute", "release"), whole=("value",), outlives=False, coded="value")
SIZES = Ledger("cell_sizes", keys=("cell",), whole=("size",), personal=False)
COUNTS = Ledger(
    "cell_values",
    keys=("cell", "attribute", "release", "value"),
    whole=("number",),
    personal=False,
    coded="value",
)
# The whole table of each release, for models that compare groups with it.
TABLES = Ledger("tables", keys=("attribute", "release", "value"), whole=("number",), personal=False, coded="value")
# Codes whose closure is the published box: who was erased is missed by a counterfeit, not by the box.
BOXES = Ledger("cell_boxes", keys=("cell", "attribute", "code"), personal=False, coded="code")
# How many were asked for, how many of them had been in the release before, and the next number of a cell.
PACE = Ledger("pace", keys=("release",), whole=("asked", "stayed", "next_cell"), personal=False)
# Cells of which only all members at once may be published (WHOLE), or nobody any more (CLOSED); others are not listed.
SEALED = Ledger("sealed_cells", keys=("cell",), whole=("state",), personal=False)
WHOLE, CLOSED = 1, 2
