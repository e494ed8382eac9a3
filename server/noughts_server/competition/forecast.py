"""How many games a tournament will have, and about how long it will take, before it begins. Rules of thumb."""

from dataclasses import dataclass

from noughts_referee.clock import MICROSECONDS, TimeControl
from noughts_referee.rules import Variant

_FILLED = 0.9
_TIMES_THE_SHORTEST = 6


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is known of a tournament before it begins."""

    entries: int
    rounds: int | None
    """None of a gauntlet and of a ladder."""
    least: int | None
    """Games, at least: in a knockout more follow equal points. None: it goes on until it is stopped."""
    most: int | None
    waves: tuple[int, ...]
    """Games that can be played at once, at most, one wave after the other; of a ladder one round of all."""

    @property
    def usual(self) -> int:
        """Games if no match goes on after equal points; of a ladder until all have played once."""
        return sum(self.waves)

    def seconds(self, game: float, concurrency: int) -> float:
        """How long the usual games take if each takes so many seconds and the next begins when there is room."""
        return sum(-(-games // concurrency) for games in self.waves) * game


def usual_plies(variant: Variant, draw_after: int = 0) -> int:
    """About how many plies a game has: nine tenths of the cells, or six times the shortest game if that is less.

    Tic-tac-toe 8, Connect Four 38, Gomoku 60; `draw_after` plies at most, if that is not 0.
    """
    plies = min(round(_FILLED * variant.cells), _TIMES_THE_SHORTEST * (variant.shortest_win + 1))
    return max(1, min(plies, draw_after) if draw_after else plies)


def longest_game(times: list[TimeControl], plies: int) -> float | None:
    """Seconds of a game in which everybody takes all the time there is, the mean over these times of entries.

    None if one of them has no limit.
    """
    if not all(time.timed for time in times):
        return None
    moves = plies / 2
    sides = []
    for time in times:
        by_moves, by_bank = moves * time.move_us, time.bank_us + moves * time.increment_us
        sides.append(min(by_moves, by_bank) if time.move_us and time.bank_us else by_moves or by_bank)
    return 2 * sum(sides) / len(sides) / MICROSECONDS
