"""How many games a tournament will have, and about how long it will take, before it begins. Rules of thumb."""

from dataclasses import dataclass

from noughts_referee.clock import MICROSECONDS, TimeControl
from noughts_referee.rules import Variant
from noughts_server.competition.knockout import EXTRA_PAIRS
from noughts_server.competition.schedule import ScheduleKind
from noughts_server.competition.tournament_settings import TournamentSettings

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


def forecast(settings: TournamentSettings, entries: int) -> Forecast:
    """Of a tournament with these settings and so many entries, 2 or more, none of them withdrawn."""
    games, kind, pairs = settings.games_per_pair, settings.schedule, entries // 2
    if kind is ScheduleKind.LADDER:
        return Forecast(entries, None, None, None, (pairs * games,))
    if kind is ScheduleKind.SWISS:
        rounds = settings.rounds or max(1, (entries - 1).bit_length())
        return Forecast(entries, rounds, rounds * pairs * games, rounds * pairs * games, (pairs * games,) * rounds)
    if kind is ScheduleKind.KNOCKOUT:
        rounds = (entries - 1).bit_length()
        # A match that stops when decided is over, at the earliest, when the lead is larger than what is left.
        quickest = 2 * (games // 4 + 1) if settings.stop_when_decided else games
        matches = [min(2**left, entries - 2**left) for left in range(rounds - 1, -1, -1)]
        most = games + 2 * EXTRA_PAIRS
        return Forecast(
            entries,
            rounds,
            (entries - 1) * min(quickest, games),
            (entries - 1) * most,
            tuple(m * games for m in matches),
        )
    if kind is ScheduleKind.GAUNTLET:
        total = (entries - 1) * games
        return Forecast(entries, None, total, total, (total,))
    total = games * entries * (entries - 1) // 2
    return Forecast(entries, games * (entries - 1 + entries % 2), total, total, (total,))


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
