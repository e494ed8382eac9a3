"""Conversion between the arbiter's columns and the messages of the protocol."""

from collections.abc import Iterable
from math import isfinite
from typing import Any

import grpc

from noughts_proto.v1 import play_pb2 as pb
from noughts_proto.v1 import types_pb2
from noughts_referee.clock import TimeControl
from noughts_referee.game import Game, Outbox, Player
from noughts_referee.rules import FAULTS, Choice, Put, Take, Thought, Variant, base_name, side_seeds
from noughts_referee.rules.thoughts import LONGEST_PV
from noughts_referee.stream_closed import StreamClosed
from noughts_referee.work_units import GameConditions

_LONGEST_REASON = 500
"""Characters of a bot's reason that are kept."""
_LONGEST_COMMENT = 65_536
"""Characters of a bot's comment that are kept."""
_SIDES = (types_pb2.SIDE_FIRST, types_pb2.SIDE_SECOND)

IndexedScore = tuple[int, float]
"""A row of a frame's moves, and the bot's score of its position."""
IndexedComment = tuple[int, str]
"""A row of a frame's moves, and the bot's comment."""
IndexedThought = tuple[int, Thought]
"""A row of a frame's moves, and the report of the bot's search."""


class UnevenColumns(StreamClosed):
    """The columns of a message do not match; the text names them."""

    def __init__(self, message: str) -> None:
        super().__init__(grpc.StatusCode.INVALID_ARGUMENT, "COLUMNS_UNEVEN", message)


def scores(moves: pb.Moves) -> list[IndexedScore]:
    """Return the scores in the message, without those that are not finite. Raises UnevenColumns."""
    rows = _existing_rows(moves, moves.scored, len(moves.score), "scored rows", "score")
    return [(row, value) for row, value in zip(rows, moves.score, strict=True) if isfinite(value)]


def comments(moves: pb.Moves) -> list[IndexedComment]:
    """Return the comments in the message, shortened. Raises UnevenColumns."""
    rows = _existing_rows(moves, moves.commented, len(moves.comment), "commented rows", "comment")
    return [(row, text[:_LONGEST_COMMENT]) for row, text in zip(rows, moves.comment, strict=True)]


def thoughts(moves: pb.Moves) -> list[IndexedThought]:
    """Return the reports of the searches. Raises UnevenColumns."""
    rows = _existing_rows(moves, moves.thinking, len(moves.thought), "thinking rows", "thought")
    return [(row, read_thought(message)) for row, message in zip(rows, moves.thought, strict=True)]


def read_thought(message: types_pb2.Thought) -> Thought:
    """Return the thought in a message, whose line is cut to the limit."""
    pv = tuple(message.pv[:LONGEST_PV])
    return Thought(depth=message.depth, nodes=message.nodes, time_us=message.time_us, pv=pv)


def _existing_rows(moves: pb.Moves, indexes: Iterable[int], values: int, what: str, value: str) -> list[int]:
    """Return the row numbers of a column of `values` values. Raises UnevenColumns for a row that does not exist."""
    rows, answers = list(indexes), len(moves.game)
    if len(rows) != values:
        raise UnevenColumns(f"moves: got {len(rows)} {what} and {values} {value}s, expected columns of equal length")
    _check_length(len(rows), answers, what)
    last = max(rows, default=-1)
    if last >= answers:
        raise UnevenColumns(
            f"moves: got a {value} for row {last} of {answers}, expected existing rows, numbered from 0"
        )
    return rows


def exhausted(moves: pb.Moves) -> frozenset[int]:
    """Return the rows of answers that the bot gave up for lack of fuel. Raises UnevenColumns."""
    _check_length(len(moves.exhausted), len(moves.game), "exhausted rows")
    return frozenset(moves.exhausted)


def _check_length(values: int, most: int, what: str) -> None:
    """Raise UnevenColumns if a column has more values than rows, because handling them delays all other bots."""
    if values > most:
        raise UnevenColumns(f"moves: got {values} {what}, expected at most {most}, one for each row")


def reasons(moves: pb.Moves) -> list[str]:
    """Return the reasons of resigning rows, in order, each shortened to its first line. The last rows can lack one.

    Raises UnevenColumns.
    """
    _check_length(len(moves.reason), len(moves.resigned), "reasons")
    return [one_line(text) for text in moves.reason]


def one_line(text: str) -> str:
    """Return the first line of a reason, shortened."""
    line = " ".join(text[:_LONGEST_REASON].strip().partition("\n")[0].split())
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in line)


def starts_columns(player: Player, games: list[Game]) -> list[pb.Starts]:
    """Return the starts of the games, one message for each tournament and each factor of its times."""
    kinds = [(game.conditions.tournament, game.time_factor) for game in games]
    if kinds.count(kinds[0]) == len(games):
        return [_starts(player, games[0].conditions, games)]
    by_kind: dict[tuple[int, float | None], list[Game]] = {}
    for kind, game in zip(kinds, games, strict=True):
        by_kind.setdefault(kind, []).append(game)
    return [_starts(player, batch[0].conditions, batch) for batch in by_kind.values()]


