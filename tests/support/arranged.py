"""A store with rated games, some of which owners arranged between each other."""

from functools import partial

from noughts_referee.rules import CONCEDED_FAULT, Result, Termination
from noughts_referee.work_units import FinishedGame, pack_times
from noughts_server.store.engine.database import Connection
from noughts_server.store.people.bots import log_in
from noughts_server.store.people.tokens import create_owner
from noughts_server.store.tournaments.entries import join_tournament
from noughts_server.store.tournaments.tournaments import Tournament, start_tournament
from tests.support.arena import NOW, Arena

ADA, EVE, ZED = range(3)
"""Entries of the tournament `cup`. Their owners are alice, who organises it, mallory and zoe."""
ROUNDS = 120
"""Games of each pair."""


async def arrange(arena: Arena) -> None:
    """Play `cup`: eve resigns against ada at once, ada concedes three games to zed, and other games have nine moves."""

    def start_cup(connection: Connection) -> Tournament:
        for name, owner in (("eve", "mallory"), ("zed", "zoe")):
            log_in(connection, owner_id=create_owner(connection, owner), name=name, version="1", now_ms=NOW)
            join_tournament(connection, "cup", bot=name)
        return start_tournament(connection, "cup", now_ms=NOW)

    await arena.tournament(games_per_pair=ROUNDS, bots=("ada",), start=False)
    # A comparison is a truth value in both kinds of database.
    arena.execute("UPDATE tournaments SET own_rated = (0 = 1), bounded = (1 = 1)")
    tournament = await arena.store.write(start_cup)
    games = await arena.play(tournament)
    conceded = [game.ordinal for game in games if {game.first, game.second} == {ADA, ZED}][:3]
    await arena.commit([_arranged_game(game, is_conceded=game.ordinal in conceded) for game in games])


def _arranged_game(game: FinishedGame, *, is_conceded: bool) -> FinishedGame:
    game_with = partial(
        game._replace, moves=bytes(range(9)), times=pack_times([1000] * 9), termination=Termination.LINE
    )
    if {game.first, game.second} == {ADA, EVE}:
        return game_with(result=_won_by(ADA, game), termination=Termination.RESIGNED, moves=b"", times=b"")
    if is_conceded:
        return game_with(result=_won_by(ZED, game), termination=Termination.ADJUDICATED, fault=CONCEDED_FAULT)
    return game_with(result=Result.FIRST_WINS)


def _won_by(entry: int, game: FinishedGame) -> Result:
    return Result.FIRST_WINS if game.first == entry else Result.SECOND_WINS
