"""What scale costs: memory and time of large tables, and of a long series."""
