"""Find a bot's games, newest first, and its score against another bot.

Games have no index by bot, because writing it would cost as much as storing the games. Instead, an index of `entries`
finds the tournaments of a bot, and `meetings` those of two bots. The slots of an entry follow from the schedule
(`competition.schedule`), so the games are read by key.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import groupby, islice, product
from typing import NamedTuple

from sqlalchemy import Connection, select

from noughts_server.competition.score import Score
from noughts_server.core.errors import InvalidArgument
from noughts_server.core.resource_names import bot_name
from noughts_server.store.engine.pages import LARGEST_SIZE, Page, page_size, read_page_token, write_page_token
from noughts_server.store.engine.schema import bot_scores, entries, meetings
from noughts_server.store.games.games import (
    EVERY_GAME,
    GameFilter,
    SomeGames,
    StoredGame,
    fitting_count,
    is_installed,
    read_games_of_many,
)
from noughts_server.store.people.bots import get_bot
from noughts_server.store.tournaments.tournaments import (
    PlayedTournament,
    Tournament,
    get_tournament,
    played_tournaments,
    schedule_of,
)

# Limit of the slots and tournaments that one page reads, so that gaps cannot make it slow. Cancelled tournaments have
# gaps, and running ones in which a bot is absent.
_MOST_SLOTS_READ = 10_000
# A page reads the tournaments in groups. Each group is larger than the previous one.
_FEWEST_TOURNAMENTS = 8
_MOST_TOURNAMENTS = 256
_END = 0
"""An ordinal that no game has: the slot after the last one of a tournament."""
_NO_LIMITS: Mapping[int, int] = {}


@dataclass(slots=True)
class ScoreBySide:
    """A bot's results, separately for games in which it moved first and second."""

    first: Score = field(default_factory=Score)
    second: Score = field(default_factory=Score)

    @property
    def games(self) -> int:
        return self.first.games + self.second.games

    def add(self, score: Score, *, moved_first: bool) -> None:
        """Add a score that is written from the first mover's point of view."""
        if moved_first:
            self.first += score
        else:
            self.second += score.mirrored


class HeadToHead(NamedTuple):
    """A bot's score against another one; void games do not count."""

    total: ScoreBySide
    variants: dict[str, ScoreBySide]
    """Only variants that they have played, in order of their names."""
    last_games: list[StoredGame]
    """Newest first."""


class _BotGame(NamedTuple):
    """A slot of the bot, or the end of a tournament, with the ordinal `_END` and no tournament."""

    tournament_id: int
    ordinal: int
    tournament: Tournament | None = None
    own: Sequence[int] = ()
    """The bot's entries."""


def list_bot_games(
    connection: Connection,
    bot: str,
    *,
    opponent: str = "",
    tournament: str = "",
    size: int = 0,
    page_token: str = "",
    game_filter: GameFilter = EVERY_GAME,
) -> Page[StoredGame]:
    """Return the games of all versions of a bot: newest tournament first, in each the highest ordinal first.

    `opponent` (a bot), `tournament` (a slug) and `game_filter` select games; by default, all games are returned. A page
    can have fewer games than `size`, even none, before the last page. Raises NotFound, and InvalidArgument for a bad
    size or page token.
    """
    limit = page_size(size)
    method = f"bots/{bot}/games?{opponent}&{tournament}"
    if game_filter != EVERY_GAME:
        method += f"&{game_filter}"
    after = read_page_token(method, page_token, [0, 0])
    newest: int | None = None
    below_ordinal = 0
    if after:
        newest, below_ordinal = map(int, after)
    bot_id = get_bot(connection, bot).id
    opponent_id = get_bot(connection, opponent).id if opponent else None
    only_tournament_id = get_tournament(connection, tournament).id if tournament else None
    groups = _newest_tournaments(connection, bot_id, opponent_id, newest=newest, only=only_tournament_id)
    below = {} if newest is None else {newest: below_ordinal}
    slots = _slots(connection, groups, bot_id, opponent_id, below)
    page: list[StoredGame] = []
    slots_read = 0
    batch = limit + 1
    while slot_batch := list(islice(slots, batch)):
        slots_read += len(slot_batch)
        page += _read(connection, slot_batch, game_filter)
        limit = fitting_count(page, limit)
        if len(page) > limit:
            last_game = page[limit - 1]
            return Page(page[:limit], write_page_token(method, [last_game.tournament_id, last_game.ordinal]))
        if slots_read >= _MOST_SLOTS_READ:
            last_slot = slot_batch[-1]
            return Page(page, write_page_token(method, [last_slot.tournament_id, last_slot.ordinal]))
        # After a gap, more gaps are likely.
        batch = min(2 * batch, LARGEST_SIZE)
    return Page(page, "")


def newest_bot_games(connection: Connection, bot: str, *, most: int, most_tournaments: int) -> list[StoredGame]:
    """Return up to `most` games, newest first, of the bot's newest tournaments. Raises NotFound."""
    bot_id = get_bot(connection, bot).id
    group = next(_newest_tournaments(connection, bot_id, size=most_tournaments), ())
    newest = _read(connection, list(islice(_slots(connection, [group], bot_id), most)), EVERY_GAME)
    return newest[: fitting_count(newest, most)]


