"""The opening explorer: counts of the moves and results in the first positions of games.

It also counts each bot's decisions and blunders (`noughts_bots.reference.accuracy`).

Games of organised tournaments count up to `tournaments.folded`: the first gap in the played slots, or the last game if
the tournament was cancelled. Void games and challenges do not count. A game from a given opening counts from the
position in which its bots began.

The counts and `tournaments.explored`, the last counted slot, change in one transaction. Each game therefore counts
once, even if a process ends at any time. A writing transaction excludes all others, also those of other servers.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, delete, exists, func, select, update

from noughts_bots.reference.accuracy import Accuracy, Judges
from noughts_bots.reference.threats.effort import Effort
from noughts_referee.clock import TimeControl
from noughts_referee.rules import Position, Result, Variant, parse_variant
from noughts_referee.work_units import unpack_moves
from noughts_server.competition.score import Score
from noughts_server.core.errors import InvalidArgument
from noughts_server.openings.canonical_positions import canonical_positions
from noughts_server.store.engine.bulk import upsert
from noughts_server.store.engine.schema import (
    UNEXPLORED,
    accuracies,
    entries,
    explorer_moves,
    games,
    rating_lists,
    tournaments,
)
from noughts_server.store.engine.schema import bot_versions as versions
from noughts_server.store.games.games import StoredGame, read_games
from noughts_server.store.ratings.rating_lists import ensure_list, list_name
from noughts_server.store.tournaments.tournaments import get_tournament_by_id

PLIES = 12
"""The number of moves of a game that count, from the empty board."""
ENDED = -1
"""The move in a position in which a game ended."""
_MOST_GAMES = 10
"""Limit of the games that an answer names."""
_POSITIONS_PER_GAME = 32
"""Limit of the positions that are searched to judge a game, on average over the games of one `count_some`.

