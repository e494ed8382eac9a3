"""Create the records of games that are over, or that could not begin."""

from collections.abc import Mapping

from noughts_referee.comments import pack_comments
from noughts_referee.game import Game
from noughts_referee.rules import Result, Termination, pack_thoughts
from noughts_referee.work_units import (
    Allowance,
    FinishedGame,
    ScheduledGame,
    Unit,
    pack_allowances,
    pack_moves,
    pack_scores,
    pack_times,
)

_VOID = Result.VOID


def withdrawal_fault(reason: str) -> str:
    """Return the `Game.fault` of an entry that lost because it was withdrawn."""
    return f"was withdrawn: {reason}" if reason else "was withdrawn"


def walkover(unit: Unit, slot: ScheduledGame, faults: Mapping[int, str]) -> FinishedGame:
    """Return the record of a game that is not played because an entry loses it by a fault. If both do, it is a draw.

    `faults` are by number of the entry.
    """
    ordinal, first, second = slot
    result = Result.FIRST_WINS if second in faults else Result.SECOND_WINS
    if first in faults and second in faults:
        result = Result.DRAW
    fault = faults[first if first in faults else second]
    tournament = unit.conditions.tournament
    return FinishedGame(
        tournament=tournament,
        ordinal=ordinal,
        attempt=unit.attempt,
        first=first,
        second=second,
        result=result,
        termination=Termination.ADJUDICATED,
        moves=b"",
        times=b"",
        fault=fault,
    )


def finished_games(games: list[Game]) -> list[FinishedGame]:
    """Return the records of these games, except void ones."""
    return [
        # A call of the class takes twice as long.
        tuple.__new__(
            FinishedGame,
            (
                game.conditions.tournament,
                game.slot[0],
                game.unit[1],
                game.slot[1],
                game.slot[2],
                game.result,
                game.termination,
                pack_moves(game.moves, game.conditions.variant.cells),
                pack_times(game.times_us),
                game.fault,
                game.opening_plies,
                pack_allowances(*[Allowance(each.network_us, game.margin_us(each)) for each in game.players])
                if game.conditions.timed
                else None,
                pack_scores(game.scores, len(game.moves)) if game.scores else None,
                pack_comments(game.comments) if game.comments else None,
                pack_thoughts(game.thoughts) if game.thoughts else None,
                game.time_factor,
            ),
        )
        for game in games
        if game.result is not _VOID
    ]
