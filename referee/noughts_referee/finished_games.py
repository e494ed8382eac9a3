"""Records to store of games that are over, or that could not begin."""

from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter

from noughts_referee.game import Game, Player
from noughts_referee.rules import Result, Termination
from noughts_referee.work_units import Allowance, FinishedGame, Slot, Unit, pack_allowances, pack_moves, pack_times

_VOID = Result.VOID
_RESULT = attrgetter("unit", "slot", "result", "termination", "moves", "times_us", "fault", "opening_plies", "players")


def gone_because(reason: str) -> str:
    """Return the `Game.fault` of an entry that lost because it was withdrawn."""
    return f"was withdrawn: {reason}" if reason else "was withdrawn"


def walkover(unit: Unit, slot: Slot, withdrawn: Mapping[int, str]) -> FinishedGame:
    """Return the record of a game that is not played because an entry is withdrawn. If both are, it is a draw."""
    ordinal, first, second = slot
    result = Result.FIRST_WINS if second in withdrawn else Result.SECOND_WINS
    if first in withdrawn and second in withdrawn:
        result = Result.DRAW
    gone = first if first in withdrawn else second
    fault = gone_because(withdrawn[gone])
    tournament = unit.conditions.tournament
    return FinishedGame(
        tournament, ordinal, unit.attempt, first, second, result, Termination.ADJUDICATED, b"", b"", fault
    )


def _allowance(player: Player) -> Allowance:
    return Allowance(player.network_us, player.margin_us)


def finished_games(games: list[Game]) -> list[FinishedGame]:
    """Return the records of these games, except void ones."""
    make: Callable[[tuple[object, ...]], FinishedGame] = partial(tuple.__new__, FinishedGame)
    return [
        make(
            (
                conditions.tournament,
                ordinal,
                attempt,
                first,
                second,
                result,
                termination,
                pack_moves(moves, conditions.variant.cells),
                pack_times(times_us),
                fault,
                opening_plies,
                pack_allowances(*map(_allowance, players)) if conditions.timed else None,
            )
        )
        for (conditions, attempt, *_), (
            ordinal,
            first,
            second,
        ), result, termination, moves, times_us, fault, opening_plies, players in map(_RESULT, games)
        if result is not _VOID
    ]
