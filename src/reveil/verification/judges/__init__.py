"""One judge per promise, found by entry point (``reveil.judges``): of a model by its name, of a guarantee by its kind.

Another package that brings a model or a guarantee brings its judge through the same door. A promise without a judge is
refused: nobody could tell whether it was kept.
"""
