"""Options that select puzzles."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from typer import Option

from noughts_proto.v1 import games_pb2 as pb
from noughts_server.cli import completion
from noughts_server.cli.options.game import read_variant
from noughts_server.client.client import Client


@dataclass(frozen=True, slots=True, kw_only=True)
class PuzzleFilter:
    """The variant of puzzles, and their number of moves."""

    variant: Annotated[
        str | None,
        Option("--variant", metavar="V", autocompletion=completion.variants, help="Only puzzles of this variant"),
    ] = None
    # `--moves` also works; `noughts solve` has an option of this name with another kind of value.
    moves_to_win: Annotated[
        int | None,
        Option("--moves-to-win", "--moves", metavar="N", min=2, max=1_000, help="Only puzzles with this many moves"),
    ] = None

    def puzzles(self, client: Client, limit: int | None = None) -> Iterator[pb.Puzzle]:
        """Yield the first `limit` puzzles of a server (None: all). Raises CallFailed."""
        request = pb.ListPuzzlesRequest(moves_to_win=self.moves_to_win or 0)
        if self.variant is not None:
            request.variant = read_variant(self.variant).name
        return client.list_items(client.games.ListPuzzles, request, lambda page: page.puzzles, limit)
