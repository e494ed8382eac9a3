"""A game of a server as JSON."""

from typing import Any

from noughts_proto.v1 import games_pb2 as pb
from noughts_server.cli.times import exact
from noughts_server.convert.times import time_control
from noughts_server.records.json_lines import json_document
from noughts_server.records.server_games import recorded_game


def game_document(game: pb.Game) -> dict[str, Any]:
    """Return the fields that a file of games has for this game, and the fields that only a server has."""
    record = recorded_game(game)
    document = {
        "game": game.name,
        **json_document(record),
        "times_ms": list(record.times_ms),
        "end_time": exact(game.end_time),
        "rating_seq": game.rating_seq if game.HasField("rating_seq") else None,
        "first_bot": game.first_bot,
        "second_bot": game.second_bot,
        "first_time": str(time_control(game.first_time)),
        "second_time": str(time_control(game.second_time)),
    }
    if game.HasField("first_allowance"):
        document["allowances"] = [
            {"network_us": allowance.network_us, "margin_us": allowance.margin_us} for allowance in allowances(game)
        ]
    return document


def allowances(game: pb.Game) -> tuple[pb.Allowance, pb.Allowance]:
    """Return the time that each side has for each move in addition to its clock."""
    return game.first_allowance, game.second_allowance
