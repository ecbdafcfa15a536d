"""The studio: what a steward does at the command line, in a browser and over REST, on this machine.

It calls what the command line calls and knows nothing of what lies inside: a table that is published here has the same
bytes. Long work is done by worker processes; the server keeps nothing that the folder and the vaults do not keep.
"""
