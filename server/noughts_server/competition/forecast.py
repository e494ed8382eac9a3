"""Estimate a tournament's number of games and duration before it starts."""

from dataclasses import dataclass

from noughts_referee.clock import MICROSECONDS, TimeControl
from noughts_referee.rules import Variant

_FILLED = 0.9
_TIMES_THE_SHORTEST = 6


@dataclass(frozen=True, slots=True)
class Forecast:
    """The facts about a tournament before it starts."""

    entries: int
    rounds: int | None
    """None for a gauntlet and a ladder."""
    least: int | None
    """The minimal number of games; in a knockout more follow equal points. None: it continues until it is stopped."""
    most: int | None
    waves: tuple[int, ...]
    """The maximal number of concurrent games, wave by wave; for a ladder, one round of all entries."""

    @property
    def usual(self) -> int:
        """Return the number of games if no match is tied; for a ladder, until every entry has played once."""
        return sum(self.waves)

    def seconds(self, game: float, concurrency: int) -> float:
        """Return the duration of the usual games if each takes `game` seconds, with this concurrency."""
        return sum(-(-games // concurrency) for games in self.waves) * game


def usual_plies(variant: Variant, draw_after: int = 0) -> int:
    """Return the estimated plies of a game: 90 % of the cells, or six times the shortest game if that is less.

    Tic-tac-toe has 8, Connect Four 38, Gomoku 60; at most `draw_after` if that is not 0.
    """
    plies = min(round(_FILLED * variant.cells), _TIMES_THE_SHORTEST * (variant.shortest_win + 1))
    return max(1, min(plies, draw_after) if draw_after else plies)


def longest_game(times: list[TimeControl], plies: int) -> float | None:
    """Return the mean seconds of games that use all time of these controls; None if one is unlimited."""
    if not all(time.timed for time in times):
        return None
    moves = plies / 2
    sides = []
    for time in times:
        by_moves, by_bank = moves * time.move_us, time.bank_us + moves * time.increment_us
        sides.append(min(by_moves, by_bank) if time.move_us and time.bank_us else by_moves or by_bank)
    return 2 * sum(sides) / len(sides) / MICROSECONDS
