"""One release that satisfies a model by itself."""
