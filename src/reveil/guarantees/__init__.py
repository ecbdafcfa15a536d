"""Guarantees: bounds that a release, or a whole series of them, keeps. One file each."""
