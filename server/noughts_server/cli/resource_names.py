"""Resource names: `42` and `tournaments/42` are the same to a person."""

from noughts_server.cli.errors import UsageProblem


def tournament_name(text: str) -> str:
    """`tournaments/ID` from that or from the ID alone."""
    return _named("tournaments", text, "a tournament, e.g. `spring` or `tournaments/spring`")


def bot_name(text: str) -> str:
    """`bots/NAME` or `bots/NAME/versions/V`, from that, from NAME or from NAME@V."""
    name, _, version = text.removeprefix("bots/").partition("@")
    if version:
        return f"{_named('bots', name, 'a bot, e.g. `mybot` or `mybot@2`')}/versions/{version}"
    return text if text.startswith("bots/") else _named("bots", text, "a bot, e.g. `mybot` or `mybot@2`")


def game_name(text: str) -> str:
    """`tournaments/ID/games/NUMBER` from that or from `ID/NUMBER`."""
    parts = text.removeprefix("tournaments/").replace("/games/", "/").split("/")
    if len(parts) != 2 or not parts[0] or not (parts[1].isascii() and parts[1].isdigit()):
        raise UsageProblem(f"NAME: got {text!r}, expected a game, e.g. `spring/7` or `tournaments/spring/games/7`")
    return f"tournaments/{parts[0]}/games/{parts[1]}"


def watched_name(text: str) -> str:
    """`featured`, a tournament's name or a game's, from that or from its short form; nothing means `featured`."""
    if text in ("", "featured"):
        return "featured"
    identifier = text.removeprefix("tournaments/")
    return game_name(text) if "/" in identifier else tournament_name(text)


def short(name: str) -> str:
    """What people call a resource: its name without the collection in front."""
    return name.partition("/")[2] or name


def _named(collection: str, text: str, expected: str) -> str:
    identifier = text.removeprefix(f"{collection}/")
    if not identifier or "/" in identifier:
        raise UsageProblem(f"NAME: got {text!r}, expected {expected}")
    return f"{collection}/{identifier}"
