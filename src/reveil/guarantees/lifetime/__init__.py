"""The budget of every pair of a person and a value: what was told, what may still be told, and groups that fit."""
