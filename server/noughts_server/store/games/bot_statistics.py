"""A bot's scores by opponent, how its games ended, and the times of its moves."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from noughts_referee.rules import Result, Termination
from noughts_server.competition.elo import PROVISIONAL_GAMES
from noughts_server.competition.score import Score
from noughts_server.core.resource_names import bot_name
from noughts_server.store.engine.bulk import in_batches
from noughts_server.store.engine.schema import bot_scores, bots, ratings
from noughts_server.store.games.bot_games import ScoreBySide, newest_bot_games
from noughts_server.store.games.games import StoredGame
from noughts_server.store.games.trophies import Trophy, trophies_of
from noughts_server.store.people.bots import get_bot
from noughts_server.store.ratings.rater import list_key

_WON = (Result.FIRST_WINS, Result.SECOND_WINS)
"""The result of a game that the first or the second side won."""
_MOST_BEST_WINS = 3
# Terminations and times come from at most this many of the newest games, in the newest tournaments.
NEWEST_GAMES = 1_000
NEWEST_TOURNAMENTS = 50


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
        if not ordered:
            return cls()

        def quantile(percent: int) -> int:
            return ordered[math.ceil(percent * len(ordered) / 100) - 1]

        return cls(
            median_us=quantile(50),
            percentile90_us=quantile(90),
            percentile99_us=quantile(99),
            longest_us=ordered[-1],
        )


class BestWin(NamedTuple):
    """A win against a highly rated bot."""

    game: StoredGame
    opponent: str
    """Without the `bots/`."""
    rating: float
    """The opponent's rating today."""
    rating_list: str


@dataclass(slots=True)
class BotStatistics:
    opponents: dict[str, ScoreBySide]
    """The scores by name of the opponent."""
    total: ScoreBySide
    games: int = 0
    """The number of newest games from which the following fields come; the fields above are of all games."""
    terminations: defaultdict[Termination, Score] = field(default_factory=lambda: defaultdict(Score))
    times_us: list[int] = field(default_factory=list)
    """Times of the moves that the bot chose itself."""
    best_wins: list[BestWin] = field(default_factory=list)
    """The wins against the opponents with the highest ratings, the best first."""
    trophies: list[Trophy] = field(default_factory=list)


def bot_statistics(connection: Connection, bot: str) -> BotStatistics:
    """Return the statistics of this bot. Raises NotFound."""
    bot_id = get_bot(connection, bot).id
    opponents: defaultdict[int, ScoreBySide] = defaultdict(ScoreBySide)
    total = ScoreBySide()
    counts = select(
        func.sum(bot_scores.c.wins).label("wins"),
        func.sum(bot_scores.c.draws).label("draws"),
        func.sum(bot_scores.c.losses).label("losses"),
    )
    for own, other in (
        (bot_scores.c.first_bot, bot_scores.c.second_bot),
        (bot_scores.c.second_bot, bot_scores.c.first_bot),
    ):
        for row in connection.execute(counts.add_columns(other.label("opponent")).where(own == bot_id).group_by(other)):
            score = Score(wins=int(row.wins), draws=int(row.draws), losses=int(row.losses))
            if score.games:
                for sides in (opponents[row.opponent], total):
                    sides.add(score, moved_first=own is bot_scores.c.first_bot)
    statistics = BotStatistics(_by_name(connection, opponents), total)
    prefix = f"{bot_name(bot)}/versions/"
    won: dict[tuple[str, str], StoredGame] = {}
    for game in newest_bot_games(connection, bot, most=NEWEST_GAMES, most_tournaments=NEWEST_TOURNAMENTS):
        statistics.games += 1
        names = (game.first_bot, game.second_bot)
        for side, name in enumerate(names):
            if name.startswith(prefix):
                _add(statistics, game, side)
                opponent = names[1 - side]
                if game.result == _WON[side] and not opponent.startswith(prefix):
                    won.setdefault((opponent.split("/")[1], _list_of(game)), game)
    statistics.best_wins = _best_wins(connection, won)
    statistics.trophies = trophies_of(connection, bot_id)
    return statistics


def _list_of(game: StoredGame) -> str:
    """Return the rating list of the game, unless its bots have times of their own."""
    return f"{game.variant}/{game.first_time.time_class}"


def _best_wins(connection: Connection, won: Mapping[tuple[str, str], StoredGame]) -> list[BestWin]:
    """Return the wins against the bots with the highest ratings, of each bot the best; `won` is by bot and list."""
    best: dict[str, BestWin] = {}
    names: dict[int, str] = {}
    for batch in in_batches(sorted({name for name, _ in won})):
        rows = connection.execute(select(bots.c.id, bots.c.name).where(bots.c.name.in_(batch)))
        names |= {row.id: row.name for row in rows}
    for rating_list in sorted({rating_list for _, rating_list in won}):
        variant, _, time_class = rating_list.rpartition("/")
        key = list_key(connection, variant, time_class)
        beaten = [bot_id for bot_id, name in names.items() if (name, rating_list) in won]
        for keys in in_batches(beaten):
            rated = select(ratings.c.bot_id, ratings.c.rating).where(
                ratings.c.list_id == key, ratings.c.bot_id.in_(keys), ratings.c.games >= PROVISIONAL_GAMES
            )
            for bot_id, rating in connection.execute(rated):
                name = names[bot_id]
                if name not in best or rating > best[name].rating:
                    best[name] = BestWin(won[name, rating_list], name, rating, rating_list)
    return sorted(best.values(), key=lambda win: -win.rating)[:_MOST_BEST_WINS]


def _add(statistics: BotStatistics, game: StoredGame, side: int) -> None:
    score = Score(
        wins=int(game.result is Result.FIRST_WINS),
        draws=int(game.result is Result.DRAW),
        losses=int(game.result is Result.SECOND_WINS),
    )
    if score.games:
        statistics.terminations[game.termination] += score.mirrored if side else score
    opening_plies = max(game.opening_plies, game.agreement.stones if game.agreement else 0)
    own_times = (time for ply, time in enumerate(game.times_us) if ply >= opening_plies and ply % 2 == side)
    statistics.times_us += own_times


def _by_name(connection: Connection, opponents: Mapping[int, ScoreBySide]) -> dict[str, ScoreBySide]:
    names: dict[int, str] = {}
    for batch in in_batches(opponents):
        names.update(
            {row.id: row.name for row in connection.execute(select(bots.c.id, bots.c.name).where(bots.c.id.in_(batch)))}
        )
    return {names[key]: score for key, score in opponents.items()}
