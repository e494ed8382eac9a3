"""Find a bot's games, newest first, and its score against another bot.

Games have no index by bot, because it would cost as much as storing them. A bot has few entries, and the slots of an
entry follow from the schedule (`competition.schedule`), so its games are read by key.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import groupby, islice, product
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, and_, func, or_, select

from noughts_server.competition.score import Score
from noughts_server.errors import InvalidArgument
from noughts_server.resource_names import bot_name
from noughts_server.store.engine.bulk import in_batches
from noughts_server.store.engine.pages import LARGEST_SIZE, Page, page_size, read_page_token, write_page_token
from noughts_server.store.engine.schema import bot_versions, entries, games, pair_scores, tournaments
from noughts_server.store.games.games import EVERY_GAME, StoredGame, Wanted, fitting, read_games
from noughts_server.store.people.bots import get_bot
from noughts_server.store.tournaments.tournaments import Tournament, get_tournament, get_tournament_by_id, schedule_of

# Limit of the slots and tournaments that one page reads, so that gaps cannot make it slow. Cancelled tournaments have
# gaps, and running ones in which a bot is absent.
_MOST_LOOKED_AT = 10_000
# Databases limit the nesting of a statement's conditions.
_PAIRS_A_STATEMENT = 200


@dataclass(slots=True)
class ScoreBySide:
    """A bot's results, separately for games in which it moved first and second."""

    first: Score = field(default_factory=Score)
    second: Score = field(default_factory=Score)

    @property
    def games(self) -> int:
        return self.first.games + self.second.games


class HeadToHead(NamedTuple):
    """A bot's score against another one; void games do not count."""

    total: ScoreBySide
    variants: dict[str, ScoreBySide]
    """Only variants that they have played, in order of their names."""
    last_games: list[StoredGame]
    """Newest first."""


class _Played(NamedTuple):
    """A tournament in which the bot has entries, with their numbers."""

    tournament_id: int
    own: list[int]
    others: list[int] | None
    """The opponent's entries; None for any opponent."""


def list_bot_games(
    connection: Connection,
    bot: str,
    *,
    opponent: str = "",
    tournament: str = "",
    size: int = 0,
    page_token: str = "",
    wanted: Wanted = EVERY_GAME,
) -> Page[StoredGame]:
    """Return the games of all versions of a bot: newest tournament first, in each the highest ordinal first.

    `opponent` (a bot), `tournament` (a slug) and `wanted` restrict them; empty means all. A page can have fewer games
    than `size`, even none, before the last page. Raises NotFound, and InvalidArgument for a bad size or page token.
    """
    limit = page_size(size)
    method = f"bots/{bot}/games?{opponent}&{tournament}{f'&{wanted}' if wanted != EVERY_GAME else ''}"
    after = read_page_token(method, page_token, [0, 0])
    newest, below_there = map(int, after) if after else (None, 0)
    bot_id = get_bot(connection, bot).id
    opponent_id = get_bot(connection, opponent).id if opponent else None
    only = get_tournament(connection, tournament).id if tournament else None
    found: list[StoredGame] = []
    looked_at = 0
    for played in _tournaments_of(connection, bot_id, opponent_id):
        if only not in (None, played.tournament_id) or (newest is not None and played.tournament_id > newest):
            continue
        here = get_tournament_by_id(connection, played.tournament_id)
        slots = _slots(connection, here, played, below_there if here.id == newest else here.games_total + 1)
        conditions = wanted.among(played.own) if wanted != EVERY_GAME else []
        looked_at += 1
        batch = limit + 1 - len(found)
        while ordinals := list(islice(slots, batch)):
            looked_at += len(ordinals)
            found += reversed(read_games(connection, here, ordinals, *conditions))
            if len(found) > (limit := fitting(found, limit)):
                last = found[limit - 1]
                return Page(found[:limit], write_page_token(method, [last.tournament_id, last.ordinal]))
            if looked_at >= _MOST_LOOKED_AT:
                return Page(found, write_page_token(method, [here.id, ordinals[-1]]))
            # More gaps often follow a gap.
            batch = min(2 * batch, LARGEST_SIZE)
        if looked_at >= _MOST_LOOKED_AT:
            return Page(found, write_page_token(method, [here.id, 0]))
    return Page(found, "")


