"""Recoders: they turn a partition into what is published. One file each."""
