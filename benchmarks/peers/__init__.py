"""Reveil beside other anonymisers: the same table, the same model, the same run.

The peers are no dependencies of the project. They live in an environment of their own (``--install`` makes it), each
runs there in a process of its own with the same file in and out, and what it wrote is checked by code that is neither
its own nor Reveil's. A peer that is not installed is named and left out.
"""
