"""A bot's scores by opponent, how its games ended, and the times of its moves."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from noughts_referee.rules import Result, Termination
from noughts_server.competition.score import Score
from noughts_server.core.resource_names import bot_name
from noughts_server.store.engine.bulk import in_batches
from noughts_server.store.engine.schema import bot_scores, bots
from noughts_server.store.games.bot_games import ScoreBySide, newest_bot_games
from noughts_server.store.games.games import StoredGame
from noughts_server.store.people.bots import get_bot

NEWEST_GAMES, NEWEST_TOURNAMENTS = 1_000, 50
"""Terminations and times come from at most this many of the newest games, in the newest tournaments."""


class MoveTimes(NamedTuple):
    """Quantiles of the times of moves, in microseconds."""

    median_us: int = 0
    percentile90_us: int = 0
    percentile99_us: int = 0
    longest_us: int = 0

    @classmethod
    def of(cls, times_us: Sequence[int]) -> "MoveTimes":
        """Return the quantiles, each the time of an actual move (nearest rank); all 0 without moves."""
        ordered = sorted(times_us)
        places = (-(-percent * len(ordered) // 100) - 1 for percent in (50, 90, 99, 100))
        return cls(*(ordered[place] for place in places)) if ordered else cls()


@dataclass(slots=True)
class BotStatistics:
    opponents: dict[str, ScoreBySide]
    """By name of the opponent."""
    total: ScoreBySide
    games: int = 0
    """The number of newest games from which the other fields come."""
    terminations: defaultdict[Termination, Score] = field(default_factory=lambda: defaultdict(Score))
    times_us: list[int] = field(default_factory=list)
    """Times of the moves that the bot chose itself."""


def bot_statistics(connection: Connection, bot: str) -> BotStatistics:
    """Return the statistics of this bot. Raises NotFound."""
    bot_id = get_bot(connection, bot).id
    opponents: defaultdict[int, ScoreBySide] = defaultdict(ScoreBySide)
    total = ScoreBySide()
    counts = [func.sum(bot_scores.c[name]) for name in ("wins", "draws", "losses")]
    for own, other in (
        (bot_scores.c.first_bot, bot_scores.c.second_bot),
        (bot_scores.c.second_bot, bot_scores.c.first_bot),
    ):
        for opponent, *numbers in connection.execute(select(other, *counts).where(own == bot_id).group_by(other)):
            score = Score(*map(int, numbers))
            if score.games:
                for sides in (opponents[opponent], total):
                    sides.add(score, moved_first=own is bot_scores.c.first_bot)
    found = BotStatistics(_by_name(connection, opponents), total)
    prefix = f"{bot_name(bot)}/versions/"
    for game in newest_bot_games(connection, bot, most=NEWEST_GAMES, most_tournaments=NEWEST_TOURNAMENTS):
        found.games += 1
        for side, name in enumerate((game.first_bot, game.second_bot)):
            if name.startswith(prefix):
                _add(found, game, side)
    return found


def _add(found: BotStatistics, game: StoredGame, side: int) -> None:
    results = (Result.FIRST_WINS, Result.DRAW, Result.SECOND_WINS)
    score = Score(*(int(game.result is each) for each in results))
    if score.games:
        found.terminations[game.termination] += score.mirrored if side else score
    put = max(game.opening_plies, game.agreement.stones if game.agreement else 0)
    found.times_us += [time for ply, time in enumerate(game.times_us) if ply >= put and ply % 2 == side]


def _by_name(connection: Connection, opponents: Mapping[int, ScoreBySide]) -> dict[str, ScoreBySide]:
    names: dict[int, str] = {}
    for batch in in_batches(opponents):
        names.update(
            {row.id: row.name for row in connection.execute(select(bots.c.id, bots.c.name).where(bots.c.id.in_(batch)))}
        )
    return {names[key]: score for key, score in opponents.items()}
