"""Puzzles of stored games: positions in which exactly one move wins, or wins by continuous fours.

The first 10,000 games of each organised tournament are searched in the order of their slots, up to the first gap, until
the tournament has 1,000 puzzles. So the puzzles depend only on the games, and not on the order in which tournaments are
searched. Positions that are equal up to the symmetries of the board are one puzzle: that of the oldest tournament.

`tournaments.searched`, the last searched slot, changes in the transaction that stores the puzzles, so each game is
searched once. Puzzles are kept without the position, which follows from the game.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, delete, exists, func, insert, select, update

from noughts_bots.reference.puzzles import Puzzle, PuzzleKind
from noughts_referee.rules import Result, VariantError, base_name, parse_variant
from noughts_referee.work_units import pack_moves, unpack_moves
from noughts_server.core.errors import InvalidArgument
from noughts_server.openings.canonical_positions import canonical_positions
from noughts_server.store.engine.pages import Page, read_page
from noughts_server.store.engine.schema import MOST_SEARCHED, UNSEARCHED, games, puzzles, tournaments
from noughts_server.store.games.games import StoredGame, is_installed, read_games
from noughts_server.store.tournaments.tournaments import get_tournament_by_id

MOST_PUZZLES = 1_000
"""Limit of the puzzles of a tournament."""


class GameToSearch(NamedTuple):
    """The moves of a game. The first `given_plies` were not chosen by the players."""

    ordinal: int
    moves: tuple[int, ...]
    given_plies: int


class GamesToSearch(NamedTuple):
    """The next games of a tournament."""

    tournament_id: int
    variant: str
    searched: int
    """The last slot that was searched before these games."""
    searched_after: int
    """The last slot that is searched after these games."""
    games: list[GameToSearch]


class StoredPuzzle(NamedTuple):
    """A puzzle and its game."""

    game: StoredGame
    variant: str
    ply: int
    """The number of moves before the position."""
    line: tuple[int, ...]
    """The move, and those after it if both sides play best, until the win."""
    moves: int
    """The number of the winner's moves."""
    exact: bool
    kind: PuzzleKind


def count_unsearched(connection: Connection) -> int:
    """Return the number of slots whose games are not searched yet."""
    rows = connection.execute(select(tournaments.c.folded, tournaments.c.searched).where(UNSEARCHED))
    return sum(min(row.folded, MOST_SEARCHED) - row.searched for row in rows)


def next_unsearched(connection: Connection, most: int, after: int = 0) -> GamesToSearch | None:
    """Return up to `most` games of the next tournament with unsearched games; None if there is none.

    This is the first tournament after `after`. After the last tournament, it is the first of all.
    """
    # False sorts before True, so the tournaments after `after` come first.
    unsearched = select(tournaments).where(UNSEARCHED).order_by(tournaments.c.id <= after, tournaments.c.id)
    row = connection.execute(unsearched.limit(1)).first()
    if row is None:
        return None
    searched_after = min(row.searched + most, row.folded, MOST_SEARCHED)
    variant = base_name(row.variant)
    to_search = []
    try:
        rules = parse_variant(variant)
        slots = games.c.tournament_id == row.id, games.c.ordinal.between(row.searched + 1, searched_after)
        for game in connection.execute(select(games).where(*slots).order_by(games.c.ordinal)):
            if game.result != Result.VOID:
                moves = tuple(unpack_moves(game.moves, rules.cells))
                given_plies = parse_variant(row.variant).given_plies(game.opening_plies)
                to_search.append(GameToSearch(game.ordinal, moves, given_plies))
    except (ValueError, IndexError):
        # The plugin of the variant is missing or has another board now, or a game is damaged: search no game.
        to_search = []
        searched_after = MOST_SEARCHED
    return GamesToSearch(row.id, variant, row.searched, searched_after, to_search)


