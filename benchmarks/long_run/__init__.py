"""A long run: two years of a hospital under every guarantee, killed, raced, erased from, and judged again and again.

``python -m benchmarks.long_run --persons 100000`` publishes 24 monthly extracts through the command line, as a steward
would. Every guarantee runs once undisturbed (*calm*), and once in each kind of vault while publishers are killed at
random moments, and two of them work at once. What comes out must be the same to the byte; every few releases the vault
is checked, the series judged again and the files attacked.
"""
