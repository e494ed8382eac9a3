"""The opening explorer: the moves that were played in a position, and how their games ended."""

from starlette.requests import Request
from starlette.responses import Response

from noughts_proto.v1 import leaderboards_pb2
from noughts_server.core.board_geometry import geometry
from noughts_server.web.documents import Document
from noughts_server.web.forms import whole_number
from noughts_server.web.pages.website import Website

_MOST_CELLS = 900


async def explorer_page(website: Website, request: Request) -> Response:
    query, upstream = request.query_params, website.upstream
    moves = [whole_number("moves", cell, 0, _MOST_CELLS) for cell in query.get("moves", "").split(",") if cell]

    async def opening_moves(variant: str, time_class: str) -> Document:
        position = leaderboards_pb2.GetOpeningMovesRequest(variant=variant, time_class=time_class, moves=moves)
        return await upstream.ask(upstream.leaderboards.GetOpeningMoves, position)

    variant, time_class = query.get("variant", ""), query.get("time_class", "")
    found = await opening_moves(variant, time_class)
    name = found["rating_list"]
    lists = [each for each in found["rating_lists"] if geometry(each.rpartition("/")[0]) is not None]
    if name not in lists and not (time_class and moves):
        # A list with games is more useful than an empty one.
        name = next((each for each in lists if each.startswith(f"{variant}/") or not (variant or moves)), name)
        variant, _, time_class = name.rpartition("/")
        found = await opening_moves(variant, time_class)
    game = {"board": geometry(name.rpartition("/")[0]), "moves": moves}
    parted = [each.rpartition("/") for each in lists]
    return await website.views.page(request, "explorer.html.jinja", found=found, lists=parted, game=game)
