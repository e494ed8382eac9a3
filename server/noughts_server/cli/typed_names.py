"""Names of resources as people type them: `spring` and `tournaments/spring` are the same."""

from noughts_server.cli.errors import UsageProblem
from noughts_server.core.resource_names import bot_name, game_name, test_name, tournament_name


def read_tournament(text: str) -> str:
    """`tournaments/ID` from that or from the ID alone."""
    return tournament_name(_identifier("tournaments/", text, "a tournament, e.g. `spring` or `tournaments/spring`"))


def read_test(text: str) -> str:
    """`tests/ID` from that or from the ID alone."""
    return test_name(_identifier("tests/", text, "a test, e.g. `mybot-2-vs-mybot-1` or `tests/mybot-2-vs-mybot-1`"))


def read_bot(text: str) -> str:
    """`bots/NAME` or `bots/NAME/versions/V`, from that, from NAME or from NAME@V."""
    name, _, version = text.removeprefix("bots/").partition("@")
    if text.startswith("bots/") and not version:
        return text
    return bot_name(_identifier("bots/", name if version else text, "a bot, e.g. `mybot` or `mybot@2`"), version)


def read_bot_without_version(text: str) -> str:
    """`bots/NAME` from that or from NAME."""
    resource = read_bot(text)
    if resource.count("/") > 1:
        raise UsageProblem(f"NAME: got {text!r}, expected a bot without a version, e.g. `mybot`")
    return resource


def read_game(text: str) -> str:
    """`tournaments/ID/games/NUMBER` from that or from `ID/NUMBER`."""
    parts = text.removeprefix("tournaments/").replace("/games/", "/").split("/")
    if len(parts) != 2 or not parts[0] or not (parts[1].isascii() and parts[1].isdigit()):
        raise UsageProblem(f"NAME: got {text!r}, expected a game, e.g. `spring/7` or `tournaments/spring/games/7`")
    return game_name(tournament_name(parts[0]), parts[1])


def read_numbered_game(text: str, number: int | None) -> str:
    """The name of a game from `ID/NUMBER`, or from `ID` and its number."""
    if number is None:
        return read_game(text)
    if "/" in text.removeprefix("tournaments/"):
        raise UsageProblem(f"N: got {number} after {text!r}, which names a game", "Leave the number out.")
    return game_name(read_tournament(text), number)


def read_watched(text: str) -> str:
    """`featured`, a tournament's name or a game's, from that or from its short form; nothing means `featured`."""
    if text in ("", "featured"):
        return "featured"
    return read_game(text) if "/" in text.removeprefix("tournaments/") else read_tournament(text)


def _identifier(collection: str, text: str, expected: str) -> str:
    identifier = text.removeprefix(collection)
    if not identifier or "/" in identifier:
        raise UsageProblem(f"NAME: got {text!r}, expected {expected}")
    return identifier
