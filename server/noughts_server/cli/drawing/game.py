"""A game of a server, as JSON and in words."""

from typing import Any

from noughts_proto.v1 import games_pb2 as pb
from noughts_referee.rules import Result, Termination
from noughts_server.cli import printing
from noughts_server.cli.times import exact
from noughts_server.convert.times import time_control
from noughts_server.records.recorded_game import comments_by_ply, margins_of_moves, score_column


def game_document(game: pb.Game) -> dict[str, Any]:
    document = {
        "game": game.name,
        "variant": game.variant,
        "first": game.first,
        "second": game.second,
        **printing.seed_document(game.seed),
        "moves": list(game.moves),
        "result": result_text(game),
        "termination": termination_text(game),
        "winning_cells": list(game.winning_cells),
        "times_ms": [microseconds / 1000 for microseconds in game.times_us],
        **(_margins(game) if game.HasField("first_allowance") else {}),
        **score_column(game.scores, len(game.moves)),
        **comments_by_ply(game.comments),
        "end_time": exact(game, "end_time"),
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
    if game.HasField("agreement"):
        agreement = game.agreement
        document["opening"] = {"rule": agreement.rule, "opener": agreement.opener, "stones": agreement.stones}
    if game.opening_plies:
        document["opening"] = list(game.moves[: game.opening_plies])
    if fault := fault_document(game):
        document["fault"] = fault
    if game.round:
        document["round"] = game.round
    return document


def allowances(game: pb.Game) -> tuple[pb.Allowance, pb.Allowance]:
    """Return what each side has for each move beyond its clock."""
    return game.first_allowance, game.second_allowance


def _margins(game: pb.Game) -> dict[str, Any]:
    limits = time_control(game.first_time), time_control(game.second_time)
    margins_us = [allowance.margin_us for allowance in allowances(game)]
    return margins_of_moves(margins_us, limits, game.times_us[: len(game.moves)], game.opening_plies)


def fault_document(game: pb.Game) -> dict[str, Any] | None:
    """Return which bot lost the game through its own fault, when, and why; None if there was no known fault."""
    loser = Result(game.result).loser if game.fault else None
    if loser is None:
        return None
    bot, side = ((game.first, "first"), (game.second, "second"))[loser]
    return {"bot": bot, "side": side, "ply": len(game.moves), "reason": game.fault}


def result_text(game: pb.Game) -> str:
    """Return `1-0`, `1/2-1/2`, `0-1` or `*`, which also stands for a live game."""
    return str(Result(game.result or Result.VOID))


def termination_text(game: pb.Game) -> str:
    """Return the termination, e.g. `board_full`; `going_on` for a live game."""
    return str(Termination(game.termination)) if game.termination else "going_on"
