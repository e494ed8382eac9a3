"""Results that could have been arranged, for the operator. A row is a reason to check the games, not a proof.

All patterns except the first come from the newest rated games of the log. A search reads a limited number of them in
total, and of each tournament.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from statistics import median
from typing import Any, NamedTuple

from sqlalchemy import Connection, Integer, Row, func, select

from noughts_referee.rules import CONCEDED_FAULT, FORFEITS, Result, Termination
from noughts_server.core.resource_names import bot_name, game_name, tournament_name
from noughts_server.core.turns import give_way
from noughts_server.store.engine.bulk import in_batches
from noughts_server.store.engine.schema import (
    LARGE_MOVES,
    bot_scores,
    bots,
    entries,
    games,
    owners,
    rating_lists,
    rating_moves,
    rating_runs,
    tournaments,
)

MOST_ROWS = 50
"""The limit of rows for each pattern."""
# Limits of the newest rated games that a search reads.
MOST_GAMES = 50_000
MOST_OF_A_TOURNAMENT = 2_000
# The least number of losses of a pattern against one owner, or of an organiser's conceded games, for a row.
FEWEST_LOSSES = 10
FEWEST_CONCEDED = 3
SHORT = 1 / 3
"""A game is short below this share of the median number of moves of its variant."""
_MOST_RUNS = 10_000
"""Limit of the runs of the log that a search reads."""
_ROWS_AT_ONCE = 1_000
_TIME_BYTES = 4
"""The bytes of a move's time in `games.times`; the bytes of its cell depend on the board."""


class Pattern(IntEnum):
    """A suspicious pattern; values equal those of the protocol's enum."""

    RATING_MOVED = 1
    """The bots of one other owner have moved the bot's rating by at least `schema.LARGE_MOVE` points."""
    GIVEN_UP = 2
    """At least half of the bot's losses against one owner are resignations, faults or losses by its own scores."""
    SHORT_LOSSES = 3
    """At least half of the bot's losses against one owner are short."""
    CONCEDED = 4
    """The organiser stopped running games of its own bots, which thereby lost them."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A pattern, and the figures behind it."""

    pattern: Pattern
    bot: str
    """`bots/NAME`: the bot whose rating was moved, or the bot with the most of these losses."""
    owner: str
    """The owner of the bot."""
    opponent: str
    """`bots/NAME`: the bot of the other owner with the most of these games."""
    other_owner: str
    games: int
    """The games that were read between the bot, or all bots of an organiser, and the other owner."""
    losses: int
    """The games among them that the bot, or the organiser's bots, lost."""
    counted: int = 0
    """The losses that show the pattern."""
    share_elsewhere: float | None = None
    """The share of such losses in the losses against all other owners; None without losses against others."""
    rating_list: str = ""
    """The list of a rating that was moved."""
    points: float = 0.0
    """The points by which it was moved."""
    newest_game: str = ""
    """`tournaments/ID/games/N`: the newest of the counted losses."""


class _Game(NamedTuple):
    """A rated game that was not void, between bots of different owners."""

    tournament: str
    ordinal: int
    variant: str
    organiser: int
    first: int
    second: int
    first_owner: int
    second_owner: int
    loser: int | None
    """0: the first mover, 1: the second, None: a draw."""
    plies: int
    termination: int
    is_conceded: bool
    by_scores: bool
    """Whether it was adjudicated in a tournament in which bots lose by their own scores."""

    @property
    def is_given_up(self) -> bool:
        """Return whether the loser could have lost on purpose without a bad move: by a fault, or by its own reports."""
        return self.termination in FORFEITS or self.by_scores

    @property
    def pair(self) -> tuple[str, int, int]:
        """The variant and both bots."""
        return self.variant, min(self.first, self.second), max(self.first, self.second)


@dataclass(slots=True)
class _Against:
    """The games of a bot, or of an organiser's bots, against one other owner; newest first."""

    games: int = 0
    losses: list[_Game] = field(default_factory=list)


def find_suspicions(connection: Connection) -> list[Suspicion]:
    """Return suspicions, ordered by pattern, the largest figures first, at most `MOST_ROWS` of each pattern."""
    of_bots: defaultdict[tuple[int, int], _Against] = defaultdict(_Against)
    of_organisers: defaultdict[int, _Against] = defaultdict(_Against)
    lengths: defaultdict[tuple[str, int, int], list[int]] = defaultdict(list)
    for game in _newest_games(connection):
        if game.termination != Termination.ADJUDICATED:
            lengths[game.pair].append(game.plies)
        sides = ((game.first, game.first_owner, game.second_owner), (game.second, game.second_owner, game.first_owner))
        for side, (bot, owner, other_owner) in enumerate(sides):
            own = [of_bots[bot, other_owner], *([of_organisers[owner]] if owner == game.organiser else [])]
            for against in own:
                against.games += 1
                if game.loser == side:
                    against.losses.append(game)
        give_way()
    shortest = _shortest(lengths)

    def is_short(game: _Game) -> bool:
        return game.termination != Termination.ADJUDICATED and game.plies < shortest[game.variant]

    suspicions = _moved_ratings(connection)
    suspicions += _losses(connection, Pattern.GIVEN_UP, of_bots, lambda game: game.is_given_up)
    suspicions += _losses(connection, Pattern.SHORT_LOSSES, of_bots, is_short)
    return suspicions + _conceded(connection, of_organisers)


