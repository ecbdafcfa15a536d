"""The experiments of the five sources, run again: each module runs alone, and ``evidence`` writes what they found.

``python -m benchmarks.papers.tau_safety`` runs the sizes of the source and stores its result in ``docs/evidence``;
``--fast`` runs the same code on a small table in a few seconds and stores nothing; ``--out FOLDER`` stores it there.
"""
