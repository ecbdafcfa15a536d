"""Where the rows of a large table lie while they are worked on: in memory, on disk, on other machines."""
