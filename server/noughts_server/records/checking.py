"""Check files of games: each game is replayed by the rules, and none can occur twice."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from noughts_server.records.recorded_game import Placed, RecordError
from noughts_server.records.replay import faults_of

MOST_REMEMBERED = 5_000_000
"""Limit of the games among which duplicates are found, so that memory stays bounded."""


class Finding(NamedTuple):
    line: int
    error: str
    file: str = ""


def check_games(placed: Iterable[Placed], *, with_moves: bool = True) -> Iterator[tuple[Finding, ...]]:
    """Yield the errors of each game in turn; files without moves are only checked for what they have."""
    seen: set[int] = set()
    for line, game, file in placed:
        if isinstance(game, RecordError):
            errors = [str(game)]
        else:
            errors = faults_of(game) if with_moves else []
            if game.first and game.first == game.second:
                errors.append(f"players: got {game.first!r} against itself, expected two")
            if game.seed is not None and len(seen) < MOST_REMEMBERED:
                # The seed of a game follows from its tournament's and its number.
                mark = hash((game.variant, game.first, game.second, game.seed))
                if mark in seen:
                    errors.append(f"seed: got {game.seed}, which a game of the same two had before, expected each once")
                seen.add(mark)
        yield tuple(Finding(line, error, file) for error in errors)
