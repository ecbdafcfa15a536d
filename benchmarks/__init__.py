"""Benchmarks: everything in floors, the floor measured in the same run."""