def head_to_head(connection: Connection, bot: str, opponent: str, *, last_games: int = 0) -> HeadToHead:
    """Return the score of `bot` against `opponent`, in all versions. Raises NotFound, InvalidArgument."""
    if bot == opponent:
        raise InvalidArgument.of("opponent", bot_name(opponent), "a bot other than `bot`")
    if last_games < 0:
        raise InvalidArgument.of("last_games", last_games, "0 or more")
    bot_id, opponent_id = get_bot(connection, bot).id, get_bot(connection, opponent).id
    total = ScoreBySide()
    variants: defaultdict[str, ScoreBySide] = defaultdict(ScoreBySide)
    for first, second in ((bot_id, opponent_id), (opponent_id, bot_id)):
        statement = select(bot_scores).where(bot_scores.c.first_bot == first, bot_scores.c.second_bot == second)
        for row in connection.execute(statement):
            score = Score(row.wins, row.draws, row.losses)
            if score.games:
                for sides in (total, variants[row.variant]):
                    sides.add(score, moved_first=first == bot_id)
    last: list[StoredGame] = []
    if last_games:
        last = list_bot_games(connection, bot, opponent=opponent, size=last_games).items
    return HeadToHead(total, dict(sorted(variants.items())), last)


def _newest_tournaments(
    connection: Connection,
    bot_id: int,
    opponent_id: int | None = None,
    *,
    newest: int | None = None,
    only: int | None = None,
    size: int = _FEWEST_TOURNAMENTS,
) -> Iterator[Sequence[int]]:
    """Yield groups of tournaments that the bot entered, or in which it met the opponent: newest first, from `newest`.

    The first group has `size` tournaments, and each further group is larger, because a page usually needs few.
    """
    if opponent_id is None:
        key = entries.c.tournament_id
        statement = select(key).distinct().where(entries.c.bot_id == bot_id)
    else:
        key = meetings.c.tournament_id
        one, other = sorted((bot_id, opponent_id))
        statement = select(key).where(meetings.c.one_bot == one, meetings.c.other_bot == other)
    statement = statement.order_by(key.desc())
    if only is not None:
        statement = statement.where(key == only)
    if newest is not None:
        statement = statement.where(key <= newest)
    group = connection.scalars(statement.limit(size)).all()
    while group:
        yield group
        size = min(2 * size, _MOST_TOURNAMENTS)
        group = connection.scalars(statement.where(key < group[-1]).limit(size)).all()


def _slots(
    connection: Connection,
    groups: Iterable[Sequence[int]],
    bot_id: int,
    opponent_id: int | None = None,
    below: Mapping[int, int] = _NO_LIMITS,
) -> Iterator[_BotGame]:
    """Yield the bot's slots, from the highest one with a game downwards, and the end of each tournament.

    Tournaments of a variant whose plugin is no longer installed have no slots. `below` has an exclusive upper limit of
    the ordinals of some tournaments, by key.
    """
    for group in groups:
        played = played_tournaments(connection, group)
        own = _entries_of(connection, bot_id, group)
        others = None if opponent_id is None else _entries_of(connection, opponent_id, group)
        for key in group:
            tournament = played.get(key)
            if tournament is not None and is_installed(tournament.tournament.settings.variant):
                before = min(below.get(key, tournament.highest + 1), tournament.highest + 1)
                opponents = None if others is None else others[key]
                for ordinal in _ordinals(connection, tournament, own[key], opponents, before):
                    yield _BotGame(key, ordinal, tournament.tournament, own[key])
            yield _BotGame(key, _END)


def _ordinals(
    connection: Connection, played: PlayedTournament, own: Sequence[int], others: Sequence[int] | None, below: int
) -> Iterator[int]:
    """Yield the ordinals below `below` of these entries, or of those between them and the others, descending."""
    schedule = schedule_of(connection, played.tournament, played.entries)
    if others is None:
        parts = [schedule.slots_of(entry, below) for entry in own]
    else:
        # Two versions of one bot can be opponents; they are one pair.
        pairs = {(min(pair), max(pair)) for pair in product(own, others)}
        parts = [schedule.slots_between(one, other, below) for one, other in pairs]
    # A game between two versions of the bot is a slot of both.
    return (ordinal for ordinal, _ in groupby(merge(*parts, reverse=True)))


def _read(connection: Connection, slots: Iterable[_BotGame], game_filter: GameFilter) -> list[StoredGame]:
    """Return the games of these slots, in their order."""
    requests: list[SomeGames] = []
    for _, group in groupby(slots, key=lambda slot: slot.tournament_id):
        tournament_slots = [slot for slot in group if slot.tournament is not None]
        if tournament_slots:
            tournament = tournament_slots[0].tournament
            assert tournament is not None
            conditions = game_filter.among(tournament_slots[0].own) if game_filter != EVERY_GAME else []
            requests.append(SomeGames(tournament, [slot.ordinal for slot in tournament_slots], conditions))
    return sorted(read_games_of_many(connection, requests), key=lambda game: (-game.tournament_id, -game.ordinal))


def _entries_of(connection: Connection, bot_id: int, tournament_ids: Sequence[int]) -> dict[int, list[int]]:
    """Return the numbers of the bot's entries in these tournaments."""
    numbers: defaultdict[int, list[int]] = defaultdict(list)
    key = (entries.c.tournament_id, entries.c.number)
    statement = select(*key).where(entries.c.bot_id == bot_id, entries.c.tournament_id.in_(tournament_ids))
    for row in connection.execute(statement.order_by(*key)):
        numbers[row.tournament_id].append(row.number)
    return numbers
