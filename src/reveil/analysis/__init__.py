"""What can be computed from releases: counts, measures of what they lost, workloads of questions."""
