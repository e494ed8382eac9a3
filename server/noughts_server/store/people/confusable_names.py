"""Names of bots that look alike. Names are ASCII (see `check_name`), so a short table is enough."""

import re

from noughts_bots.reference.registry import REFERENCE_BOTS

_SEPARATORS = re.compile(r"(?<!\d)[\-_.:=,#+]+|[\-_.:=,#+]+(?!\d)")
"""Separators that are not between two digits, and are ignored.

Between digits they matter: `bot-1.0` is not `bot-10`.
"""
_BETWEEN_DIGITS = re.compile(r"[\-_.:=,#+]+")
_PAIRS = (("rn", "m"), ("vv", "w"), ("cl", "d"))
_ALIKE = str.maketrans("01i5", "olls")


def skeleton(name: str) -> str:
    """Return a text that is equal for names that look alike: `minimax`, `Minimax`, `rninimax`, `mini-max.`."""
    text = _BETWEEN_DIGITS.sub("-", _SEPARATORS.sub("", name.lower()))
    for pair, letter in _PAIRS:
        text = text.replace(pair, letter)
    return text.translate(_ALIKE)


_REFERENCES = {skeleton(name): name for name in REFERENCE_BOTS}


def looks_like_reference(name: str) -> str:
    """Return the reference bot that this name looks like, or is, ignoring options after a colon; empty without one."""
    return _REFERENCES.get(skeleton(name.partition(":")[0]), "")


def imitated_reference(name: str) -> str:
    """Return the reference bot that this name imitates, ignoring options after a colon; empty without one."""
    reference = looks_like_reference(name)
    return "" if reference == name.partition(":")[0] else reference
