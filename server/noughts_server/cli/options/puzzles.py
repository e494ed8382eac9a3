"""Options that select puzzles."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from typer import Option

from noughts_proto.v1 import games_pb2 as pb
from noughts_server.cli import completion
from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.options.game import read_variant
from noughts_server.client.client import Client

_MOST_MOVES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PuzzleFilter:
    """The variant of puzzles, and their number of moves."""

    variant: Annotated[
        str | None,
        Option("--variant", metavar="V", autocompletion=completion.variants, help="Only puzzles of this variant"),
    ] = None
    moves: Annotated[
        str | None, Option("--moves", metavar="N", help="Only puzzles with this number of moves to the win, from 2")
    ] = None

    def puzzles(self, client: Client, limit: int | None = None) -> Iterator[pb.Puzzle]:
        """Yield the first `limit` puzzles of a server (None: all). Raises UsageProblem, CallFailed."""
        request = pb.ListPuzzlesRequest(moves_to_win=self._moves_to_win())
        if self.variant is not None:
            request.variant = read_variant(self.variant).name
        return client.list_items(client.games.ListPuzzles, request, lambda page: page.puzzles, limit)

    def _moves_to_win(self) -> int:
        if self.moves is None:
            return 0
        if self.moves.isascii() and self.moves.isdigit() and 2 <= int(self.moves[:5]) <= _MOST_MOVES:
            return int(self.moves)
        raise UsageProblem(f"--moves {self.moves!r}: expected a number of moves from 2 to {_MOST_MOVES:,}")
