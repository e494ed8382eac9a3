"""A table of games of several tournaments."""

from collections.abc import Iterable

from noughts_proto.v1 import games_pb2 as pb
from noughts_server.cli import printing
from noughts_server.core.resource_names import short
from noughts_server.records.server_games import result_text, termination_text


def print_games(games: Iterable[pb.Game], empty: str = "") -> None:
    """Print the games as a table; if there are none, the text `empty`."""
    rows = [
        (
            short(game.name).replace("/games/", "/"),
            _player(game.first, game.first_bot),
            _player(game.second, game.second_bot),
            result_text(game),
            termination_text(game),
            len(game.moves),
        )
        for game in games
    ]
    printing.print_rows(("game", "first", "second", "result", "termination", ">plies"), rows, empty)


def _player(label: str, bot_version: str) -> str:
    """Return the label of an entry, with its bot if the names differ."""
    bot, _, version = short(bot_version).partition("/versions/")
    return label if label == bot else f"{label} ({bot}@{version})"
