"""Residuals of machines: observed scores of their games against expected ones, as fishtest has them of its workers.

On a machine that is overloaded or broken, bots play worse or fail. If both sides play worse, the favourites win less
often than they should. So each game with clocks counts from the point of view of the bot with the higher rating. Its
expected score follows from the ratings before the game by the formula of Elo.

The ratings can be wrong, but they are wrong on all machines alike. A machine stands out if its residual differs from
that of all other machines, and is further from 0.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, select

from noughts_referee.rules import Result, is_fault
from noughts_referee.work_units import FinishedGame
from noughts_server.statistics.elo_scale import score_of_elo
from noughts_server.store.engine.bulk import in_batches, upsert
from noughts_server.store.engine.schema import machine_scores, ratings
from noughts_server.store.ratings.rater import list_key
from noughts_server.store.tournament_options import read_settings

FEWEST_RATED = 30
"""The rated games of a bot from which on its rating counts."""
FEWEST_COMPARED = 100
"""The games of a machine from which on it can stand out."""
_OUTSTANDING = 3.0
"""The standard errors by which the residual of a machine that stands out differs from that of the others."""
_FORGOTTEN_MS = 30 * 24 * 3_600_000
"""The time without a game after which a machine is forgotten."""
_SCORES = {Result.FIRST_WINS: 1.0, Result.DRAW: 0.5, Result.SECOND_WINS: 0.0}
"""The first mover's points."""


@dataclass(frozen=True, slots=True)
class MachineScore:
    """What the games of a machine show."""

    machine: str
    """Its host name."""
    since: int
    """The time of its first game, in milliseconds since 1970 in UTC."""
    games: int
    faults: int
    """Games that a bot lost through its own fault."""
    compared: int
    """Games whose result could be expected; 0: the next values are 0."""
    score: float
    """The score of the favourites in these games, from 0 to 1."""
    expected: float
    """The score that was expected of them."""
    error: float
    """The standard error of their difference."""
    stands_out: bool
    """Whether the difference is not that of the other machines, and further from 0."""

    @property
    def residual(self) -> float:
        return self.score - self.expected

    @property
    def error95(self) -> float:
        """Return half of the 95 % confidence interval of the residual."""
        return 1.96 * self.error


def record_machine(
    connection: Connection,
    row: Row[Any],
    bots: Sequence[int],
    games: Sequence[FinishedGame],
    *,
    machine: str,
    now_ms: int,
) -> None:
    """Count games of a tournament that a machine has played. `row` is the tournament, `bots` has those of its entries.

    Call it before the games are rated.
    """
    faults = sum(is_fault(game.termination, game.fault) for game in games)
    compared, points, expected, squares = _compare(connection, row, bots, games)
    values = (machine, now_ms, now_ms, len(games), faults, compared, points, expected, squares)
    counts = ("games", "faults", "compared", "points", "expected", "squares")
    upsert(connection, machine_scores, [values], add=counts, replace=("seen_at",))


def _compare(
    connection: Connection, row: Row[Any], bots: Sequence[int], games: Sequence[FinishedGame]
) -> tuple[int, float, float, float]:
    """Return the number of comparable games, and the points, expected points and squares of their favourites."""
    if not (row.move_us or row.bank_us or row.own_times):
        return 0, 0.0, 0.0, 0.0  # without clocks, games hardly depend on the machine
    settings = read_settings(row)
    list_id = list_key(connection, settings.variant, settings.time.time_class)
    if list_id is None:
        return 0, 0.0, 0.0, 0.0
    results = Counter((bots[game.first], bots[game.second], game.result) for game in games)
    rating_of = _ratings(connection, list_id, {bot for first, second, _ in results for bot in (first, second)})
    compared, points, expected, squares = 0, 0.0, 0.0, 0.0
    for (first, second, result), count in results.items():
        score = _SCORES.get(Result(result))
        if score is None or first == second or first not in rating_of or second not in rating_of:
            continue
        expected_score = score_of_elo(rating_of[first] - rating_of[second])
        if expected_score < 0.5:
            score, expected_score = 1 - score, 1 - expected_score
        compared += count
        points += count * score
        expected += count * expected_score
        squares += count * (score - expected_score) ** 2
    return compared, points, expected, squares


def _ratings(connection: Connection, list_id: int, bots: Iterable[int]) -> dict[int, float]:
    """Return the ratings of those of these bots that have enough games, by bot."""
    found: dict[int, float] = {}
    for batch in in_batches(sorted(bots)):
        known = select(ratings.c.bot_id, ratings.c.rating).where(
            ratings.c.list_id == list_id, ratings.c.bot_id.in_(batch), ratings.c.games >= FEWEST_RATED
        )
        found.update({row.bot_id: row.rating for row in connection.execute(known)})
    return found


def machines(connection: Connection) -> list[MachineScore]:
    """Return what the games of all machines show, by name."""
    rows = connection.execute(select(machine_scores).order_by(machine_scores.c.machine)).all()
    compared = sum(row.compared for row in rows)
    difference = sum(row.points - row.expected for row in rows)
    squares = sum(row.squares for row in rows)
    scores = []
    for row in rows:
        others = compared - row.compared
        stands_out = False
        if min(row.compared, others) >= FEWEST_COMPARED:
            own_residual = (row.points - row.expected) / row.compared
            residual_of_others = (difference - row.points + row.expected) / others
            error = math.hypot(_error(row.squares, row.compared), _error(squares - row.squares, others))
            differs = abs(own_residual - residual_of_others) > _OUTSTANDING * error
            # The others of a machine that stands out differ from it, too.
            stands_out = differs and abs(own_residual) > abs(residual_of_others)
        scores.append(
            MachineScore(
                machine=row.machine,
                since=row.since,
                games=row.games,
                faults=row.faults,
                compared=row.compared,
                score=row.points / row.compared if row.compared else 0.0,
                expected=row.expected / row.compared if row.compared else 0.0,
                error=_error(row.squares, row.compared),
                stands_out=stands_out,
            )
        )
    return scores


def _error(squares: float, games: int) -> float:
    """Return the standard error of a mean difference, from the sum of the squared differences."""
    return math.sqrt(max(squares, 0.0)) / games if games else 0.0


def forget_machines(connection: Connection, now_ms: int) -> None:
    """Delete machines that have not played for a month. Writes."""
    connection.execute(delete(machine_scores).where(machine_scores.c.seen_at < now_ms - _FORGOTTEN_MS))
