"""Snapshots: one raw table, from a file or a frame, checked and with settled types.

This is the first step of everything. What passes here has exactly the declared columns, one row for each person,
one type for each column and one form for what is missing, so that no later step has to ask.
"""

from __future__ import annotations

from reveil.tables.snapshot.frames import to_native
from reveil.tables.snapshot.table import RawRows, Snapshot, read_snapshot
from reveil.tables.snapshot.types import canonical_text, infer_type, type_of

__all__ = ["RawRows", "Snapshot", "canonical_text", "infer_type", "read_snapshot", "to_native", "type_of"]
