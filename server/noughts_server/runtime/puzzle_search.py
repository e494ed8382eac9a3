"""A process that searches games for puzzles: reads them from stdin as JSON, and prints the puzzles.

See `judging_process`.
"""

import json
import sys
from collections.abc import Sequence
from typing import Any

from noughts_bots.reference.puzzles import Puzzle, PuzzleKind, puzzles_in
from noughts_proto.interpreter import python
from noughts_referee.rules import Variant, parse_variant
from noughts_server.runtime.judging_process import take_lowest_priority
from noughts_server.store.games.puzzles import GamesToSearch

COMMAND = python("-m", "noughts_server.runtime.puzzle_search")


def question(games: GamesToSearch) -> list[Any]:
    """Return what the process reads."""
    return [games.variant, [[game.moves, game.given_plies] for game in games.games]]


def puzzles_of(answer: Any) -> list[list[Puzzle]]:
    """Return the puzzles of each game from the output of the process. Raises TypeError, ValueError."""
    return [
        [Puzzle(ply, tuple(line), exact, PuzzleKind(kind)) for ply, line, exact, kind in puzzles] for puzzles in answer
    ]


def main() -> None:
    take_lowest_priority()
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
