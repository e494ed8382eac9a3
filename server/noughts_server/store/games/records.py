"""Records of the newest games: the longest and the shortest, the longest winning streak, the biggest upset."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, func, select

from noughts_referee.rules import Result, Termination, parse_variant
from noughts_referee.work_units import bytes_of_a_move
from noughts_server.competition.elo import PROVISIONAL_GAMES
from noughts_server.core.turns import give_way
from noughts_server.store.engine.bulk import in_batches
from noughts_server.store.engine.schema import Kind, bots, entries, ratings, tournaments
from noughts_server.store.engine.schema import games as games_table
from noughts_server.store.games.games import SomeGames, StoredGame, is_installed, read_games_of_many
from noughts_server.store.ratings.rater import list_key
from noughts_server.store.tournaments.tournaments import Tournament, get_tournament_by_id

NEWEST_GAMES = 10_000
NEWEST_TOURNAMENTS = 200
"""Records come from at most this number of the newest games, in this number of the newest tournaments."""
_MOST_VARIANTS = 6
_SHORTEST_STREAK = 3


class Streak(NamedTuple):
    """Consecutive wins of a bot."""

    bot: str
    """The name of the bot, without the prefix `bots/`."""
    wins: int
    last: StoredGame


class Upset(NamedTuple):
    """A win of a bot with a lower rating. The ratings are today's."""

    game: StoredGame
    winner_rating: float
    loser_rating: float


@dataclass(frozen=True, slots=True)
class VariantRecords:
    """The records of one variant. A record is None if no game qualifies for it."""

    variant: str
    games: int
    longest: StoredGame
    shortest: StoredGame | None
    """The shortest game that was won on the board."""
    streak: Streak | None
    upset: Upset | None


class _Played(NamedTuple):
    """A game without its moves."""

    tournament: int
    ordinal: int
    ended_at: int
    bots: tuple[int, int]
    result: Result
    termination: Termination
    plies: int

    @property
    def key(self) -> tuple[int, int]:
        return self.tournament, self.ordinal

    @property
    def winner(self) -> int | None:
        """Return the side that won."""
        return {Result.FIRST_WINS: 0, Result.SECOND_WINS: 1}.get(self.result)

    @property
    def won_on_board(self) -> bool:
        return self.termination is Termination.LINE and self.winner is not None


def newest_records(connection: Connection) -> list[VariantRecords]:
    """Return the records by variant, of the variants with the most games first.

    Games of a variant whose plugin is no longer installed are left out.
    """
    newest = (
        select(tournaments.c.id)
        .where(tournaments.c.kind == Kind.ORGANISED, tournaments.c.games_done > 0)
        .order_by(tournaments.c.id.desc())
        .limit(NEWEST_TOURNAMENTS)
    )
    tournament_of: dict[int, Tournament] = {}
    played: defaultdict[str, list[_Played]] = defaultdict(list)
    left = NEWEST_GAMES
    for key in connection.scalars(newest).all():
        tournament = get_tournament_by_id(connection, key)
        if not is_installed(tournament.settings.variant):
            continue
        tournament_of[key] = tournament
        newest_games = _played(connection, tournament, left)
        played[tournament.settings.variant] += newest_games
        left -= len(newest_games)
        if left <= 0:
            break
    most_played = sorted(played.items(), key=lambda item: -len(item[1]))[:_MOST_VARIANTS]
    holders = [_RecordGames.of(connection, variant, games, tournament_of) for variant, games in most_played if games]
    stored = _read_games(connection, tournament_of, (game for each in holders for game in each.games))
    names = _names(connection, {each.streak[0] for each in holders if each.streak})
    return [each.records(stored, names) for each in holders]


def _played(connection: Connection, tournament: Tournament, most: int) -> list[_Played]:
    """Return up to `most` of the tournament's last games, without void games and those without moves."""
    numbers = select(entries.c.number, entries.c.bot_id).where(entries.c.tournament_id == tournament.id)
    bot_of = {row.number: row.bot_id for row in connection.execute(numbers)}
    move_bytes = bytes_of_a_move(parse_variant(tournament.settings.variant).cells)
    g = games_table.c
    statement = (
        select(g.ordinal, g.ended_at, g.first_entry, g.second_entry, g.result, g.termination, func.length(g.moves))
        .where(g.tournament_id == tournament.id)
        .order_by(g.ordinal.desc())
        .limit(most)
    )
    played = []
    for ordinal, ended_at, first, second, result, termination, length in connection.execute(statement):
        give_way()
        if length and result != Result.VOID:
            played.append(
                _Played(
                    tournament=tournament.id,
                    ordinal=ordinal,
                    ended_at=ended_at,
                    bots=(bot_of[first], bot_of[second]),
                    result=Result(result),
                    termination=Termination(termination),
                    plies=length // move_bytes,
                )
            )
    return played


