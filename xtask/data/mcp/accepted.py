"""Accepted differences: (cases, places, difference, reason); the first three are regular expressions.

`compare.py` fails on every difference that is not listed here.
"""

ANY = r"(?s:.*)"

ACCEPTED = [
    (ANY, r"message \d+ tool", r"Invalid arguments for tool", "the JSON parsers word their errors differently"),
    (r"resources.*", r"message \d+ tool", r'"(resources|resourceTemplates)":', "the fields of a resource have a fixed order"),
]
