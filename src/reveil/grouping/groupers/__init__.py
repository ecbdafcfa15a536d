"""Groupers: they propose partitions. One file each."""
