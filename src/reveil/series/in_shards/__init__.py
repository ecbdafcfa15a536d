"""Releases of a series whose people are not in one memory: bucket by bucket of their pseudonyms."""