def store_puzzles(connection: Connection, searched: GamesToSearch, puzzles_by_game: Sequence[Sequence[Puzzle]]) -> int:
    """Store the puzzles of these games, and return their number.

    Does nothing if another process has searched the games.
    """
    tournament = tournaments.c.id == searched.tournament_id
    before = connection.execute(select(tournaments.c.searched).where(tournament)).scalar()
    if before != searched.searched:
        return 0
    of_tournament = select(puzzles.c.position).where(puzzles.c.tournament_id == searched.tournament_id)
    known_positions = set(connection.execute(of_tournament).scalars())
    rows = []
    cells = parse_variant(searched.variant).cells if puzzles_by_game else 0
    for game, puzzles_of_game in zip(searched.games, puzzles_by_game, strict=True):
        positions = _position_numbers(searched.variant, game.moves) if puzzles_of_game else []
        for puzzle in puzzles_of_game:
            position = positions[puzzle.ply]
            if position not in known_positions and len(known_positions) < MOST_PUZZLES:
                known_positions.add(position)
                rows.append(
                    {
                        "variant": searched.variant,
                        "position": position,
                        "tournament_id": searched.tournament_id,
                        "ordinal": game.ordinal,
                        "ply": puzzle.ply,
                        "line": pack_moves(puzzle.line, cells),
                        "moves": puzzle.moves,
                        "exact": puzzle.exact,
                        "kind": puzzle.kind,
                    }
                )
    if rows:
        connection.execute(insert(puzzles), rows)
    searched_after = MOST_SEARCHED if len(known_positions) >= MOST_PUZZLES else searched.searched_after
    connection.execute(update(tournaments).where(tournament).values(searched=searched_after))
    return len(rows)


def _position_numbers(variant: str, moves: Sequence[int]) -> list[int]:
    """Return the number of the position before each move. Symmetric positions have the same number."""
    return [number for number, _ in canonical_positions(parse_variant(variant)).after(moves[:-1])]


def forget_puzzles(connection: Connection) -> None:
    """Delete all puzzles, so that all games are searched again. Writes."""
    connection.execute(delete(puzzles))
    connection.execute(update(tournaments).where(tournaments.c.searched > 0).values(searched=0))


_older = puzzles.alias()
_IS_OLDEST = ~exists().where(
    _older.c.variant == puzzles.c.variant,
    _older.c.position == puzzles.c.position,
    _older.c.tournament_id < puzzles.c.tournament_id,
)


def count_puzzles(connection: Connection) -> list[tuple[str, int, int]]:
    """Return rows with a variant, a number of moves to the win, and the number of such puzzles."""
    keys = puzzles.c.variant, puzzles.c.moves
    rows = connection.execute(select(*keys, func.count()).where(_IS_OLDEST).group_by(*keys).order_by(*keys))
    return [(variant, moves, count) for variant, moves, count in rows if is_installed(variant)]


def list_puzzles(
    connection: Connection, *, variant: str = "", moves: int = 0, size: int = 0, page_token: str = ""
) -> Page[StoredPuzzle]:
    """Return a page of the puzzles of a variant with this number of moves to the win. Empty and 0 mean all.

    Puzzles of a variant whose plugin is no longer installed are left out. Raises InvalidArgument.
    """
    if variant:
        try:
            variants = [base_name(parse_variant(variant).name)]
        except VariantError as error:
            raise InvalidArgument.of("variant", error.got, error.expected) from error
    else:
        variants = [stored for stored in _stored_variants(connection) if is_installed(stored)]
    statement = select(puzzles).where(_IS_OLDEST, puzzles.c.variant.in_(variants))
    if moves:
        statement = statement.where(puzzles.c.moves == moves)
    order = (puzzles.c.variant, puzzles.c.moves, puzzles.c.position, puzzles.c.tournament_id)
    method = f"ListPuzzles {variant} {moves}"
    page = read_page(connection, statement, lambda row: row, method, order, size=size, page_token=page_token)
    ordinals: defaultdict[int, set[int]] = defaultdict(set)
    for row in page.items:
        ordinals[row.tournament_id].add(row.ordinal)
    games_by_key = {
        (game.tournament_id, game.ordinal): game
        for key in ordinals
        for game in read_games(connection, get_tournament_by_id(connection, key), sorted(ordinals[key]))
    }
    return Page(
        [
            StoredPuzzle(
                game=games_by_key[row.tournament_id, row.ordinal],
                variant=row.variant,
                ply=row.ply,
                line=tuple(unpack_moves(row.line, parse_variant(row.variant).cells)),
                moves=row.moves,
                exact=row.exact,
                kind=PuzzleKind(row.kind),
            )
            for row in page.items
        ],
        page.next_page_token,
    )


def _stored_variants(connection: Connection) -> list[str]:
    """Return the variants with puzzles. Each is one search in an index, however many puzzles there are."""
    variants: list[str] = []
    while next_variant := connection.execute(
        select(func.min(puzzles.c.variant)).where(puzzles.c.variant > (variants[-1] if variants else ""))
    ).scalar():
        variants.append(next_variant)
    return variants
