"""The natural order of names: b2 before b10."""

import re

_DIGITS = re.compile("([0-9]+)")


def natural_key(name: str) -> tuple[list[str | tuple[int, str]], str]:
    """Return a sort key that compares runs of digits as numbers, and all other characters as text."""
    parts: list[str | tuple[int, str]] = list(_DIGITS.split(name))
    for place in range(1, len(parts), 2):
        digits = str(parts[place]).lstrip("0")
        parts[place] = len(digits), digits  # not int(), which refuses thousands of digits
    return parts, name
