"""What everything stands on: errors, the registry, random streams, threads, arrays and compiled kernels."""
