"""Puzzles, one on a page: find the only move that wins."""

from starlette.requests import Request
from starlette.responses import Response

from noughts_proto.v1 import games_pb2, tournaments_pb2
from noughts_referee.rules import Position, parse_variant
from noughts_server.core.board_geometry import geometry
from noughts_server.web.documents import Document
from noughts_server.web.forms import number_of, whole_number
from noughts_server.web.pages.website import Website
from noughts_server.web.words import short

_MOST_CELLS = 900
"""No board has more cells."""


async def puzzles_page(website: Website, request: Request) -> Response:
    """Return the page of a puzzle. In its address, `move` is the visitor's answer."""
    query = request.query_params
    variant, moves = query.get("variant", ""), number_of(query, "moves")
    list_puzzles = games_pb2.ListPuzzlesRequest(
        variant=variant, moves_to_win=moves, page_size=1, page_token=query.get("page_token", "")
    )
    page = await website.upstream.ask(website.upstream.games.ListPuzzles, list_puzzles)
    move = whole_number("move", query["move"], 0, _MOST_CELLS) if query.get("move") else None
    puzzle: Document | None = next(iter(page["puzzles"]), None)
    game: Document = {"board": None, "moves": []}
    if puzzle:
        tournament = tournaments_pb2.GetTournamentRequest(name=puzzle["game"].partition("/games/")[0])
        played_in = (await website.upstream.ask(website.upstream.tournaments.GetTournament, tournament))["tournament"]
        puzzle["title"] = played_in["title"] or short(played_in["name"])
        game = {"board": geometry(puzzle["variant"]), "moves": puzzle["moves"]}
        if game["board"]:
            puzzle["legal"] = Position.after(parse_variant(puzzle["variant"]), puzzle["moves"]).free
            if move not in puzzle["legal"]:
                move = None
    return await website.views.page(
        request, "puzzles.html.jinja", page=page, puzzle=puzzle, game=game, move=move, variant=variant, moves=moves
    )
