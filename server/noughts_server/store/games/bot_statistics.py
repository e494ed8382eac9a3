"""A bot's scores by opponent, how its games ended, and the times of its moves."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, and_, func, select

from noughts_referee.rules import Result, Termination
from noughts_server.competition.score import Score
from noughts_server.resource_names import bot_name
from noughts_server.store.engine.bulk import in_batches
from noughts_server.store.engine.schema import bot_versions, bots, entries, pair_scores, tournaments
from noughts_server.store.games.bot_games import ScoreBySide, list_bot_games
from noughts_server.store.games.games import StoredGame
from noughts_server.store.people.bots import get_bot

NEWEST_GAMES = 1_000
"""Terminations and times come from this many of the newest games."""
_MOST_LOOKED_AT = 50_000
"""Limit of the pairs of entries that are read; they take 0.1 s."""


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
    partial: bool
    """Whether both omit the oldest tournaments."""
    games: int = 0
    """The number of newest games from which the other fields come."""
    terminations: defaultdict[Termination, Score] = field(default_factory=lambda: defaultdict(Score))
    times_us: list[int] = field(default_factory=list)
    """Times of the moves that the bot chose itself."""


def bot_statistics(connection: Connection, bot: str) -> BotStatistics:
    """Return the statistics of this bot. Raises NotFound."""
    bot_id = get_bot(connection, bot).id
    newest, partial = _tournaments(connection, bot_id)
    opponents: defaultdict[str, ScoreBySide] = defaultdict(ScoreBySide)
    total = ScoreBySide()
    for batch in in_batches(newest):
        for name, *counts in connection.execute(_scores(bot_id, batch, first=True)):
            for of_first in (opponents[name], total):
                of_first.first += Score(*counts)
        for name, *counts in connection.execute(_scores(bot_id, batch, first=False)):
            for of_second in (opponents[name], total):
                of_second.second += Score(*counts).mirrored
    found = BotStatistics(dict(opponents), total, partial)
    prefix = f"{bot_name(bot)}/versions/"
    for game in list_bot_games(connection, bot, size=NEWEST_GAMES).items:
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


def _tournaments(connection: Connection, bot_id: int) -> tuple[list[int], bool]:
    """Return the newest tournaments with entries of the bot, up to the limit, and whether there are others."""
    other = entries.alias()
    largest = select(func.max(other.c.number)).where(other.c.tournament_id == tournaments.c.id).scalar_subquery()
    rows = connection.execute(
        select(tournaments.c.id, largest.label("largest"))
        .select_from(entries)
        .join(bot_versions, bot_versions.c.id == entries.c.bot_version_id)
        .join(tournaments, tournaments.c.id == entries.c.tournament_id)
        .where(bot_versions.c.bot_id == bot_id, tournaments.c.games_done > 0)
        .distinct()
        .order_by(tournaments.c.id.desc())
    )
    newest: list[int] = []
    looked_at = 0
    for row in rows:
        looked_at += row.largest + 1
        if newest and looked_at > _MOST_LOOKED_AT:
            return newest, True
        newest.append(row.id)
    return newest, False


def _scores(bot_id: int, tournament_ids: Sequence[int], *, first: bool) -> Select[Any]:
    """Select the sums of the pairs in which the bot moved first (or second), by name of the opponent."""
    own, other, version, others = entries.alias(), entries.alias(), bot_versions.alias(), bot_versions.alias()
    x, o = (own, other) if first else (other, own)
    numbers = (pair_scores.c.first_entry == x.c.number, pair_scores.c.second_entry == o.c.number)
    of_pair = and_(pair_scores.c.tournament_id == own.c.tournament_id, *numbers)
    sums = (func.sum(pair_scores.c[name]).label(name) for name in ("wins", "draws", "losses"))
    return (
        select(bots.c.name, *sums)
        .select_from(own)
        .join(version, version.c.id == own.c.bot_version_id)
        .join(other, other.c.tournament_id == own.c.tournament_id)
        .join(pair_scores, of_pair)
        .join(others, others.c.id == other.c.bot_version_id)
        .join(bots, bots.c.id == others.c.bot_id)
        .where(version.c.bot_id == bot_id, own.c.tournament_id.in_(tournament_ids))
        .group_by(bots.c.name)
    )
