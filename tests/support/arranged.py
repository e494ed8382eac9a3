"""A store with rated games that were arranged between owners, and others that were not."""

from collections.abc import Iterator
from functools import partial

from noughts_referee.rules import Result, Termination
from noughts_referee.work_units import FinishedGame, pack_times
from noughts_server.store.engine.database import Connection
from noughts_server.store.engine.schema import CONCEDED_FAULT
from noughts_server.store.people.bots import log_in
from noughts_server.store.people.tokens import create_owner
from noughts_server.store.tournaments.entries import join_tournament
from noughts_server.store.tournaments.tournaments import Tournament, start_tournament
from tests.support.arena import NOW, Arena

ADA, EVE, ZED = range(3)
"""Entries of the tournament `cup`, of the owners alice, who organises it, mallory and zoe."""
ROUNDS = 120
"""Games of each pair."""


async def arrange(arena: Arena) -> None:
    """Play `cup`: eve resigns to ada at once, ada concedes three games to zed, and all others take nine moves."""

    def begin(connection: Connection) -> Tournament:
        for name, owner in (("eve", "mallory"), ("zed", "zoe")):
            log_in(connection, owner_id=create_owner(connection, owner), name=name, version="1", now_ms=NOW)
            join_tournament(connection, "cup", bot=name)
        return start_tournament(connection, "cup", now_ms=NOW)

    await arena.tournament(games_per_pair=ROUNDS, bots=("ada",), start=False)
    arena.execute("UPDATE tournaments SET own_rated = (0 = 1), bounded = (1 = 1)")
    tournament = await arena.store.write(begin)
    conceding = iter(range(3))
    await arena.commit([_result(game, conceding) for game in await arena.play(tournament)])


def _result(game: FinishedGame, conceding: Iterator[int]) -> FinishedGame:
    ended = partial(game._replace, moves=bytes(range(9)), times=pack_times([1000] * 9), termination=Termination.LINE)
    if {game.first, game.second} == {ADA, EVE}:
        return ended(result=_won_by(ADA, game), termination=Termination.RESIGNED, moves=b"", times=b"")
    if {game.first, game.second} == {ADA, ZED} and next(conceding, None) is not None:
        return ended(result=_won_by(ZED, game), termination=Termination.ADJUDICATED, fault=CONCEDED_FAULT)
    return ended(result=Result.FIRST_WINS)


def _won_by(entry: int, game: FinishedGame) -> Result:
    return Result.FIRST_WINS if game.first == entry else Result.SECOND_WINS
