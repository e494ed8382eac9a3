"""Build and parse the names of resources in the protocol."""

import re

from noughts_server.core.errors import InvalidArgument


def tournament_name(slug: str) -> str:
    """Return `tournaments/ID`."""
    return f"tournaments/{slug}"


def test_name(slug: str) -> str:
    """Return `tests/ID`."""
    return f"tests/{slug}"


def tuning_name(slug: str) -> str:
    """Return `tunings/ID`."""
    return f"tunings/{slug}"


def game_name(tournament: str, ordinal: int | str) -> str:
    """Return `tournaments/ID/games/NUMBER` of a game of `tournaments/ID`."""
    return f"{tournament}/games/{ordinal}"


def entry_name(tournament: str, label: str) -> str:
    """Return `tournaments/ID/entries/LABEL` of an entry of `tournaments/ID`."""
    return f"{tournament}/entries/{label}"


def bot_name(bot: str, version: str = "") -> str:
    """Return `bots/NAME`, or `bots/NAME/versions/V` with a version."""
    return f"bots/{bot}/versions/{version}" if version else f"bots/{bot}"


def token_name(number: int) -> str:
    """Return `tokens/NUMBER`."""
    return f"tokens/{number}"


def invitation_name(number: int) -> str:
    """Return `invitations/NUMBER`."""
    return f"invitations/{number}"


def webhook_name(number: int) -> str:
    """Return `webhooks/NUMBER`."""
    return f"webhooks/{number}"


def short(name: str) -> str:
    """Return a resource's short name, without the leading collection."""
    return name.partition("/")[2] or name


def tournament_id(field: str, name: str) -> str:
    """Return `ID` of `tournaments/ID`. Raises InvalidArgument."""
    return _parts(field, name, "tournaments/([^/]+)", "tournaments/ID")[0]


def test_id(field: str, name: str) -> str:
    """Return `ID` of `tests/ID`. Raises InvalidArgument."""
    return _parts(field, name, "tests/([^/]+)", "tests/ID")[0]


def tuning_id(field: str, name: str) -> str:
    """Return `ID` of `tunings/ID`. Raises InvalidArgument."""
    return _parts(field, name, "tunings/([^/]+)", "tunings/ID")[0]


def game_id(field: str, name: str) -> tuple[str, int]:
    """Return `ID` and `NUMBER` of `tournaments/ID/games/NUMBER`. Raises InvalidArgument."""
    slug, number = _parts(field, name, "tournaments/([^/]*)/games/([0-9]{1,18})", "tournaments/ID/games/NUMBER")
    return slug, int(number)


def token_id(field: str, name: str, own: int) -> int:
    """Return `ID` of `tokens/ID`; `own` for `tokens/self`. Raises InvalidArgument."""
    (number,) = _parts(field, name, "tokens/(self|[0-9]{1,18})", "tokens/ID or tokens/self")
    return own if number == "self" else int(number)


def invitation_id(field: str, name: str) -> int:
    """Return `ID` of `invitations/ID`. Raises InvalidArgument."""
    return int(_parts(field, name, "invitations/([0-9]{1,18})", "invitations/ID")[0])


def webhook_id(field: str, name: str) -> int:
    """Return `ID` of `webhooks/ID`. Raises InvalidArgument."""
    return int(_parts(field, name, "webhooks/([0-9]{1,18})", "webhooks/ID")[0])


def bot_id(field: str, name: str) -> str:
    """Return `NAME` of `bots/NAME`. Raises InvalidArgument."""
    return _parts(field, name, "bots/([^/]+)", "bots/NAME")[0]


def bot_version_id(field: str, name: str) -> tuple[str, str]:
    """Return `NAME` and `V` of `bots/NAME/versions/V`; `V` is empty for `bots/NAME`. Raises InvalidArgument."""
    bot, version = _parts(field, name, "bots/([^/]+)(?:/versions/([^/]*))?", "bots/NAME or bots/NAME/versions/V")
    return bot, version


def _parts(field: str, name: str, pattern: str, expected: str) -> tuple[str, ...]:
    match = re.fullmatch(pattern, name)
    if match is None:
        raise InvalidArgument.of(field, name, expected)
    return match.groups("")
