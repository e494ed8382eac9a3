"""Names of resources on a server: arguments, and the forms that users type.

`spring` and `tournaments/spring` are the same.
"""

from typing import Annotated

from typer import Argument

from noughts_server.cli import completion
from noughts_server.cli.errors import UsageProblem
from noughts_server.core.resource_names import bot_name, game_name, test_name, tournament_name, tuning_name

TournamentArgument = Annotated[
    str, Argument(metavar="NAME", autocompletion=completion.tournaments, help="Tournament, e.g. `spring`")
]
TestArgument = Annotated[
    str, Argument(metavar="ID", autocompletion=completion.tests, help="Test, e.g. `mybot-2-vs-mybot-1`")
]
TuningArgument = Annotated[
    str, Argument(metavar="NAME", autocompletion=completion.tunings, help="Tuning, e.g. `attack`")
]
BotArgument = Annotated[
    str, Argument(metavar="NAME", autocompletion=completion.bots, help="Bot, e.g. `mybot` or `bots/mybot`")
]
WatchedArgument = Annotated[
    str,
    Argument(
        metavar="[NAME]",
        autocompletion=completion.tournaments,
        help="Tournament (`spring`) or game (`spring/7`). Default: everything live",
    ),
]


def read_tournament(text: str) -> str:
    """Return `tournaments/ID` for itself or for `ID`."""
    return tournament_name(_identifier("tournaments/", text, "a tournament, e.g. `spring` or `tournaments/spring`"))


def read_test(text: str) -> str:
    """Return `tests/ID` for itself or for `ID`."""
    return test_name(_identifier("tests/", text, "a test, e.g. `mybot-2-vs-mybot-1` or `tests/mybot-2-vs-mybot-1`"))


def read_tuning(text: str) -> str:
    """Return `tunings/ID` for itself or for `ID`."""
    return tuning_name(_identifier("tunings/", text, "a tuning, e.g. `attack` or `tunings/attack`"))


def read_bot(text: str) -> str:
    """Return `bots/NAME` or `bots/NAME/versions/V` for itself, for `NAME` or for `NAME@V`."""
    name, _, version = text.removeprefix("bots/").partition("@")
    if text.startswith("bots/") and not version:
        return text
    return bot_name(_identifier("bots/", name if version else text, "a bot, e.g. `mybot` or `mybot@2`"), version)


def read_bot_without_version(text: str) -> str:
    """Return `bots/NAME` for itself or for `NAME`."""
    resource = read_bot(text)
    if resource.count("/") > 1:
        raise UsageProblem(f"NAME: got {text!r}, expected a bot without a version, e.g. `mybot`")
    return resource


def read_game(text: str) -> str:
    """Return `tournaments/ID/games/NUMBER` for itself or for `ID/NUMBER`."""
    tournament, _, number = text.removeprefix("tournaments/").replace("/games/", "/").partition("/")
    if not tournament or not (number.isascii() and number.isdigit()):
        raise UsageProblem(f"NAME: got {text!r}, expected a game, e.g. `spring/7` or `tournaments/spring/games/7`")
    return game_name(tournament_name(tournament), number)


def read_numbered_game(text: str, number: int | None) -> str:
    """Return the name of a game for `ID/NUMBER`, or for `ID` and its number."""
    if number is None:
        return read_game(text)
    if "/" in text.removeprefix("tournaments/"):
        raise UsageProblem(f"N: got {number} after {text!r}, which names a game", "Leave the number out.")
    return game_name(read_tournament(text), number)


def read_watched(text: str) -> str:
    """Return `featured`, or the name of a tournament or game, for itself or its short form. Empty means `featured`."""
    if text in ("", "featured"):
        return "featured"
    return read_game(text) if "/" in text.removeprefix("tournaments/") else read_tournament(text)


def _identifier(collection: str, text: str, expected: str) -> str:
    """Return the text without the collection's prefix. Raises UsageProblem if it is not a single identifier."""
    identifier = text.removeprefix(collection)
    if not identifier or "/" in identifier:
        raise UsageProblem(f"NAME: got {text!r}, expected {expected}")
    return identifier
