"""Kernels of the first cuts of a large table: the cell of each record, and how often each code occurs in each cell."""

from __future__ import annotations

from reveil.core.kernels import kernel


@kernel
def descend(rows, attribute, code, below, out):
    """Find the node of each record that is not cut further: ``rows`` are (attributes, records).

    Node i is cut along ``attribute[i]`` (-1: it is not): codes up to ``code[i]`` go to ``below[i]``, others to the
    next one.
    """
    for record in range(rows.shape[1]):
        node = 0
        while attribute[node] >= 0:
            right = rows[attribute[node], record] > code[node]
            node = below[node] + right
        out[record] = node


@kernel
def count(place, codes, counts):
    """Count codes by place: ``counts`` is (places, codes), and records with a place of -1 are left out."""
    for record in range(place.shape[0]):
        if place[record] >= 0:
            counts[place[record], codes[record]] += 1
