"""Validate names, IDs, texts and numbers of requests."""

import re

from noughts_proto.names import NAME
from noughts_server.core.errors import InvalidArgument

_SLUG = re.compile(r"[a-z0-9\-]{1,63}")


def check_name(field: str, name: str) -> str:
    """Return the name of a bot, a version, an owner or an entry if it is valid. Raises InvalidArgument."""
    if not NAME.fullmatch(name):
        expected = "1 to 63 characters from a-z, A-Z, 0-9 and -_.:=,#+, beginning with a letter or a digit"
        raise InvalidArgument.of(field, name, expected)
    return name


def check_slug(field: str, slug: str) -> str:
    """Return the ID of a tournament if it is valid. Raises InvalidArgument."""
    if not _SLUG.fullmatch(slug):
        raise InvalidArgument.of(field, slug, "1 to 63 characters from a-z, 0-9 and -")
    return slug


def check_text(field: str, text: str, longest: int) -> str:
    """Return free text if it is printable and has at most `longest` characters. Raises InvalidArgument.

    Control characters could control a terminal, and characters for right-to-left writing reorder the words.
    """
    if len(text) > longest:
        raise InvalidArgument.of(field, f"{len(text)} characters", f"at most {longest}")
    unprintable = next((character for character in text if not character.isprintable()), None)
    if unprintable is not None:
        raise InvalidArgument.of(field, f"the character U+{ord(unprintable):04X}", "printable characters on one line")
    return text


def check_number(field: str, number: int, low: int, high: int) -> int:
    """Return a number if it is from `low` to `high`. Raises InvalidArgument."""
    if not low <= number <= high:
        raise InvalidArgument.of(field, number, f"{low:,} to {high:,}")
    return number
