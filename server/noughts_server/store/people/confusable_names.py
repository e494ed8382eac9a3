"""Names that look alike. Names are ASCII (see `check_name`), so a short table is enough."""

import re

from noughts_bots.reference.registry import REFERENCE_BOTS

_SEPARATORS = r"[\-_.:=,#+]+"
_ANYWHERE = re.compile(_SEPARATORS)
_BETWEEN_DIGITS = re.compile(rf"(?<=\d){_SEPARATORS}(?=\d)")
_BETWEEN_LIKE_DIGITS = re.compile(rf"(?<=[\dolis]){_SEPARATORS}(?=[\dolis])")
"""Separators between digits, or letters that look like digits."""
_ALIKE = str.maketrans("01i5", "olls")
_PAIRS = (("rn", "m"), ("vv", "w"), ("cl", "d"))


def skeleton(name: str) -> str:
    """Return a text that is equal for names that look alike: `minimax`, `Minimax`, `rninimax`, `mini-max.`.

    It finds the names to which `look_alike` compares a name, because names that differ can have the same one.
    """
    return _letters(_ANYWHERE.sub("", name.lower()))


def look_alike(first: str, second: str) -> bool:
    """Return whether two names look alike.

    Separators are ignored, except between digits: `bot-1.0` is not `bot-10`, but it looks like `bot-l.0`.
    """
    return any(
        _with_separators(first, between) == _with_separators(second, between)
        for between in (_BETWEEN_DIGITS, _BETWEEN_LIKE_DIGITS)
    )


def _with_separators(name: str, between: re.Pattern[str]) -> str:
    """Return the skeleton of a name with a space for these separators."""
    return _letters(_ANYWHERE.sub("", between.sub(" ", name.lower())))


def _letters(text: str) -> str:
    """Replace digits and letters by one of those that look like them."""
    text = text.translate(_ALIKE)
    for pair, letter in _PAIRS:
        text = text.replace(pair, letter)
    return text


_REFERENCES = {skeleton(name): name for name in REFERENCE_BOTS}


def looks_like_reference(name: str) -> str:
    """Return the reference bot that this name looks like, or is, ignoring options after a colon; empty without one."""
    return _REFERENCES.get(skeleton(name.partition(":")[0]), "")


def imitated_reference(name: str) -> str:
    """Return the reference bot that this name imitates, ignoring options after a colon; empty without one."""
    reference = looks_like_reference(name)
    return "" if reference == name.partition(":")[0] else reference