def _newest_games(connection: Connection) -> Iterator[_Game]:
    """Yield the newest rated games of the log, within the limits."""
    runs = select(rating_runs).order_by(rating_runs.c.first_seq.desc()).limit(_MOST_RUNS)
    games_left = MOST_GAMES
    read_of_tournament = Counter[int]()
    for run in connection.execute(runs).all():
        read = min(run.games, games_left, MOST_OF_A_TOURNAMENT - read_of_tournament[run.tournament_id])
        if read > 0:
            games_left -= read
            read_of_tournament[run.tournament_id] += read
            last = run.first_ordinal + run.games - 1
            yield from _games(connection, run.tournament_id, last - read + 1, last)
        give_way()


def _games(connection: Connection, tournament_id: int, first: int, last: int) -> Iterator[_Game]:
    tournament = connection.execute(select(tournaments).where(tournaments.c.id == tournament_id)).one()
    loses_by_scores = bool((tournament.options or {}).get("resign"))
    one = entries.alias()
    other = entries.alias()
    one_bot = bots.alias()
    other_bot = bots.alias()
    sides = ((one, one_bot, games.c.first_entry), (other, other_bot, games.c.second_entry))
    played: Any = games
    for entry, bot, number in sides:
        of_game = (entry.c.tournament_id == games.c.tournament_id) & (entry.c.number == number)
        played = played.join(entry, of_game).join(bot, bot.c.id == entry.c.bot_id)
    statement = select(
        games.c.ordinal,
        games.c.result,
        games.c.termination,
        (games.c.fault == CONCEDED_FAULT).label("conceded"),
        games.c.fault,
        (func.length(games.c.times, type_=Integer) // _TIME_BYTES - games.c.opening_plies).label("plies"),
        one_bot.c.id.label("first"),
        other_bot.c.id.label("second"),
        one_bot.c.owner_id.label("first_owner"),
        other_bot.c.owner_id.label("second_owner"),
    ).select_from(played)
    of_span = (games.c.tournament_id == tournament_id, games.c.ordinal.between(first, last))
    between_owners = (one_bot.c.owner_id != other_bot.c.owner_id, games.c.result != int(Result.VOID))
    newest = statement.where(*of_span, *between_owners).order_by(games.c.ordinal.desc())
    for row in connection.execute(newest.execution_options(yield_per=_ROWS_AT_ONCE)):
        yield _Game(
            tournament=tournament.slug,
            ordinal=row.ordinal,
            variant=tournament.variant,
            organiser=tournament.owner_id,
            first=row.first,
            second=row.second,
            first_owner=row.first_owner,
            second_owner=row.second_owner,
            loser=Result(row.result).loser,
            plies=row.plies,
            termination=row.termination,
            is_conceded=bool(row.conceded),
            by_scores=loses_by_scores and row.termination == Termination.ADJUDICATED and not row.fault,
        )


def _shortest(lengths: dict[tuple[str, int, int], list[int]]) -> dict[str, float]:
    """Return the number of moves below which a game of each variant is short.

    `lengths` has no adjudicated games, because withdrawn bots lose them without a move. Each pair of bots counts once,
    so that many games of one pair do not change the usual length.
    """
    by_variant: defaultdict[str, list[float]] = defaultdict(list)
    for (variant, _, _), plies in lengths.items():
        by_variant[variant].append(median(plies))
    return {variant: SHORT * median(medians) for variant, medians in by_variant.items()}


def _moved_ratings(connection: Connection) -> list[Suspicion]:
    mover = owners.alias()
    joined = rating_moves.join(bots, bots.c.id == rating_moves.c.bot_id).join(owners, owners.c.id == bots.c.owner_id)
    joined = joined.join(mover, mover.c.id == rating_moves.c.owner_id).join(rating_lists)
    columns = (rating_moves, bots.c.name, owners.c.name.label("owner"), mover.c.name.label("other_owner"))
    large = select(*columns, rating_lists.c.variant, rating_lists.c.time_class).select_from(joined).where(LARGE_MOVES)
    moved = rating_moves.c.moved
    rows: list[Row[Any]] = []
    for order in (large.where(moved > 0).order_by(moved.desc()), large.where(moved < 0).order_by(moved)):
        rows += connection.execute(order.limit(MOST_ROWS))
    rows.sort(key=lambda row: -abs(row.moved))
    return [_moved(connection, row) for row in rows[:MOST_ROWS]]


def _moved(connection: Connection, row: Row[Any]) -> Suspicion:
    """Return a moved rating with the games of its variant against the other owner's bots."""
    played = Counter[str]()
    lost = 0
    for own, other, losses in (
        (bot_scores.c.first_bot, bot_scores.c.second_bot, bot_scores.c.losses),
        (bot_scores.c.second_bot, bot_scores.c.first_bot, bot_scores.c.wins),
    ):
        number = bot_scores.c.wins + bot_scores.c.draws + bot_scores.c.losses
        scores = select(bots.c.name, number, losses).select_from(bot_scores.join(bots, bots.c.id == other))
        of_pair = (own == row.bot_id, bots.c.owner_id == row.owner_id, bot_scores.c.variant == row.variant)
        for name, pair_games, pair_losses in connection.execute(scores.where(*of_pair)):
            played[name] += pair_games
            lost += pair_losses
            give_way()
    most_frequent = next((name for name, _ in played.most_common(1)), None)
    return Suspicion(
        pattern=Pattern.RATING_MOVED,
        bot=bot_name(row.name),
        owner=row.owner,
        opponent=bot_name(most_frequent) if most_frequent else "",
        other_owner=row.other_owner,
        games=played.total(),
        losses=lost,
        rating_list=f"{row.variant}/{row.time_class}",
        points=row.moved,
    )


def _losses(
    connection: Connection,
    pattern: Pattern,
    of_bots: dict[tuple[int, int], _Against],
    counts: Callable[[_Game], bool],
) -> list[Suspicion]:
    """Return the bots that lose in this way to one owner, and at most half as often to other owners."""
    counted = {key: list(filter(counts, against.losses)) for key, against in of_bots.items()}
    all_losses = Counter[int]()
    all_counted = Counter[int]()
    for (bot, owner), against in of_bots.items():
        all_losses[bot] += len(against.losses)
        all_counted[bot] += len(counted[bot, owner])
    patterns: list[tuple[_Against, list[_Game], float | None]] = []
    for (bot, owner), against in of_bots.items():
        lost = len(against.losses)
        counted_games = counted[bot, owner]
        elsewhere = all_losses[bot] - lost
        share = (all_counted[bot] - len(counted_games)) / elsewhere if elsewhere else None
        if len(counted_games) >= FEWEST_LOSSES and len(counted_games) >= lost * max(1 / 2, 2 * (share or 0)):
            patterns.append((against, counted_games, share))
        give_way()
    return _rows(connection, pattern, patterns)


def _conceded(connection: Connection, of_organisers: dict[int, _Against]) -> list[Suspicion]:
    all_conceded = ((each, [game for game in each.losses if game.is_conceded]) for each in of_organisers.values())
    patterns = [(against, lost, None) for against, lost in all_conceded if len(lost) >= FEWEST_CONCEDED]
    return _rows(connection, Pattern.CONCEDED, patterns)


def _rows(
    connection: Connection, pattern: Pattern, patterns: Iterable[tuple[_Against, Sequence[_Game], float | None]]
) -> list[Suspicion]:
    largest = sorted(patterns, key=lambda each: -len(each[1]))[:MOST_ROWS]
    names = _names(connection, {bot for _, lost, _ in largest for game in lost for bot in (game.first, game.second)})
    rows = []
    for against, lost, share in largest:
        pairs = Counter((game.second, game.first) if game.loser else (game.first, game.second) for game in lost)
        [((bot, opponent), _)] = pairs.most_common(1)
        rows.append(
            Suspicion(
                pattern=pattern,
                bot=bot_name(names[bot].name),
                owner=names[bot].owner,
                opponent=bot_name(names[opponent].name),
                other_owner=names[opponent].owner,
                games=against.games,
                losses=len(against.losses),
                counted=len(lost),
                share_elsewhere=share,
                newest_game=game_name(tournament_name(lost[0].tournament), lost[0].ordinal),
            )
        )
    return rows


def _names(connection: Connection, keys: Iterable[int]) -> dict[int, Row[Any]]:
    rows: dict[int, Row[Any]] = {}
    statement = select(bots.c.id, bots.c.name, owners.c.name.label("owner")).join(owners)
    for batch in in_batches(keys):
        rows.update({row.id: row for row in connection.execute(statement.where(bots.c.id.in_(batch)))})
    return rows
