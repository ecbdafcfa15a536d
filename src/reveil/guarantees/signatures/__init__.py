"""Signatures: groups whose sets of values persons keep from release to release (m-invariance, tau-safety)."""
