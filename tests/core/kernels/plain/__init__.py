"""Plain-Python twins of the compiled kernels: slow, obvious, and what the kernels are tested against."""
