"""Tools about the rules: positions of a variant, and the documentation."""

import json
from collections.abc import Sequence
from functools import partial
from typing import Annotated

from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from pydantic import Field

from noughts_referee.rules import Position, VariantError, cell_names, parse_variant, read_cell
from noughts_server.agents.arguments import Variant
from noughts_server.core.board_geometry import board_text
from noughts_server.core.computing import Computing
from noughts_server.web import handbook
from noughts_server.web.documents import Document
from noughts_server.web.upstream import GUEST, Failure

Moves = Annotated[
    list[str | int],
    Field(
        max_length=900,
        description="Cells in the order played: names such as `b2`, or numbers as in get_game",
    ),
]


async def read_docs(
    page: Annotated[str, Field(description="Page, e.g. `/docs/reference/rules.md`")] = "",
) -> Document:
    """Read a page of the documentation; without a page, the list of all pages."""
    path = page.removeprefix("noughts://").removeprefix("/").removeprefix("docs/") or "llms.txt"
    body = handbook.contents().get(path)
    if not handbook.is_built():
        raise Failure(404, "the documentation was not built here", "Run make docs, then install again.")
    if body is None or not path.endswith((".md", ".txt")):
        raise Failure(404, f"page {page!r}: unknown", "Call read_docs without a page for the list.")
    return {"page": path, "text": body.decode()}


class PositionTools:
    """The tools that set up positions. They do one at a time, because many moves on a large board take long."""

    def __init__(self) -> None:
        self._computing = Computing("positions")

    async def show_position(self, variant: Variant, moves: Moves = []) -> Document:  # noqa: B006
        """Describe a variant and the position after moves: the board, the side to move, the result, legal cells."""
        address = GUEST.get("")  # agents at different addresses take turns
        return await self._computing.run(address, partial(_position, variant, moves))

    async def rules(self, variant: str) -> str:
        """Return the size of a variant, its line lengths and its empty board."""
        try:
            return json.dumps(await self.show_position(variant))
        except VariantError as error:
            raise ResourceNotFoundError(str(error)) from error


def _position(variant: str, moves: Sequence[str | int]) -> Document:
    """Return the answer of `show_position`. Raises Failure for an illegal move, and VariantError."""
    rules = parse_variant(variant)
    position = Position(rules)
    for number, move in enumerate(moves, 1):
        cell = move if isinstance(move, int) else read_cell(rules, move)
        if cell not in position.free or position.outcome() is not None:
            raise Failure(400, f"moves: {move!r}, number {number}, is not legal there")
        position.play(cell)
    outcome = position.outcome()
    return {
        "variant": rules.name,
        "size": [rules.columns, rules.rows, rules.layers],
        "gravity": rules.gravity,
        "line_lengths": sorted(set(map(len, rules.line_cells))),
        "to_move": None if outcome else "XO"[position.side],
        "result": str(outcome.result) if outcome else None,
        "legal": cell_names(rules, position.free if outcome is None else ()).split(),
        "board": board_text(position).split("\n"),
    }


async def docs(page: str) -> str:
    """Return a page of the documentation, e.g. `how-to/agents.md`; `llms.txt` lists them."""
    try:
        return str((await read_docs(page))["text"])
    except Failure as failure:
        raise ResourceNotFoundError(failure.message) from failure


async def all_pages() -> str:
    """List the pages of the documentation."""
    return await docs("llms.txt")
