"""Possible worlds: buckets, value orders, permutations, placings, and the matchings of each release."""
