"""Forecasts: estimates of a tournament's number of games and its duration before it starts."""

from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from noughts_referee.clock import MICROSECONDS, TimeControl
from noughts_referee.rules import Variant

_FILLED_SHARE = 0.9
_TIMES_TWO_LINES = 6
"""Typical games fill this share of the board, or have this many times as many plies as both sides need for a line."""


class Wave(NamedTuple):
    """Games that can be concurrent, because none of them needs the result of another."""

    games: int
    most_at_once: int
    """The largest number of concurrent games if each entry plays one game at a time."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """The number of entries, rounds and games of a tournament, as far as they are known before it starts."""

    entries: int
    rounds: int | None
    """None if the format has no rounds."""
    least: int | None
    """The minimal number of games; None if the tournament continues until it is stopped."""
    most: int | None
    """The maximal number of games, e.g. with all extra pairs of a knockout; None as for `least`."""
    waves: tuple[Wave, ...]
    """The waves, of which each needs the results of the one before.

    A ladder has a single wave, in which each entry plays one pairing.
    """

    @property
    def usual(self) -> int:
        """Return the number of games if no match is tied; for a ladder, until every entry has played once."""
        return sum(wave.games for wave in self.waves)

    def seconds(self, game: float, concurrency: int) -> float:
        """Return the duration of the usual games if each takes `game` seconds, with this concurrency."""
        return sum(ceil(wave.games / concurrency) for wave in self.waves) * game

    def seconds_one_by_one(self, game: float, concurrency: int) -> float:
        """Return the same if each entry plays one game at a time, as most bots with a clock do."""
        return sum(ceil(wave.games / min(concurrency, wave.most_at_once)) for wave in self.waves) * game


def usual_plies(variant: Variant, draw_after: int = 0) -> int:
    """Return the estimated plies of a game: 8 in tic-tac-toe, 38 in Connect Four, 60 in Gomoku.

    That is 90 % of the cells, or six times as many plies as both sides need to complete a line if that is less. The
    result is at most `draw_after` if that is not 0.
    """
    plies = min(round(_FILLED_SHARE * variant.cells), _TIMES_TWO_LINES * (variant.shortest_win + 1))
    return max(1, min(plies, draw_after) if draw_after else plies)


def longest_game(times: list[TimeControl], plies: int) -> float | None:
    """Return the seconds of a game of `plies` plies that uses all time, as the mean of these time controls.

    None if one of them is unlimited.
    """
    if not all(time.timed for time in times):
        return None
    moves = plies / 2
    side_us = []
    for time in times:
        by_moves = moves * time.move_us
        by_base_time = time.bank_us + moves * time.increment_us
        if time.move_us and time.bank_us:
            side_us.append(min(by_moves, by_base_time))
        else:
            side_us.append(by_moves or by_base_time)
    return 2 * sum(side_us) / len(side_us) / MICROSECONDS
