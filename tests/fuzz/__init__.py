"""A fuzzer: damaged files, odd settings and arguments, valid random series, and publishers that are killed.

::

    python -m tests.fuzz --cases 5000                    every family, in this process
    python -m tests.fuzz --seed 7 --case 1234 --family csv --keep found     one case again, and its files
    python -m tests.fuzz --kills 40                      child processes that die in the middle

A case is drawn from its seed, its number and its family alone, so one line repeats it. ``families`` says what is done,
``mutators`` and ``tables`` what it is done with, ``checks`` what must hold whatever it was.
"""