@dataclass(frozen=True, slots=True)
class _RecordGames:
    """The games that hold the records of a variant, before their moves are read."""

    variant: str
    count: int
    longest: _Played
    shortest: _Played | None
    streak: tuple[int, int, _Played] | None
    """The bot, its wins and the last of them."""
    upset: tuple[_Played, float, float] | None

    @classmethod
    def of(
        cls, connection: Connection, variant: str, games: Sequence[_Played], tournament_of: dict[int, Tournament]
    ) -> "_RecordGames":
        won = [game for game in games if game.won_on_board]
        return cls(
            variant=variant,
            count=len(games),
            # Of several games with equally many plies, the newest holds the record.
            longest=max(games, key=lambda game: (game.plies, game.key)),
            shortest=max(won, key=lambda game: (-game.plies, game.key), default=None),
            streak=_longest_streak(games),
            upset=_biggest_upset(connection, won, tournament_of),
        )

    @property
    def games(self) -> list[_Played]:
        games = [self.longest, self.shortest]
        if self.streak:
            games.append(self.streak[2])
        if self.upset:
            games.append(self.upset[0])
        return [game for game in games if game]

    def records(self, stored: dict[tuple[int, int], StoredGame], names: dict[int, str]) -> VariantRecords:
        streak = None
        if self.streak:
            bot, wins, last = self.streak
            streak = Streak(names[bot], wins, stored[last.key])
        upset = None
        if self.upset:
            game, winner_rating, loser_rating = self.upset
            upset = Upset(stored[game.key], winner_rating, loser_rating)
        return VariantRecords(
            variant=self.variant,
            games=self.count,
            longest=stored[self.longest.key],
            shortest=stored[self.shortest.key] if self.shortest else None,
            streak=streak,
            upset=upset,
        )


def _longest_streak(games: Iterable[_Played]) -> tuple[int, int, _Played] | None:
    """Return the longest streak of wins, if it has at least `_SHORTEST_STREAK`; of equally long ones, the newest."""
    current_streak: defaultdict[int, int] = defaultdict(int)
    best: tuple[int, int, _Played] | None = None
    for game in sorted(games, key=lambda each: (each.ended_at, *each.key)):
        if game.bots[0] == game.bots[1]:
            continue
        for side, bot in enumerate(game.bots):
            current_streak[bot] = current_streak[bot] + 1 if game.winner == side else 0
            if current_streak[bot] >= max(_SHORTEST_STREAK, best[1] if best else 0):
                best = (bot, current_streak[bot], game)
    return best


def _biggest_upset(
    connection: Connection, won: Iterable[_Played], tournament_of: dict[int, Tournament]
) -> tuple[_Played, float, float] | None:
    """Return the win with the largest difference of today's ratings, and the ratings of winner and loser."""
    by_list: defaultdict[int, list[_Played]] = defaultdict(list)
    keys: dict[int, int | None] = {}
    for game in won:
        settings = tournament_of[game.tournament].settings
        if game.tournament not in keys:
            keys[game.tournament] = list_key(connection, settings.variant, settings.time.time_class)
        key = keys[game.tournament]
        if settings.rated and key is not None:
            by_list[key].append(game)
    best: tuple[_Played, float, float] | None = None
    for key, games in by_list.items():
        rating_of = _settled_ratings(connection, key, {bot for game in games for bot in game.bots})
        for game in games:
            assert game.winner is not None
            winner = rating_of.get(game.bots[game.winner])
            loser = rating_of.get(game.bots[1 - game.winner])
            if winner is None or loser is None or loser <= winner:
                continue
            if best is None or loser - winner > best[2] - best[1]:
                best = (game, winner, loser)
    return best


def _settled_ratings(connection: Connection, list_id: int, bot_ids: set[int]) -> dict[int, float]:
    """Return the ratings in a list of those bots whose rating is no longer provisional."""
    rating_of: dict[int, float] = {}
    for batch in in_batches(sorted(bot_ids)):
        is_settled = (ratings.c.list_id == list_id, ratings.c.games >= PROVISIONAL_GAMES, ratings.c.bot_id.in_(batch))
        rows: Iterable[Row[Any]] = connection.execute(select(ratings.c.bot_id, ratings.c.rating).where(*is_settled))
        rating_of.update((row.bot_id, row.rating) for row in rows)
    return rating_of


def _read_games(
    connection: Connection, tournament_of: dict[int, Tournament], games: Iterable[_Played]
) -> dict[tuple[int, int], StoredGame]:
    ordinals: defaultdict[int, set[int]] = defaultdict(set)
    for game in games:
        ordinals[game.tournament].add(game.ordinal)
    parts = [SomeGames(tournament_of[key], sorted(numbers), []) for key, numbers in ordinals.items()]
    return {(game.tournament_id, game.ordinal): game for game in read_games_of_many(connection, parts)}


def _names(connection: Connection, bot_ids: set[int]) -> dict[int, str]:
    rows = connection.execute(select(bots.c.id, bots.c.name).where(bots.c.id.in_(bot_ids)))
    return {row.id: row.name for row in rows}