def head_to_head(connection: Connection, bot: str, opponent: str, *, last_games: int = 0) -> HeadToHead:
    """Return the score of `bot` against `opponent`, in all versions. Raises NotFound, InvalidArgument."""
    if bot == opponent:
        raise InvalidArgument.of("opponent", bot_name(opponent), "a bot other than `bot`")
    if last_games < 0:
        raise InvalidArgument.of("last_games", last_games, "0 or more")
    bot_id, opponent_id = get_bot(connection, bot).id, get_bot(connection, opponent).id
    played = list(_tournaments_of(connection, bot_id, opponent_id))
    variant_of = _variants(connection, [each.tournament_id for each in played])
    total = ScoreBySide()
    variants: defaultdict[str, ScoreBySide] = defaultdict(ScoreBySide)
    for each, first, pair in _pairs(connection, played):
        for score in (total, variants[variant_of[each]]):
            if first:
                score.first += Score(pair.wins, pair.draws, pair.losses)
            else:
                score.second += Score(pair.losses, pair.draws, pair.wins)
    last: list[StoredGame] = []
    if last_games:
        last = list_bot_games(connection, bot, opponent=opponent, size=last_games).items
    return HeadToHead(total, dict(sorted(variants.items())), last)


def _tournaments_of(connection: Connection, bot_id: int, opponent_id: int | None) -> Iterator[_Played]:
    """Yield the tournaments that the bot (and the opponent) entered, newest first."""
    other = None if opponent_id is None else dict(_entries_of(connection, opponent_id))
    for tournament_id, own in _entries_of(connection, bot_id):
        if other is None:
            yield _Played(tournament_id, own, None)
        elif tournament_id in other:
            yield _Played(tournament_id, own, other[tournament_id])


def _entries_of(connection: Connection, bot_id: int) -> Iterator[tuple[int, list[int]]]:
    """Yield the started tournaments with the numbers of the bot's entries, newest first."""
    rows = connection.execute(
        select(entries.c.tournament_id, entries.c.number)
        .join(bot_versions, bot_versions.c.id == entries.c.bot_version_id)
        .join(tournaments, tournaments.c.id == entries.c.tournament_id)
        .where(bot_versions.c.bot_id == bot_id, tournaments.c.games_done > 0)
        .order_by(entries.c.tournament_id.desc(), entries.c.number)
    )
    for tournament_id, group in groupby(rows, lambda row: int(row.tournament_id)):
        yield tournament_id, [row.number for row in group]


def _slots(connection: Connection, tournament: Tournament, played: _Played, below: int) -> Iterator[int]:
    """Yield the ordinals of the bot's slots below `below`, from the highest one with a game downwards."""
    played_to = select(func.max(games.c.ordinal)).where(games.c.tournament_id == tournament.id)
    highest = connection.execute(played_to).scalar_one()
    below = min(below, highest + 1)
    schedule = schedule_of(connection, tournament)
    if played.others is None:
        parts = [schedule.slots_of(entry, below) for entry in played.own]
    else:
        # Two versions of one bot can be opponents; they are one pair.
        pairs = {(min(pair), max(pair)) for pair in product(played.own, played.others)}
        parts = [schedule.slots_between(one, other, below) for one, other in pairs]
    # A game between two versions of the bot is a slot of both.
    return (ordinal for ordinal, _ in groupby(merge(*parts, reverse=True)))


def _variants(connection: Connection, tournament_ids: Sequence[int]) -> dict[int, str]:
    found: dict[int, str] = {}
    for batch in in_batches(tournament_ids):
        rows = connection.execute(select(tournaments.c.id, tournaments.c.variant).where(tournaments.c.id.in_(batch)))
        found.update({row.id: row.variant for row in rows})
    return found


def _pairs(connection: Connection, played: Sequence[_Played]) -> Iterator[tuple[int, bool, Row[Any]]]:
    """Yield the tournament, whether the bot moved first, and the scores of each pair of entries of the two bots."""
    keys: dict[tuple[int, int, int], bool] = {}
    for each in played:
        for own, other in product(each.own, each.others or ()):
            keys[each.tournament_id, own, other] = True
            keys[each.tournament_id, other, own] = False
    column = pair_scores.c
    for batch in in_batches(keys, _PAIRS_A_STATEMENT):
        # Not `(..., ...) IN (VALUES ...)`, because SQLite would read the whole table.
        these = (
            and_(column.tournament_id == tournament_id, column.first_entry == first, column.second_entry == second)
            for tournament_id, first, second in batch
        )
        for row in connection.execute(select(pair_scores).where(or_(*these))):
            yield row.tournament_id, keys[row.tournament_id, row.first_entry, row.second_entry], row
