"""Puzzles as documents: lines of a file of positions, see `mistakes.read_mistake`."""

from typing import Any

from noughts_bots.reference.puzzles import PuzzleKind
from noughts_proto.v1 import games_pb2 as pb
from noughts_server.core.resource_names import short


def puzzle_document(puzzle: pb.Puzzle) -> dict[str, Any]:
    """Return a line of a file of positions. The cells are numbers."""
    played = puzzle.played if puzzle.HasField("played") else None
    return {
        "variant": puzzle.variant,
        "position": puzzle.position,
        "best": [puzzle.line[0]],
        "move": played,
        "moves_to_win": puzzle.moves_to_win,
        "line": list(puzzle.line),
        "exact": puzzle.exact,
        "kind": PuzzleKind(puzzle.kind).name.lower(),
        "bot": puzzle.bot,
        "found": played == puzzle.line[0],
        "game": short(puzzle.game),
        "ply": len(puzzle.moves) + 1,
    }