def _starts(player: Player, conditions: GameConditions, games: list[Game]) -> pb.Starts:
    # Side 0 moves first, so the opponent of side 1 is the first entry of the slot.
    sides = [0 if game.players[0] is player else 1 for game in games]
    numbers = [game.slot[0] for game in games]
    entries = [game.slot[2 - side] for side, game in zip(sides, games, strict=True)]
    move_count = [game.ply for game in games]
    index_of_entry = {entry: index for index, entry in enumerate(dict.fromkeys(entries))}
    starts = pb.Starts(
        tournament=conditions.name,
        variant=_played_name(conditions.variant),
        # A player has one entry in a tournament, so its time control is the same in all of its games.
        time=_time_control(games[0].limits[sides[0]]),
        game=[game.handle for game in games],
        number=numbers,
        side=[_SIDES[side] for side in sides],
        seed=side_seeds(conditions.seed, numbers, sides),
        opponent=[index_of_entry[entry] for entry in entries],
        opponents=[conditions.labels[entry] for entry in index_of_entry],
        move_count=move_count,
        moves=[cell for game in games for cell in game.moves] if any(move_count) else (),
        fuel=conditions.fuel,
        margin_us=conditions.margin_ms * 1000,
    )
    if conditions.own_times:
        limits = {entry: game.limits[1 - side] for entry, side, game in zip(entries, sides, games, strict=True)}
        starts.opponent_times.extend([_time_control(limits[entry]) for entry in index_of_entry])
    if conditions.timed:
        starts.own_clock_us.extend([game.left_us[side] for game, side in zip(games, sides, strict=True)])
        starts.opponent_clock_us.extend([game.left_us[1 - side] for game, side in zip(games, sides, strict=True)])
    return starts


def opening(player: Player, game: Game) -> pb.Opening:
    """Return the opening choice that the player must make."""
    conditions, opening = game.conditions, game.opening
    side = game.side_of(player)
    return pb.Opening(
        game=game.handle,
        step=opening.step,
        tournament=conditions.name,
        number=game.slot[0],
        variant=_played_name(conditions.variant),
        rule=opening.rule,
        stones=opening.stones,
        seed=opening.seed,
        opponent=conditions.labels[game.slot[2 - side]],
        time=_time_control(game.time_of(side)),
        own_clock_us=opening.clock_us,
    )


def choice(message: pb.Choice) -> Choice | None:
    """Return the choice in the message; None resigns."""
    match message.WhichOneof("what"):
        case "put":
            return Put(tuple(message.put.cell))
        case "take":
            return Take(message.take - 1)
    return None


def _played_name(variant: Variant) -> str:
    """Return the name of the variant played after the agreement."""
    return base_name(variant.name) if variant.agreement else variant.name


def _time_control(limit: TimeControl | None) -> types_pb2.TimeControl:
    if limit is None:
        return types_pb2.TimeControl()
    return types_pb2.TimeControl(move_us=limit.move_us, bank_us=limit.bank_us, increment_us=limit.increment_us)


def turns_columns(turns: pb.Turns, player: Player, outbox: Outbox) -> None:
    """Fill in the questions, with clocks if any of the games has one."""
    turns.game.extend(outbox.turn_game)
    turns.ply.extend(outbox.turn_ply)
    turns.cell.extend(outbox.turn_cell)
    if not outbox.turns_timed:
        return
    for handle, ply in zip(outbox.turn_game, outbox.turn_ply, strict=True):
        game = player.games.get(handle)
        own = opponent = 0
        if game is not None and game.conditions.timed:
            own = _shown_clock_us(game, ply & 1)
            opponent = _shown_clock_us(game, 1 - (ply & 1))
        turns.own_clock_us.append(own)
        turns.opponent_clock_us.append(opponent)


def _shown_clock_us(game: Game, side: int) -> int:
    """Return the time on a side's clock; 0 without a limit. A clock that the time margin has used up shows 1."""
    if game.time_of(side) is None:
        return 0
    return game.left_us[side] or 1


def ends_columns(ends: pb.Ends, player: Player, games: list[Game]) -> None:
    """Fill in the finished games, and the faults by which the player lost."""
    # The referee's enums and those of the protocol have equal values.
    results: list[Any] = [game.result for game in games]
    terminations: list[Any] = [game.termination for game in games]
    ends.game.extend([game.handle for game in games])
    ends.result.extend(results)
    ends.termination.extend(terminations)
    ends.plies.extend([game.ply for game in games])
    ends.cell.extend([game.moves[-1] if game.moves else 0 for game in games])
    if FAULTS.isdisjoint(terminations):
        return
    for row, game in enumerate(games):
        if game.fault and game.termination in FAULTS and game.players[game.result.loser or 0] is player:
            ends.faulted.append(row)
            ends.fault.append(game.fault)
