"""Relations in sealed pieces: whoever holds the place where they lie, and not the keys, learns sizes and no more.

A *shelf* keeps the pieces (a file here, a server elsewhere); the store above it opens them into memory, lets the policy
work there, and seals what was changed anew.
"""
