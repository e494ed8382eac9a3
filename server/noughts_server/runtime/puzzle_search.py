"""A process that searches games for puzzles: reads them from stdin as JSON, and prints the puzzles.

It has the lowest priority, so that the search does not delay games.
"""

import json
import os
import sys
from collections.abc import Sequence

from noughts_bots.reference.puzzles import Puzzle, puzzles_in
from noughts_proto.interpreter import environment, python
from noughts_referee.rules import Variant, parse_variant
from noughts_server.store.games.puzzles import GamesToSearch

COMMAND = python("-m", "noughts_server.runtime.puzzle_search")
ENVIRONMENT = environment()
_LOWEST_PRIORITY = 19


def question(games: GamesToSearch) -> bytes:
    """Return what the process reads."""
    return json.dumps([games.variant, [[game.moves, game.given_plies] for game in games.games]]).encode()


def answer(printed: bytes) -> list[list[Puzzle]]:
    """Return the puzzles of each game from what the process has printed. Raises ValueError."""
    games = json.loads(printed)
    return [[Puzzle(ply, tuple(line), exact) for ply, line, exact in puzzles] for puzzles in games]


def main() -> None:
    if hasattr(os, "nice"):
        os.nice(_LOWEST_PRIORITY)
    name, games = json.load(sys.stdin)
    variant = parse_variant(name)
    json.dump([_puzzles_in(variant, moves, given_plies) for moves, given_plies in games], sys.stdout)


def _puzzles_in(variant: Variant, moves: Sequence[int], given_plies: int) -> Sequence[Puzzle]:
    try:
        return puzzles_in(variant, moves, given_plies)
    except (ValueError, IndexError):
        return []  # the game is damaged


if __name__ == "__main__":
    main()
