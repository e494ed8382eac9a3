"""Parse resource names, by which clients name things."""

import re

from noughts_server.errors import InvalidArgument

_NUMBER = re.compile(r"[0-9]{1,18}")


def tournament_id(field: str, name: str) -> str:
    """Return `ID` of `tournaments/ID`. Raises InvalidArgument."""
    parts = name.split("/")
    if len(parts) != 2 or parts[0] != "tournaments" or not parts[1]:
        raise InvalidArgument.of(field, name, "tournaments/ID")
    return parts[1]


def game_id(field: str, name: str) -> tuple[str, int]:
    """Return `ID` and `NUMBER` of `tournaments/ID/games/NUMBER`. Raises InvalidArgument."""
    parts = name.split("/")
    if len(parts) != 4 or parts[0] != "tournaments" or parts[2] != "games" or not _NUMBER.fullmatch(parts[3]):
        raise InvalidArgument.of(field, name, "tournaments/ID/games/NUMBER")
    return parts[1], int(parts[3])


def token_id(field: str, name: str, own: int) -> int:
    """Return `ID` of `tokens/ID`; `own` for `tokens/self`. Raises InvalidArgument."""
    parts = name.split("/")
    if len(parts) == 2 and parts[0] == "tokens":
        if parts[1] == "self":
            return own
        if _NUMBER.fullmatch(parts[1]):
            return int(parts[1])
    raise InvalidArgument.of(field, name, "tokens/ID or tokens/self")


def bot_id(field: str, name: str) -> str:
    """Return `NAME` of `bots/NAME`. Raises InvalidArgument."""
    bot, version = bot_version_id(field, name)
    if version:
        raise InvalidArgument.of(field, name, "bots/NAME")
    return bot


def bot_version_id(field: str, name: str) -> tuple[str, str]:
    """Return `NAME` and `V` of `bots/NAME/versions/V`; `V` is empty for `bots/NAME`. Raises InvalidArgument."""
    parts = name.split("/")
    if len(parts) in (2, 4) and parts[0] == "bots" and parts[1] and (len(parts) == 2 or parts[2] == "versions"):
        return parts[1], parts[3] if len(parts) == 4 else ""
    raise InvalidArgument.of(field, name, "bots/NAME or bots/NAME/versions/V")
