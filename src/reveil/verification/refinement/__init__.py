"""The cells of the common refinement of all the releases of a series, and the pieces that a release cuts them into."""
