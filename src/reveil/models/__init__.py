"""Models: predicates on one group. One file each."""
