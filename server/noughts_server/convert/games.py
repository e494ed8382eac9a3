"""Protocol messages of stored and live games."""

from noughts_bots.connection.thoughts import thought_message
from noughts_proto.v1 import games_pb2 as pb
from noughts_referee.rules import Position, parse_variant
from noughts_referee.work_units import Allowance
from noughts_server.convert.times import time_control_message
from noughts_server.store.games.games import Agreement, StoredGame
from noughts_server.store.games.puzzles import StoredPuzzle


def game_message(game: StoredGame) -> pb.Game:
    """Return a stored game as a protocol message; a live game has no result, termination or end time."""
    first_allowance, second_allowance = game.allowances or (None, None)
    message = pb.Game(
        name=game.name,
        variant=game.variant,
        first=game.first,
        second=game.second,
        first_bot=game.first_bot,
        second_bot=game.second_bot,
        seed=game.seed,
        moves=game.moves,
        times_us=game.times_us,
        rating_seq=game.rating_seq,
        winning_cells=parse_variant(game.variant).won_with(game.moves),
        first_time=time_control_message(game.first_time),
        second_time=time_control_message(game.second_time),
        time_factor=game.time_factor,
        fault=game.fault,
        adjudication=game.adjudication,
        agreement=None if game.agreement is None else _agreement_message(game.agreement),
        opening_plies=game.opening_plies,
        scores=game.scores,
        comments=game.comments,
        thoughts={ply: thought_message(thought) for ply, thought in game.thoughts.items()},
        first_allowance=None if first_allowance is None else _allowance_message(first_allowance),
        second_allowance=None if second_allowance is None else _allowance_message(second_allowance),
        round=game.round,
        tournament_title=game.tournament_title,
    )
    if game.clocks_us is None:
        message.result = int(game.result)  # type: ignore[assignment]  # equal values
        message.termination = int(game.termination)  # type: ignore[assignment]  # equal values
        message.end_time.FromMilliseconds(game.ended_at)
    return message


def puzzle_message(puzzle: StoredPuzzle) -> pb.Puzzle:
    """Return a stored puzzle as a protocol message."""
    game, ply = puzzle.game, puzzle.ply
    return pb.Puzzle(
        game=game.name,
        variant=puzzle.variant,
        moves=game.moves[:ply],
        position=str(Position.after(parse_variant(puzzle.variant), game.moves[:ply])),
        line=puzzle.line,
        moves_to_win=puzzle.moves,
        exact=puzzle.exact,
        kind=int(puzzle.kind),  # type: ignore[arg-type]  # equal values
        bot=(game.first, game.second)[ply % 2],
        played=game.moves[ply] if ply < len(game.moves) else None,
    )


def _agreement_message(agreement: Agreement) -> pb.Agreement:
    return pb.Agreement(rule=agreement.rule, opener=agreement.opener, stones=agreement.stones)


def _allowance_message(allowance: Allowance) -> pb.Allowance:
    return pb.Allowance(network_us=allowance.network_us, margin_us=allowance.margin_us)
