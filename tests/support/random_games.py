"""Finished games of random moves, stored without being played."""

import random

from noughts_referee.rules import Position, Variant, parse_variant
from noughts_referee.work_units import pack_moves
from tests.support.arena import Arena


def random_moves(variant: Variant, seed: int) -> list[int]:
    rng = random.Random(seed)
    position = Position(variant)
    while position.outcome() is None:
        position.play(rng.choice(list(position.free)))
    return position.moves


async def store_random_games(arena: Arena, name: str, games: int, *, slug: str = "cup") -> list[list[int]]:
    """Store a tournament of finished random games, and return the moves of each."""
    variant = parse_variant(name)
    tournament = await arena.tournament(slug, variant=name, games_per_pair=games)
    finished = []
    all_moves = []
    for game in await arena.play(tournament):
        moves = random_moves(variant, 1_000 * tournament.id + game.ordinal)
        all_moves.append(moves)
        outcome = Position.after(variant, moves).outcome()
        assert outcome is not None
        packed = pack_moves(moves, variant.cells)
        finished.append(game._replace(result=outcome.result, termination=outcome.termination, moves=packed, times=b""))
    await arena.commit(finished)
    return all_moves
