"""Accepted differences: (cases, places, difference, reason); the first three are regular expressions.

`compare.py` fails on every difference that is not listed here.
"""

ACCEPTED = []