Its default of 128 games allows 4,096 positions, which take about 0.1 s.
"""
_SMALL = 9
"""Cells of a board on which the search has no limit: all positions of tictactoe together take 20 ms."""
_judges = Judges()
_UNCOUNTED_SLOTS = tournaments.c.folded - tournaments.c.explored


class ExploredPosition(NamedTuple):
    """The moves from a position of one rating list, as `GetOpeningMovesResponse` describes them."""

    rating_list: str
    moves: list[tuple[list[int], Score]]
    ended: Score
    legal: Sequence[int]
    games: list[StoredGame]
    rating_lists: list[str]
    waiting: int


def count_unexplored(connection: Connection) -> int:
    """Return the number of slots whose games are not counted yet."""
    return int(connection.execute(select(func.sum(_UNCOUNTED_SLOTS)).where(UNEXPLORED)).scalar() or 0)


def next_unexplored(connection: Connection, after: int = 0) -> int | None:
    """Return the key of the first tournament after `after` with uncounted games; after the last one, the first."""
    # False sorts before True, so the tournaments after `after` come first. This also prevents SQLite from reading all
    # tournaments in the order of their keys.
    unexplored = select(tournaments.c.id).where(UNEXPLORED).order_by(tournaments.c.id <= after, tournaments.c.id)
    key: int | None = connection.execute(unexplored.limit(1)).scalar()
    return key


def count_some(connection: Connection, most: int = 128, tournament_id: int | None = None) -> int:
    """Count up to `most` games of a tournament, and return their number. Writes.

    The default is the first tournament with uncounted games.
    """
    key = next_unexplored(connection) if tournament_id is None else tournament_id
    row = connection.execute(select(tournaments).where(UNEXPLORED, tournaments.c.id == key)).first()
    if row is None:
        return 0
    uncounted = games.c.tournament_id == row.id, games.c.ordinal.between(row.explored + 1, row.folded)
    played = connection.execute(select(games).where(*uncounted).order_by(games.c.ordinal).limit(most)).all()
    # A cancelled tournament has slots without games, so the last counted one can be after `explored + len(played)`.
    explored = played[-1].ordinal if len(played) == most else row.folded
    accuracy_of_entry: dict[int, Accuracy] = {}
    try:
        variant = parse_variant(row.variant)
        counts = _count_moves(variant, played)
        accuracy_of_entry = _judge(variant, played, most * _POSITIONS_PER_GAME)
    except (ValueError, IndexError):
        # The variant's plugin is missing or has another board now, or a game is damaged. A rebuild counts the games
        # again.
        counts = {}
        explored = row.folded
    # Games that begin after the first `PLIES` have no counts, but their decisions are judged.
    if counts or accuracy_of_entry:
        time = TimeControl(row.move_us, row.bank_us, row.increment_us)
        list_id = ensure_list(connection, row.variant, time.time_class)
        rows = [(list_id, *key, *counts[key]) for key in sorted(counts)]
        upsert(connection, explorer_moves, rows, add=("games",), replace=("tournament_id", "ordinal"))
        _add_accuracies(connection, list_id, row.id, accuracy_of_entry)
    connection.execute(update(tournaments).where(tournaments.c.id == row.id).values(explored=explored))
    return len(played)


def _count_moves(variant: Variant, rows: Sequence[Row[Any]]) -> dict[tuple[int, int, int], tuple[int, int, int]]:
    """Return, by position, move and result, the number of these games and the key of the last one."""
    counts: dict[tuple[int, int, int], tuple[int, int, int]] = {}
    for row in rows:
        moves = unpack_moves(row.moves, variant.cells)
        given_plies = variant.given_plies(row.opening_plies)
        if row.result == Result.VOID or len(moves) <= given_plies:
            continue
        for ply, (number, images) in enumerate(canonical_positions(variant).after(moves[: PLIES - 1])):
            if ply >= given_plies:
                # Moves that are equal up to the symmetries of the position count as the one with the lowest number.
                move = min(image[moves[ply]] for image in images) if ply < len(moves) else ENDED
                key = number, move, row.result
                earlier_games = counts[key][0] if key in counts else 0
                counts[key] = (earlier_games + 1, row.tournament_id, row.ordinal)
    return counts


def _judge(variant: Variant, rows: Sequence[Row[Any]], positions: int) -> dict[int, Accuracy]:
    """Return the accuracy of each entry. The games share the limit of `positions` to search evenly."""
    accuracies_by_entry: defaultdict[int, Accuracy] = defaultdict(Accuracy)
    for number, row in enumerate(rows):
        if row.result != Result.VOID:
            moves = unpack_moves(row.moves, variant.cells)
            given_plies = variant.given_plies(row.opening_plies)
            effort = Effort(positions // (len(rows) - number) if variant.cells > _SMALL else None)
            sides = _judges.of(variant).judge(moves, given_plies, effort)
            positions -= effort.nodes
            for entry, side in zip((row.first_entry, row.second_entry), sides, strict=True):
                accuracies_by_entry[entry] = accuracies_by_entry[entry].plus(side)
    return {entry: counts for entry, counts in accuracies_by_entry.items() if counts.games}


def _add_accuracies(
    connection: Connection, list_id: int, tournament_id: int, accuracy_of_entry: dict[int, Accuracy]
) -> None:
    bots_of_entries = select(entries.c.number, versions.c.bot_id).join(versions)
    statement = bots_of_entries.where(entries.c.tournament_id == tournament_id, entries.c.number.in_(accuracy_of_entry))
    by_bot: defaultdict[int, Accuracy] = defaultdict(Accuracy)
    for number, bot_id in connection.execute(statement):
        by_bot[bot_id] = by_bot[bot_id].plus(accuracy_of_entry[number])
    rows = [(list_id, bot_id, *counts) for bot_id, counts in by_bot.items()]
    upsert(connection, accuracies, rows, add=("judged_games", "decisions", "blunders"))


def forget_all(connection: Connection) -> None:
    """Delete all counts, so that all games are counted again. Writes."""
    for table in (explorer_moves, accuracies):
        connection.execute(delete(table))
    connection.execute(update(tournaments).where(tournaments.c.explored > 0).values(explored=0))


def explore(connection: Connection, variant: str, time_class: str, moves: Sequence[int]) -> ExploredPosition:
    """Return the moves after these moves in the list of a variant and time class. Raises InvalidArgument."""
    name = list_name(variant, time_class)
    rules = parse_variant(name.rpartition("/")[0])
    legal = _legal_after(rules, moves)
    counted = exists().where(explorer_moves.c.list_id == rating_lists.c.id)
    lists = connection.execute(select(rating_lists).where(counted))
    list_ids = {f"{row.variant}/{row.time_class}": row.id for row in lists}
    waiting = count_unexplored(connection)
    if name not in list_ids:
        return ExploredPosition(
            rating_list=name,
            moves=[],
            ended=Score(),
            legal=legal,
            games=[],
            rating_lists=sorted(list_ids),
            waiting=waiting,
        )
    *_, (number, images) = canonical_positions(rules).after(moves)
    column = explorer_moves.c
    # The board of a plugin is possibly smaller now.
    here = select(explorer_moves).where(
        column.list_id == list_ids[name], column.position == number, column.move < rules.cells
    )
    rows = connection.execute(here.order_by(column.games.desc(), column.move, column.result)).all()
    scores: defaultdict[int, Score] = defaultdict(Score)
    for row in rows:
        first = Score(
            wins=row.games if row.result == Result.FIRST_WINS else 0,
            draws=row.games if row.result == Result.DRAW else 0,
            losses=row.games if row.result == Result.SECOND_WINS else 0,
        )
        scores[row.move] += first.mirrored if len(moves) % 2 else first
    ended = scores.pop(ENDED, Score())
    played = [(sorted({image.index(move) for image in images}), score) for move, score in scores.items()]
    played.sort(key=lambda move: -move[1].games)
    ordinals: defaultdict[int, list[int]] = defaultdict(list)
    for row in rows[:_MOST_GAMES]:
        ordinals[row.tournament_id].append(row.ordinal)
    of_tournaments = (read_games(connection, get_tournament_by_id(connection, key), ordinals[key]) for key in ordinals)
    newest = sorted(
        chain.from_iterable(of_tournaments),
        key=lambda game: (game.ended_at, game.tournament_id, game.ordinal),
        reverse=True,
    )
    return ExploredPosition(
        rating_list=name,
        moves=played,
        ended=ended,
        legal=legal,
        games=newest,
        rating_lists=sorted(list_ids),
        waiting=waiting,
    )


def _legal_after(variant: Variant, moves: Sequence[int]) -> Sequence[int]:
    position = Position(variant)
    legal = position.free
    for cell in moves:
        if cell not in legal or position.ply == PLIES:
            got, expected = ",".join(map(str, moves)), f"at most {PLIES} legal moves of {variant.name}, in order"
            raise InvalidArgument.of("moves", got, expected)
        position.play(cell)
        legal = position.free if position.outcome() is None else ()
    return legal
